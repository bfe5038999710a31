// The tiers for one op: really computed where its inputs are known, a shape rule, its parts, PyTorch's meta
// kernel, the real kernel on zeros; an error that names what is missing when none of them can answer.
#include "torch/execute.h"

#include <algorithm>
#include <array>

#include "torch/assumptions.h"
#include "torch/bounds.h"

namespace opscope::engine {

namespace {

bool autograd_wants(const Inputs& inputs, c10::DispatchKeySet below) {
  return inputs.any_grad && at::GradMode::is_enabled() && below.has_any(c10::autograd_dispatch_keyset) &&
         !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradFunctionality);
}

// The limit that would have let an op go on; reading a number counts as one.
std::string limit_of(const Call& call) {
  if (call.info.bound) return std::string(call.info.bound->limit);
  const auto name = call.name();
  return name == "aten::item" || name == "aten::_local_scalar_dense" ? "item" : "";
}

void replace_arguments(const Call& call, at::ArrayRef<c10::IValue> results) {
  torch::jit::drop(call.stack, call.info.arguments);
  call.stack.insert(call.stack.end(), results.begin(), results.end());
}

// After unknown data was written into a tensor whose value was known, it no longer is.
void taint_written(const Call& call, at::ArrayRef<c10::IValue> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (call.info.written[i])
      for_each_tensor(arguments.slice(i, 1), [&](const at::Tensor& tensor) {
        if (tensor.defined() && !call.recording.is_unknown(tensor)) call.recording.taint(tensor);
      });
}

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
  if (call.info.device_argument)
    call.stack[call.stack.size() - call.info.arguments + *call.info.device_argument] = device;
}

// The device an op was asked to put its result on; the recording's where it was not, or where it was meta, as
// weights without data are.
c10::Device asked_device(const Call& call) {
  if (!call.info.device_argument) return call.recording.device;
  const auto& argument = call.arguments()[*call.info.device_argument];
  if (!argument.isDevice() || argument.toDevice().is_meta()) return call.recording.device;
  return argument.toDevice();
}

// zeros_like(x) and friends on unknown x: really computed on memory of x's layout.
bool run_value_free(const Call& call, const Inputs& inputs) {
  auto& recording = call.recording;
  const auto& self = call.arguments()[0];
  if (!call.info.value_free || !self.isTensor() || inputs.elements > kKnownElements) return false;
  if (factory_elements(call) > kKnownElements) return false;
  const auto& like = self.toTensor();
  if (like.layout() != c10::kStrided || !like.is_non_overlapping_and_dense()) return false;
  Inputs known{.any_off_cpu = !recording.device.is_cpu()};
  {
    c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
    call.stack[call.stack.size() - call.info.arguments] =
        at::empty_strided(like.sizes(), like.strides(), like.scalar_type());
  }
  run_known(call, known, c10::DispatchKeySet(c10::DispatchKey::CPU));
  return true;
}

// Ops that take from their second argument only its shape, dtype and device.
constexpr std::array kLikeOther = std::to_array<std::string_view>(
    {"aten::expand_as", "aten::reshape_as", "aten::to", "aten::type_as", "aten::view_as"});
static_assert(std::ranges::is_sorted(kLikeOther));

// known.expand_as(unknown) is known.
bool run_like_other(const Call& call, const Inputs& inputs) {
  const auto arguments = call.arguments();
  if (arguments.size() < 2 || !arguments[0].isTensor() || !arguments[1].isTensor()) return false;
  if (!std::ranges::binary_search(kLikeOther, call.op.schema().name())) return false;
  const at::Tensor self = arguments[0].toTensor(), other = arguments[1].toTensor();
  if (call.recording.is_unknown(self) || self.numel() > kKnownElements) return false;
  {
    c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
    call.stack[call.stack.size() - call.info.arguments + 1] =
        at::empty({1}, other.scalar_type()).expand(other.sizes());
  }
  Inputs known{.any_off_cpu = inputs.any_off_cpu && !call.recording.device.is_cpu(), .any_tensor = true};
  run_known(call, known, c10::DispatchKeySet(c10::DispatchKey::CPU));
  return true;
}

bool has_known_input(const Call& call) {
  bool found = false;
  for_each_tensor(call.arguments(), [&](const at::Tensor& tensor) {
    found |= tensor.defined() && !call.recording.is_unknown(tensor);
  });
  return found;
}

