// Running PyTorch's own kernels in place of a shape rule: its meta kernels on twins of the abstract tensors,
// or, for ops that have none, the real kernel on zeros.
#include <algorithm>
#include <cstdlib>

#include "torch/engine/execute.h"
#include "torch/rules/layout.h"

namespace opscope::engine {

namespace {

struct Twin {
  at::Tensor original;
  at::Tensor twin;
  c10::Storage standing_for;  // the guarded storage that the twin's own, unguarded one stands for
  c10::Storage storage;
};
using Twins = c10::SmallVector<Twin, 6>;

// Storage::is_alias_of would ask a guarded storage for its data.
bool same_storage(const c10::Storage& a, const c10::Storage& b) {
  return a.unsafeGetStorageImpl() == b.unsafeGetStorageImpl();
}

at::Tensor twin_of(Recording& recording, const at::Tensor& tensor, Twins& twins) {
  // A Python number in a tensor's clothes: kernels written in Python get it as a number, which has a value.
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number() && tensor.is_cpu() && !as_abstract(tensor))
    return tensor;
  const auto guarded = recording.storages.standin(tensor);
  c10::Storage storage;
  for (const auto& pair : twins) {
    if (pair.original.is_same(tensor)) return pair.twin;
    if (same_storage(pair.standing_for, guarded)) storage = pair.storage;
  }
  if (!storage) storage = bare_storage(guarded.nbytes());
  auto twin = meta_twin(tensor, storage);
  twins.push_back({tensor, twin, guarded, storage});
  return twin;
}

// A real tensor that an op gave other sizes, or other memory, without data: from now on it has none either.
void follow_for_real(Recording& recording, const Twin& pair, const Twins& twins) {
  const auto& now = pair.twin.storage();
  const bool swapped = !same_storage(now, pair.storage);
  if (!swapped && pair.twin.sizes() == pair.original.sizes()) return;
  const auto* source =
      std::ranges::find_if(twins, [&](const Twin& other) { return same_storage(now, other.storage); });
  if (swapped && source != twins.end())
    recording.journal.become_unknown(pair.original, pair.twin, source->standing_for,
                                     recording.storages.id_of(source->original));
  else
    recording.journal.become_unknown(pair.original, pair.twin, guarded_storage(now.nbytes()),
                                     recording.storages.add(now.nbytes()));
}

[[noreturn]] void refuse_resize(Recording& recording) {
  recording.failure = Failure{"a write that resizes", recording.scopes.path(), {}};
  TORCH_CHECK(false, "opscope: a tensor with data cannot take over the shape or memory of one without");
}

// An in-place op may have changed its argument's sizes, strides or storage: the original follows its twin.
void follow(Recording& recording, const Twin& pair, const Twins& twins) {
  auto* impl = as_abstract(pair.original);
  if (!impl) return follow_for_real(recording, pair, twins);
  const auto& now = pair.twin.storage();
  if (!same_storage(now, pair.storage)) {  // set_
    const auto* source =
        std::ranges::find_if(twins, [&](const Twin& other) { return same_storage(now, other.storage); });
    if (source != twins.end()) {
      impl->set_storage_keep_dtype(source->standing_for);
      recording.storages.own(pair.original, recording.storages.id_of(source->original),
                             recording.storages.kind_of(source->original));
    } else {
      guard_storage(now);
      impl->set_storage_keep_dtype(now);
      recording.storages.own_new(pair.original);
    }
  } else if (now.nbytes() != pair.standing_for.nbytes()) {  // resize_
    pair.standing_for.set_nbytes(now.nbytes());
    recording.storages.grow(recording.storages.id_of(pair.original), now.nbytes());
  }
  if (pair.twin.sizes() != pair.original.sizes() || pair.twin.strides() != pair.original.strides() ||
      pair.twin.storage_offset() != pair.original.storage_offset())
    impl->set_sizes_and_strides(pair.twin.sizes(), pair.twin.strides(), pair.twin.storage_offset());
}

at::Tensor wrap(Recording& recording, const at::Tensor& result, const Twins& twins, c10::Device device) {
  for (const auto& pair : twins)
    if (pair.twin.is_same(result)) return pair.original;
  TORCH_CHECK(!result.is_nested(), kNestedMessage);
  if (result.layout() != c10::kStrided || !result.has_storage()) {
    auto dense = make_abstract(result.sizes(), engine::contiguous_strides(result.sizes()),
                               result.scalar_type(), device);
    recording.storages.own_new(dense);
    return dense;
  }
  const auto* base = std::ranges::find_if(
      twins, [&](const Twin& pair) { return same_storage(pair.storage, result.storage()); });
  const bool is_view = base != twins.end();
  if (!is_view) guard_storage(result.storage());
  auto abstract = make_abstract_view(is_view ? base->standing_for : result.storage(), result.sizes(),
                                     result.strides(), result.storage_offset(), result.scalar_type(), device);
  if (result.is_conj()) abstract._set_conj(true);
  if (result.is_neg()) abstract._set_neg(true);
  if (is_view)
    recording.storages.own(abstract, recording.storages.id_of(base->original),
                           recording.storages.kind_of(base->original));
  else
    recording.storages.own_new(abstract);
  return abstract;
}

// The dispatcher names the file that registered each kernel; Python's end in .py, or are not known to it.
bool has_python_meta_kernel(const c10::OperatorHandle& op) {
  const auto state = op.dumpState();
  const auto row = state.find("\nMeta: ");
  if (row == std::string::npos) return false;
  const auto line = std::string_view(state).substr(row + 1, state.find('\n', row + 1) - row - 1);
  return line.find(".py:") != line.npos || line.find("/dev/null") != line.npos;
}

// Zeros laid out as `tensor` is, on fresh pages that take no memory until they are written.
at::Tensor zeros_of(const at::Tensor& tensor) {
  if (c10::isQIntType(tensor.scalar_type()))
    return at::_empty_affine_quantized(tensor.sizes(), tensor.scalar_type(), {}, c10::kCPU, {}, 1.0, 0,
                                       tensor.suggest_memory_format());
  const bool strided = tensor.layout() == c10::kStrided;
  const auto strides = strided ? Sizes(tensor.strides().begin(), tensor.strides().end())
                               : engine::contiguous_strides(tensor.sizes());
  std::size_t last = 0;
  for (std::size_t i = 0; i < strides.size(); ++i)
    last += static_cast<std::size_t>(
        std::max<std::int64_t>(tensor.size(static_cast<std::int64_t>(i)) - 1, 0) * strides[i]);
  void* bytes = std::calloc(last + 1, tensor.element_size());
  TORCH_CHECK(bytes, "opscope: not enough memory to run ", tensor.sizes(), " zeros");
  return at::from_blob(bytes, tensor.sizes(), strides, std::free, tensor.scalar_type());
}

// What an op is really run on: a sparse tensor has its pattern, whatever its values.
at::Tensor stand_in(Recording& recording, const at::Tensor& tensor, bool written) {
  const bool sparse = is_sparse(tensor);
  if (!sparse && recording.storages.is_unknown(tensor)) return zeros_of(tensor);
  auto real = sparse ? tensor : recording.storages.known_value(tensor);
  return written ? real.clone() : real;
}

c10::Device result_device(const Call& call) {
  if (call.info.device_argument) {
    const auto& asked = call.arguments()[*call.info.device_argument];
    if (asked.isDevice() && !asked.toDevice().is_meta()) return asked.toDevice();
  }
  for (const auto& argument : call.arguments())
    if (argument.isTensor() && argument.toTensor().defined() && as_abstract(argument.toTensor()))
      return shown_device(argument.toTensor());
  return call.recording.device;
}

}  // namespace

