// Ops on known data: really computed, on small tensors, with writes to the model's own journalled.
#include <algorithm>
#include <array>

#include "torch/engine/execute.h"

namespace opscope::engine {

namespace {

// Elements a factory is about to make, from its size argument; 0 where it cannot be told.
std::int64_t factory_elements(const Call& call) {
  const auto arguments = call.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].isIntList() && call.recording.graph.text(call.info.names[i]) == "size") {
      std::int64_t elements = 1;
      for (std::int64_t size : arguments[i].toIntList())
        if (__builtin_mul_overflow(elements, size, &elements))
          return std::numeric_limits<std::int64_t>::max();
      return elements;
    }
  return 0;
}

void set_device(const Call& call, c10::Device device) {
  if (call.info.device_argument) call.stack[call.base() + *call.info.device_argument] = device;
}

// The device an op was asked to put its result on; the recording's where it was not, or where it was meta, as
// weights without data are.
c10::Device asked_device(const Call& call) {
  if (!call.info.device_argument) return call.recording.device;
  const auto& argument = call.arguments()[*call.info.device_argument];
  if (!argument.isDevice() || argument.toDevice().is_meta()) return call.recording.device;
  return argument.toDevice();
}

// More elements than an op on known values can make: of its inputs broadcast together for pointwise ops; of
// the product of their sizes, and of the ints among its arguments, for the rest.
double result_bound(const Call& call, const Inputs& inputs) {
  const auto& returns = call.op.schema().returns();
  const bool is_view = !returns.empty() && returns[0].alias_info() && !returns[0].alias_info()->isWrite();
  if (is_view) return 0;
  const bool pointwise = call.info.cost && call.info.cost->category == Category::kPointwise;
  double product = 1;
  Sizes shape;  // broadcast, last dimension first
  const auto arguments = call.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& value = arguments[i];
    if (value.isTensor() && value.toTensor().defined()) {
      const auto sizes = value.toTensor().sizes();
      for (std::size_t d = 0; d < sizes.size(); ++d) {
        const auto size = sizes[sizes.size() - 1 - d];
        if (d == shape.size()) shape.push_back(size);
        shape[d] = std::max(shape[d], size);
        if (!pointwise) product *= static_cast<double>(std::max<std::int64_t>(size, 1));
      }
    }
    if (pointwise || call.info.forms[i] != ArgumentForm::kPlain) continue;
    const bool number = call.op.schema().arguments()[i].type()->kind() == c10::TypeKind::NumberType;
    if (number && inputs.any_tensor) continue;  // a value such as masked_fill's, not a size
    if (value.isInt()) product *= static_cast<double>(std::max<std::int64_t>(value.toInt(), 1));
    if (value.isDouble()) product *= std::max(value.toDouble(), 1.0);
    if (value.isIntList())
      for (std::int64_t item : value.toIntList())
        product *= static_cast<double>(std::max<std::int64_t>(item, 1));
  }
  if (pointwise)
    for (const auto size : shape) product *= static_cast<double>(size);
  return call.op.schema().name() == "aten::eye" ? product * product : product;
}

// Whether the results are small enough to be computed. If not, they are on the stack, as shapes.
bool fits(const Call& call, const Inputs& inputs) {
  if (call.info.writes || result_bound(call, inputs) <= static_cast<double>(kComputedElements)) return true;
  const KeptArguments kept(call);
  const auto slow_runs = call.info.slow_runs;
  double elements = 0;
  try {
    run_on_twins(call);
    for_each_tensor(call.results(), [&](const at::Tensor& t) {
      elements += t.defined() ? static_cast<double>(t.numel()) : 0;
    });
  } catch (const std::exception&) {  // no meta kernel, or one that needs data: the real kernel will say
  }
  if (elements > static_cast<double>(kComputedElements)) return false;
  call.info.slow_runs = slow_runs;
  kept.put_back();
  return true;
}

// Memory that an op recorded whole makes for a part of it, such as a dropout's mask, and may leave to
// autograd.
void follow_made(const Call& call) {
  for_each_tensor(call.results(), [&](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.has_storage())
      call.recording.storages.entry_made_now(tensor).preexisting = false;
  });
}

}  // namespace

