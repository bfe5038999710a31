// The tiers for one op: really computed where its inputs are known, a shape rule, its parts, PyTorch's meta
// kernel, the real kernel on zeros; an error that names what is missing when none of them can answer.
#include "torch/engine/execute.h"

#include <array>

namespace opscope::engine {

namespace {

bool autograd_wants(const Inputs& inputs, c10::DispatchKeySet below) {
  return inputs.any_grad && at::GradMode::is_enabled() && below.has_any(c10::autograd_dispatch_keyset) &&
         !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradFunctionality);
}

// After unknown data was written into a tensor whose value was known, it no longer is.
void taint_written(const Call& call, at::ArrayRef<c10::IValue> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (call.info.written[i])
      for_each_tensor(arguments.slice(i, 1), [&](const at::Tensor& tensor) {
        if (tensor.defined() && !call.recording.storages.is_unknown(tensor))
          call.recording.storages.taint(tensor);
      });
}

template <class Is>
bool any_input(const Call& call, Is&& is) {
  bool found = false;
  for_each_tensor(call.arguments(),
                  [&](const at::Tensor& tensor) { found |= tensor.defined() && is(tensor); });
  return found;
}

bool has_known_input(const Call& call) {
  return any_input(call,
                   [&](const at::Tensor& tensor) { return !call.recording.storages.is_unknown(tensor); });
}

// Whether a meta kernel gave up for want of data rather than refused the call. Python's exceptions arrive by
// their text alone.
bool wants_data(const std::exception& problem) {
  if (dynamic_cast<const c10::NotImplementedError*>(&problem)) return true;
  const std::string_view text = problem.what();
  return text.find("NotImplementedError") != text.npos || text.find("DynamicOutputShape") != text.npos ||
         text.find("DataDependent") != text.npos || text.find("data-dependent") != text.npos;
}

// The meta kernel. Where there is none, or it is stricter than the real one, the real one on zeros, whose own
// error is also the one the user should see.
void run_on_twins_or_zeros(const Call& call, const Inputs& inputs) {
  const KeptArguments kept(call);
  // Quantised tensors have kernels, and next to no meta kernels.
  const auto is_quantised = [](const at::Tensor& tensor) { return c10::isQIntType(tensor.scalar_type()); };
  const bool may_use_zeros = call.info.custom || has_known_input(call) || any_input(call, is_quantised);
  try {
    run_on_twins(call);
    if (call.info.writes) taint_written(call, kept.values);
    return;
  } catch (const std::exception& problem) {
    if (wants_data(problem) && !may_use_zeros) {
      call.recording.failure =
          Failure{call.name(), call.recording.scopes.path(), std::string(call.info.facts->limit)};
      throw;
    }
    if (call.recording.failure) throw;  // a write that would resize: zeros would hide it
    if (!call.info.custom && inputs.elements > kZeroElements) throw;
  }
  kept.put_back();
  run_on_zeros(call);
}

// A composite op as its parts, not recorded. False, with the arguments back on the stack, where its code
// reads data itself, as some of those for the CPU do.
bool run_parts(const Call& call, c10::DispatchKeySet below) {
  const KeptArguments kept(call);
  DepthGuard inside;
  try {
    call.op.redispatchBoxed(below, &call.stack);
    return true;
  } catch (const c10::Error& problem) {
    if (std::string_view(problem.what_without_backtrace()).find(kNoDataMessage) == std::string_view::npos)
      throw;
  }
  kept.put_back();
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

}  // namespace

// The last ones that a thread asked for need neither the lock nor the search.
OpInfo& info_of(Recording& recording, const c10::OperatorHandle& op) {
  struct Known {
    std::uint64_t capture = 0;
    const void* op = nullptr;
    OpInfo* info = nullptr;
  };
  static thread_local std::array<Known, 64> known;
  const void* const name = &op.operator_name();
  auto& [capture, asked, info] = known[std::hash<const void*>{}(name) / 64 % known.size()];
  if (capture == recording.storages.capture && asked == name) return *info;
  const Lock lock(recording);
  capture = recording.storages.capture;
  asked = name;
  return *(info = &recording.ops.of(op));
}

void refuse(const Call& call) {
  auto& recording = call.recording;
  recording.failure = Failure{call.name(), recording.scopes.path(), std::string(call.info.facts->limit)};
  TORCH_CHECK(false, call.name(),
              " needs the values of a tensor, and a static capture has only its shape. Use tracer=\"eager\" "
              "to run the "
              "model for real");
}

namespace {

// A rule's results in place of the arguments; false where it declines.
bool run_rule(const Call& call, ShapeRule shape) {
  auto& recording = call.recording;
  const auto& schema = call.op.schema();
  RuleCall rule({recording.storages, recording.bounds, recording.threads, schema.name()}, call.arguments());
  if (!shape(rule)) return false;
  if (call.info.writes) taint_written(call, call.arguments());
  call.put_back(call.base(), rule.results());
  return true;
}

// Ops that look at data. False: this call of it can be carried out on shapes.
bool run_on_values(const Call& call) {
  if (call.info.needs_values() && call.name() == "aten::masked_select" &&
      !call.recording.storages.is_unknown(call.arguments()[1].toTensor())) {
    run_on_zeros(call);
    return true;
  }
  if (const auto size_rule = find_size_rule(call.op.schema().name())) {
    c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
    try {
      if (run_rule(call, size_rule)) return true;
    } catch (const NeedsValues&) {
      refuse(call);
    }
  }
  if (!call.info.needs_values()) return false;
  if (assume_value(call)) return true;
  refuse(call);
}

void run_on_shapes_alone(const Call& call, const Inputs& inputs, c10::DispatchKeySet below) {
  if (call.info.shape && run_rule(call, call.info.shape)) {
    ++call.info.rule_hits;
    return;
  }
  if (is_view_across_strides(call)) {
    DepthGuard inside;
    view_as_reshape(call);
    return;
  }
  if (call.info.composite && run_parts(call, below)) return;
  run_on_twins_or_zeros(call, inputs);
}

// On a CUDA device, with what the kernel allocates for itself.
void run_on_shapes(const Call& call, const Inputs& inputs, c10::DispatchKeySet below) {
  if (!call.info.scratch || !call.recording.device.is_cuda()) return run_on_shapes_alone(call, inputs, below);
  const std::uint64_t bytes = call.info.scratch(call.arguments(), call.recording.cuda);
  run_on_shapes_alone(call, inputs, below);
  call.recording.storages.lifetimes->allocate(bytes);
}

}  // namespace

void run_abstract(const Call& call, const Inputs& inputs, c10::DispatchKeySet below) {
  if (call.info.is(Fact::kValueFree) && run_value_free(call, inputs)) return;
  if (call.info.is(Fact::kLikeOther) && run_like_other(call, inputs)) return;
  if (call.info.on_cuda && !call.recording.eager && call.recording.device.is_cuda() &&
      call.info.on_cuda(call))
    return;
  const bool differentiates = autograd_wants(inputs, below);
  if (call.info.known_sizes && !differentiates && has_known_input(call)) return run_on_zeros(call);
  if (differentiates) {
    DepthGuard inside;
    const AutogradLooks looks(call.recording.pretends && !call.info.composite);
    const auto keys = below.remove_backend(c10::BackendComponent::MetaBit) | c10::DispatchKeySet(kBackendKey);
    return call.op.redispatchBoxed(keys, &call.stack);
  }
  if ((inputs.any_sparse || call.info.makes_sparse) && run_sparse(call, inputs)) return;
  if (!call.info.facts->limit.empty() || call.info.needs_values())
    if (run_on_values(call)) return;
  if (!call.info.picks_index()) return run_on_shapes(call, inputs, below);
  const Picked picked(call);
  run_on_shapes(call, inputs, below);
  picked.make_known(call);
}

}  // namespace opscope::engine