// Quantised tensors have kernels, and next to no meta kernels.
bool has_quantised_input(const Call& call) {
  bool found = false;
  for_each_tensor(call.arguments(), [&](const at::Tensor& tensor) {
    found |= tensor.defined() && c10::isQIntType(tensor.scalar_type());
  });
  return found;
}

// Whether a meta kernel gave up for want of data rather than refused the call. Python's exceptions arrive by
// their text alone.
bool wants_data(const std::exception& problem) {
  if (dynamic_cast<const c10::NotImplementedError*>(&problem)) return true;
  const std::string_view text = problem.what();
  return text.find("NotImplementedError") != text.npos || text.find("DynamicOutputShape") != text.npos ||
         text.find("DataDependent") != text.npos || text.find("data-dependent") != text.npos;
}

// Zeros up to this many elements are run through a real kernel to hear its own error.
constexpr std::int64_t kZeroElements = std::int64_t{1} << 24;

// The meta kernel. Where there is none, or it is stricter than the real one, the real one on zeros, whose own
// error is also the one the user should see.
void run_on_twins_or_zeros(const Call& call, const Inputs& inputs) {
  const std::vector<c10::IValue> arguments(call.arguments().begin(), call.arguments().end());
  const auto base = call.stack.size() - call.info.arguments;
  const bool may_use_zeros = call.info.custom || has_known_input(call) || has_quantised_input(call);
  try {
    run_on_twins(call);
    if (call.info.writes) taint_written(call, arguments);
    return;
  } catch (const std::exception& problem) {
    if (wants_data(problem) && !may_use_zeros) {
      call.recording.failure = Failure{call.name(), call.recording.scope_path(), limit_of(call)};
      throw;
    }
    if (call.recording.failure) throw;  // a write that would resize: zeros would hide it
    if (!call.info.custom && inputs.elements > kZeroElements) throw;
  }
  call.stack.resize(base);
  call.stack.insert(call.stack.end(), arguments.begin(), arguments.end());
  run_on_zeros(call);
}

// A composite op as its parts, not recorded. False, with the arguments back on the stack, where its code
// reads data itself, as some of those for the CPU do.
bool run_parts(const Call& call, c10::DispatchKeySet below) {
  const c10::SmallVector<c10::IValue, 8> arguments(call.arguments().begin(), call.arguments().end());
  const auto base = call.stack.size() - call.info.arguments;
  DepthGuard inside;
  try {
    call.op.redispatchBoxed(below, &call.stack);
    return true;
  } catch (const c10::Error& problem) {
    if (std::string_view(problem.what_without_backtrace()).find(kNoDataMessage) == std::string_view::npos)
      throw;
  }
  call.stack.resize(base);
  call.stack.insert(call.stack.end(), arguments.begin(), arguments.end());
  return false;
}

// PyTorch's CPU attention keeps a layout that its meta kernel does not know, and a view that works for real
// fails on it: the copy that reshape would make is assumed.
bool view_as_reshape(const Call& call) {
  static const auto reshape = c10::Dispatcher::singleton().findSchemaOrThrow("aten::reshape", "");
  auto& recording = call.recording;
  recording.note("assumption", &call.info, "a view across strides was taken as a reshape");
  reshape.callBoxed(&call.stack);
  return true;
}

bool is_view_across_strides(const Call& call) {
  if (call.name() != "aten::view" || !call.op.schema().overload_name().empty()) return false;
  const auto& tensor = call.arguments()[0].toTensor();
  std::int64_t elements = 1, wildcards = 0;
  for (std::int64_t size : call.arguments()[1].toIntList()) size == -1 ? ++wildcards : elements *= size;
  const bool fits = wildcards == 0 ? elements == tensor.numel()
                                   : wildcards == 1 && elements > 0 && tensor.numel() % elements == 0;
  return fits && !tensor.is_contiguous();
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
  const std::vector<c10::IValue> arguments(call.arguments().begin(), call.arguments().end());
  const auto base = call.stack.size() - call.info.arguments;
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
  call.stack.resize(base);
  call.stack.insert(call.stack.end(), arguments.begin(), arguments.end());
  return true;
}

}  // namespace

void refuse(const Call& call) {
  auto& recording = call.recording;
  recording.failure = Failure{call.name(), recording.scope_path(), limit_of(call)};
  TORCH_CHECK(false, call.name(),
              " needs the values of a tensor, and a static capture has only its shape. Use tracer=\"eager\" "
              "to run the "
              "model for real");
}

