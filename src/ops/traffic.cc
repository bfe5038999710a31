// The bytes that ops move: the default, and the few ways in which common ops differ from it.
#include "ops/rules.h"

namespace opscope {

void add_read(Traffic& traffic, const TensorView& tensor, Count bytes) {
  (tensor.is_weight() ? traffic.weight_bytes : traffic.input_bytes) += bytes;
}

void add_read(Traffic& traffic, const TensorView& tensor) {
  if (!tensor.repeated) add_read(traffic, tensor, tensor.distinct_bytes());
}

void add_writes(Traffic& traffic, const OpCall& call) {
  for (const TensorView& out : call.outputs) traffic.output_bytes += out.bytes();
}

Traffic default_traffic(const OpCall& call) {
  Traffic traffic;
  for (const TensorView& in : call.inputs) add_read(traffic, in);
  add_writes(traffic, call);
  return traffic;
}

bool returns_its_input(const OpCall& call) {
  return !call.inputs.empty() && !call.outputs.empty() && call.inputs[0].storage != kNone &&
         call.inputs[0].storage == call.outputs[0].storage;
}

bool writes_in_place(const OpCall& call, const TensorView* argument) {
  return argument != nullptr && !call.outputs.empty() && argument->storage != kNone &&
         argument->storage == call.outputs[0].storage;
}

MaybeTraffic no_traffic(const OpCall&) { return Traffic{}; }

MaybeTraffic write_only(const OpCall& call) {
  Traffic traffic;
  add_writes(traffic, call);
  return traffic;
}

MaybeTraffic copy_or_view(const OpCall& call) {
  if (returns_its_input(call)) return Traffic{};
  Traffic traffic;
  if (!call.inputs.empty()) add_read(traffic, call.inputs[0]);
  add_writes(traffic, call);
  return traffic;
}

Traffic read_part(const OpCall& call, const TensorView& from, Count elements) {
  Traffic traffic;
  add_read(traffic, from, from.bytes_of_part(elements));
  for (const TensorView& in : call.inputs)
    if (&in != &from) add_read(traffic, in);
  add_writes(traffic, call);
  return traffic;
}

MaybeTraffic read_selected(const OpCall& call) {
  if (call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  return read_part(call, call.inputs[0], call.outputs[0].numel);
}

}  // namespace opscope