void run_known(const Call& call, const Inputs& inputs, c10::DispatchKeySet below) {
  auto& recording = call.recording;
  const auto made = inputs.any_tensor && !call.info.is(Fact::kValueFree) ? 0 : factory_elements(call);
  if (made > kKnownElements) return run_on_twins(call);
  if (made == 0 && !call.info.is(Fact::kValueFree) && !fits(call, inputs)) return;
  if (call.info.journals)
    call.for_each_of(call.info.journalled, [&](const at::Tensor& tensor) {
      if (tensor.defined()) recording.journal.keep(recording.storages.known_value(tensor));
    });

  const auto device = asked_device(call);
  const bool explicit_device =
      call.info.device_argument && call.arguments()[*call.info.device_argument].isDevice();
  const bool wrap = inputs.any_off_cpu || (explicit_device && !device.is_cpu());
  if (explicit_device) set_device(call, c10::kCPU);
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  if (!wrap && inputs.any_tensor) return call.op.redispatchBoxed(below, &call.stack);
  if (!wrap) {
    call.op.callBoxed(&call.stack);
    if (depth > 0) follow_made(call);
    return;
  }

  // Values live on the CPU inside abstract tensors of another device, which has histograms of whole numbers.
  const bool is_histogram = call.name() == "aten::histc";
  auto counted = at::ScalarType::Undefined;
  std::vector<std::pair<at::Tensor, at::Tensor>> originals;  // value, abstract
  call.map_last(call.info.arguments, [&](const at::Tensor& tensor) {
    const auto value = recording.storages.known_value(tensor);
    if (as_abstract(tensor)) originals.emplace_back(value, tensor);
    if (!is_histogram || !c10::isIntegralType(value.scalar_type(), false)) return value;
    counted = value.scalar_type();
    return value.to(at::kDouble);
  });
  call.op.callBoxed(&call.stack);
  call.map_last(call.info.returns, [&](const at::Tensor& result) -> at::Tensor {
    const auto value = counted == at::ScalarType::Undefined ? result : result.to(counted);
    if (device.is_cpu()) return value;  // fetched from the pretended device
    for (const auto& [from, abstract] : originals)
      if (from.is_same(value)) return abstract;
    return recording.storages.wrap_known(value);
  });
}

// zeros_like(x) and friends on unknown x: really computed on memory of x's layout.
bool run_value_free(const Call& call, const Inputs& inputs) {
  auto& recording = call.recording;
  const auto& self = call.arguments()[0];
  if (!call.info.is(Fact::kValueFree) || !self.isTensor() || inputs.elements > kKnownElements) return false;
  if (factory_elements(call) > kKnownElements) return false;
  const auto& like = self.toTensor();
  if (like.layout() != c10::kStrided || !like.is_non_overlapping_and_dense()) return false;
  Inputs known{.any_off_cpu = !recording.device.is_cpu()};
  {
    c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
    call.stack[call.base()] = at::empty_strided(like.sizes(), like.strides(), like.scalar_type());
  }
  run_known(call, known, c10::DispatchKeySet(c10::DispatchKey::CPU));
  return true;
}

// known.expand_as(unknown) is known.
bool run_like_other(const Call& call, const Inputs& inputs) {
  const auto arguments = call.arguments();
  if (arguments.size() < 2 || !arguments[0].isTensor() || !arguments[1].isTensor()) return false;
  const at::Tensor self = arguments[0].toTensor(), other = arguments[1].toTensor();
  if (call.recording.storages.is_unknown(self) || self.numel() > kKnownElements) return false;
  {
    c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
    call.stack[call.base() + 1] = at::empty({}, other.scalar_type()).expand(other.sizes());
  }
  Inputs known{.any_off_cpu = inputs.any_off_cpu && !call.recording.device.is_cpu(), .any_tensor = true};
  run_known(call, known, c10::DispatchKeySet(c10::DispatchKey::CPU));
  return true;
}

}  // namespace opscope::engine