void run_on_twins(const Call& call) {
  auto& recording = call.recording;
  if (!call.info.python_kernel) call.info.python_kernel = has_python_meta_kernel(call.op);
  if (*call.info.python_kernel) ++call.info.slow_runs;
  const auto device = result_device(call);
  Twins twins;
  call.map_last(call.info.arguments,
                [&](const at::Tensor& tensor) { return twin_of(recording, tensor, twins); });
  auto& asked =
      call.info.device_argument ? call.stack[call.base() + *call.info.device_argument] : call.stack.back();
  const bool factory = twins.empty();
  if (call.info.device_argument && (asked.isDevice() || factory)) asked = c10::Device(c10::kMeta);
  {
    c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    call.op.callBoxed(&call.stack);
  }
  call.map_last(call.info.returns,
                [&](const at::Tensor& result) { return wrap(recording, result, twins, device); });
  if (call.info.writes)
    for (const auto& pair : twins) follow(recording, pair, twins);
}

void run_on_zeros(const Call& call) {
  auto& recording = call.recording;
  const auto device = result_device(call);
  Twins stand;
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  at::NoGradGuard no_grad;
  const auto first = call.base();
  for (std::size_t i = first; i < call.stack.size(); ++i) {
    const bool written = call.info.written[i - first];
    call.stack[i] = map_tensors(call.stack[i], [&](const at::Tensor& tensor) {
      for (const auto& pair : stand)
        if (pair.original.is_same(tensor)) return pair.twin;
      const auto real = stand_in(recording, tensor, written);
      if (written) recording.storages.taint(tensor);
      stand.push_back({tensor, real, {}, {}});
      return real;
    });
    if (call.stack[i].isDevice()) call.stack[i] = c10::Device(c10::kCPU);
  }
  call.op.callBoxed(&call.stack);
  for (const auto& pair : stand)
    if (pair.twin.sizes() != pair.original.sizes()) refuse_resize(recording);
  const bool of_sparse = call.info.makes_sparse || std::ranges::any_of(stand, [](const Twin& pair) {
                           return is_sparse(pair.original);
                         });
  if (!call.info.known_sizes && !of_sparse)
    recording.note("assumption", &call.info,
                   "has no shape function; its shape was learnt by running it on zeros");
  call.map_last(call.info.returns, [&](const at::Tensor& result) -> at::Tensor {
    for (const auto& pair : stand)
      if (pair.twin.is_same(result)) return pair.original;
    TORCH_CHECK(!result.is_nested(), kNestedMessage);
    if (is_sparse(result)) {
      recording.storages.forget_value(result.unsafeGetTensorImpl());
      return result;
    }
    const bool known = call.info.known_sizes ? c10::isIntegralType(result.scalar_type(), true)
                                             : of_sparse && is_index_type(result.scalar_type());
    if (known) return recording.storages.as_known(of_sparse ? result.clone() : result);
    auto made = make_abstract(result.sizes(), result.strides(), result.scalar_type(), device);
    recording.storages.own_new(made);
    return made;
  });
}

bool run_sparse(const Call& call, const Inputs& inputs) {
  bool any_dense = false;
  for_each_tensor(call.arguments(), [&](const at::Tensor& tensor) {
    any_dense |= tensor.defined() && tensor.dim() > 0 && !is_sparse(tensor);
  });
  const bool is_product = call.info.cost && call.info.cost->category == Category::kMatmul && any_dense &&
                          call.name() != "aten::sparse_sampled_addmm" &&
                          call.name() != "aten::_sparse_mm_reduce_impl";
  if (is_product || inputs.elements > kZeroElements) return false;
  const KeptArguments kept(call);
  try {
    run_on_zeros(call);
    return true;
  } catch (const std::exception&) {  // no such kernel for this layout: as if it were dense
    if (call.recording.failure) throw;
  }
  kept.put_back();
  return false;
}

}  // namespace opscope::engine
