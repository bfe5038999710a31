// The mode: a boxed fallback that sees every op of the thread it is switched on in, above autograd and
// autocast, decides whether to record it, and hands it on to be carried out.
#include <algorithm>
#include <array>

#include "torch/engine/execute.h"
#include "torch/timing/timing.h"

namespace opscope::engine {

namespace {

// With no gradient wanted and no cast to make, these kinds of composite op do not need taking apart to get
// their dtypes right under autocast.
bool is_cast_free(const OpInfo& info) {
  using enum Category;
  constexpr std::array kCast{kConv,      kMatmul, kAttention, kSoftmax, kReduction,
                             kRecurrent, kLoss,   kFft,       kCustom};
  return info.cost && std::ranges::find(kCast, info.cost->category) == kCast.end();
}

c10::DispatchKey autocast_key(c10::DeviceType type) {
  return type == c10::DeviceType::CUDA ? c10::DispatchKey::AutocastCUDA : c10::DispatchKey::AutocastCPU;
}

bool in_functorch() {
  return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
}

// Lets autocast cast the arguments; the casts and the op come back to the mode. True if it took the call.
bool through_autocast(const Call& call, c10::DispatchKeySet below) {
  const auto type = call.recording.device.type();
  const auto key = autocast_key(type);
  if (!at::autocast::is_autocast_enabled(type) || c10::impl::tls_is_dispatch_key_excluded(key)) return false;
  if (!call.info.autocast) call.info.autocast = call.op.hasKernelForDispatchKey(key);
  // Autocast looks at the device: weights on meta would not be cast.
  const auto on_device = [&](const at::Tensor& tensor) {
    return tensor.is_meta() && !as_abstract(tensor) ? call.recording.abstract_of(tensor) : tensor;
  };
  if (*call.info.autocast) {
    call.map_last(call.info.arguments, on_device);
    call.op.redispatchBoxed(below.add(key), &call.stack);
    return true;
  }
  // A recurrent layer is one op there, and what it is given is cast before.
  if (type == c10::DeviceType::CUDA && call.info.on_cuda &&
      call.info.cost->category == Category::kRecurrent && !call.recording.eager) {
    call.map_last(call.info.arguments, [&](const at::Tensor& tensor) {
      return at::autocast::cached_cast(at::autocast::get_autocast_dtype(type), on_device(tensor), type);
    });
    const c10::impl::ExcludeDispatchKeyGuard cast(key);
    call.op.callBoxed(&call.stack);
    return true;
  }
  if (call.info.composite && !is_cast_free(call.info)) {
    call.op.redispatchBoxed(below, &call.stack);
    return true;
  }
  return false;
}

// Writes to what was there before the capture are undone when it ends.
void journal_writes(const Call& call) {
  if (!call.info.journals || call.recording.lasting) return;
  const Lock lock(call.recording);
  call.for_each_of(call.info.journalled, [&](const at::Tensor& t) { call.recording.journal.keep(t); });
}

// Nothing is recorded; what the model writes to is put back all the same. Other tensors than plain ones with
// data are a tracer's own.
void pass_by(const Call& call, c10::DispatchKeySet below) {
  Inputs inputs;
  bool has_data = true;
  for_each_tensor(call.arguments(), [&](const at::Tensor& tensor) {
    call.recording.classify(tensor, inputs);
    has_data = has_data && tensor.has_storage() && !tensor.is_meta();
  });
  if (has_data && !inputs.any_subclass && !inputs.any_functorch) journal_writes(call);
  call.op.redispatchBoxed(below, &call.stack);
}

// The op as it is, under the clock where there is one.
void run_real(const Call& call, c10::DispatchKeySet below) {
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  try {
    const TimedOp clock(depth == 0 ? call.recording.timing.get() : nullptr, call.info.target);
    call.op.redispatchBoxed(below, &call.stack);
  } catch (...) {
    if (call.recording.failed_op.empty()) call.recording.failed_op = call.name();
    throw;
  }
}

// What a static capture knows of tensors and storages is one thread's at a time; in a real run only what is
// recorded is.
class Turn {
 public:
  explicit Turn(Recording& recording) {
    if (recording.eager) return;
    lock_.emplace(recording);
    TORCH_CHECK(!recording.closed, kNoDataMessage);
  }

 private:
  std::optional<Lock> lock_;
};

void carry_out(const Call& call, const Inputs& inputs, c10::DispatchKeySet below) {
  if (call.recording.eager) {
    journal_writes(call);
    run_real(call, below);
  } else if (!inputs.any_unknown &&
             inputs.elements <= (call.info.is(Fact::kPicksFew) ? kComputedElements : kKnownElements)) {
    run_known(call, inputs, below);
  } else {
    run_abstract(call, inputs, below);
  }
}

void capture(Recording* recording, const c10::OperatorHandle& op, c10::DispatchKeySet below, Stack* stack) {
  const Call call{*recording, op, info_of(*recording, op), *stack};
  if (recording->muted) return pass_by(call, below);
  if (call.info.ignored || below_caches > 0) return op.redispatchBoxed(below, stack);
  const Turn turn(*recording);

  Inputs inputs;
  for_each_tensor(call.arguments(), [&](const at::Tensor& tensor) { recording->classify(tensor, inputs); });
  // In a real run a subclass's ops are its own business: the outer op is what the model called.
  const bool subclass = inputs.any_subclass && !recording->eager;
  if (subclass || inputs.any_functorch || in_functorch()) return op.redispatchBoxed(below, stack);
  if (through_autocast(call, below)) return;
  const bool in_parts = call.info.composite && !call.info.cost && !call.info.shape && !call.info.declared;
  if (in_parts) return op.redispatchBoxed(below, stack);
  if (depth > 0) return carry_out(call, inputs, below);
  // What a later run writes to, the recorded one wrote to as well, and that is in the journal.
  if (recording->timing && recording->timing->expects()) return run_real(call, below);

  const auto pending = recording->begin(call.info, call.arguments());
  try {
    carry_out(call, inputs, below);
  } catch (...) {
    if (recording->failed_op.empty()) recording->failed_op = call.name();
    throw;
  }
  recording->finish(call.info, pending, call.results());
}

// What autograd's own code makes is for the device that it does not see.
void show_device(const Recording& recording, Stack& stack, std::size_t arguments) {
  for (std::size_t i = stack.size() - arguments; i < stack.size(); ++i)
    if (stack[i].isDevice() && stack[i].toDevice().is_cpu()) stack[i] = recording.device;
}

void on_mode(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const auto below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kModeKey);
  auto* recording = Recording::current();
  if (!recording) return op.redispatchBoxed(below, stack);
  if (autograd_looks) show_device(*recording, *stack, op.schema().arguments().size());
  const AutogradLooks no_longer(false);
  if (!recording->echo) return capture(recording, op, below, stack);
  if (recording->echo->answers()) return recording->echo->answer(op, *stack);
  recording->echo->keep(op, *stack, [&] { capture(recording, op, below, stack); });
}

}  // namespace

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_mode>());
}

}  // namespace opscope::engine