void run_known(const Call& call, const Inputs& inputs, c10::DispatchKeySet below) {
  auto& recording = call.recording;
  const auto made = inputs.any_tensor && !call.info.value_free ? 0 : factory_elements(call);
  if (made > kKnownElements) return run_on_twins(call);
  if (made == 0 && !call.info.value_free && !fits(call, inputs)) return;
  if (call.info.journals)
    for (std::size_t i = 0; i < call.info.arguments; ++i)
      if (call.info.journalled[i])
        for_each_tensor(call.arguments().slice(i, 1), [&](const at::Tensor& tensor) {
          if (tensor.defined()) recording.journal(recording.known_value(tensor));
        });

  const auto device = asked_device(call);
  const bool explicit_device =
      call.info.device_argument && call.arguments()[*call.info.device_argument].isDevice();
  const bool wrap = inputs.any_off_cpu || (explicit_device && !device.is_cpu());
  if (explicit_device) set_device(call, c10::kCPU);
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  if (!wrap && inputs.any_tensor) return call.op.redispatchBoxed(below, &call.stack);
  if (!wrap) return call.op.callBoxed(&call.stack);

  // Values live on the CPU inside abstract tensors of another device.
  std::vector<std::pair<at::Tensor, at::Tensor>> originals;  // value, abstract
  for (std::size_t i = call.stack.size() - call.info.arguments; i < call.stack.size(); ++i)
    call.stack[i] = map_tensors(call.stack[i], [&](const at::Tensor& tensor) {
      const auto value = recording.known_value(tensor);
      if (as_abstract(tensor)) originals.emplace_back(value, tensor);
      return value;
    });
  call.op.callBoxed(&call.stack);
  for (std::size_t i = call.stack.size() - call.info.returns; i < call.stack.size(); ++i)
    call.stack[i] = map_tensors(call.stack[i], [&](const at::Tensor& value) -> at::Tensor {
      if (device.is_cpu()) return value;  // fetched from the pretended device
      for (const auto& [from, abstract] : originals)
        if (from.is_same(value)) return abstract;
      return recording.wrap_known(value);
    });
}

namespace {

// Ops that look at data. False: this call of it can be carried out on shapes.
bool run_on_values(const Call& call) {
  if (call.info.needs_values && call.name() == "aten::masked_select" &&
      !call.recording.is_unknown(call.arguments()[1].toTensor())) {
    run_on_zeros(call);
    return true;
  }
  {
    c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
    if (call.info.bound && call.info.bound->run(call, call.info.bound->limit)) return true;
  }
  if (!call.info.needs_values) return false;
  if (assume_value(call)) return true;
  refuse(call);
}

bool run_rule(const Call& call) {
  RuleCall rule(call.recording, call.arguments(), call.info);
  {
    std::lock_guard lock(call.recording.mutex);
    if (!call.info.shape(rule)) return false;
  }
  ++call.info.rule_hits;
  if (call.info.writes) taint_written(call, call.arguments());
  replace_arguments(call, rule.results());
  return true;
}

void run_on_shapes(const Call& call, const Inputs& inputs, c10::DispatchKeySet below) {
  if (call.info.shape && run_rule(call)) return;
  if (is_view_across_strides(call)) {
    DepthGuard inside;
    view_as_reshape(call);
    return;
  }
  if (call.info.composite && run_parts(call, below)) return;
  run_on_twins_or_zeros(call, inputs);
}

}  // namespace

void run_abstract(const Call& call, const Inputs& inputs, c10::DispatchKeySet below) {
  if (call.info.value_free && run_value_free(call, inputs)) return;
  if (run_like_other(call, inputs)) return;
  if (call.info.known_sizes && has_known_input(call)) return run_on_zeros(call);
  if (autograd_wants(inputs, below)) {
    DepthGuard inside;
    const auto keys = below.remove_backend(c10::BackendComponent::MetaBit) | c10::DispatchKeySet(kBackendKey);
    return call.op.redispatchBoxed(keys, &call.stack);
  }
  if ((call.info.needs_values || call.info.bound) && run_on_values(call)) return;
  if (call.info.choice == Choice::kNone) return run_on_shapes(call, inputs, below);
  const Picked picked(call);
  run_on_shapes(call, inputs, below);
  picked.make_known(call);
}

}  // namespace opscope::engine
