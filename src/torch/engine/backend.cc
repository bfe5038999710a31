// The abstract tensors' own backend: what runs when an op reaches them below the mode (below autograd, inside
// a __torch_dispatch__ subclass), and the clear error when one is used outside a capture.
#include <mutex>

#include "torch/engine/execute.h"
#include "torch/engine/threads.h"

namespace opscope::engine {

namespace {

// The capture that one of the arguments was made in, while it lasts.
std::shared_ptr<Recording> recording_of(const c10::OperatorHandle& op, const Stack& stack) {
  std::shared_ptr<Recording> found;
  for_each_tensor(torch::jit::last(stack, op.schema().arguments().size()), [&](const at::Tensor& tensor) {
    if (auto* impl = as_abstract(tensor); impl && !found) found = find_recording(impl->identity.recording);
  });
  return found;
}

void on_backend(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  auto* recording = Recording::current();
  if (!recording) {
    // A thread of the model's that nobody has told of: what it does to the capture's tensors is seen here.
    const auto found = recording_of(op, *stack);
    TORCH_CHECK(found, op.schema().name(), ": ", kNoDataMessage);
    ++found->strays;
    const InCapture inside(Fork::stray(found));
    return on_backend(op, keys, stack);
  }
  const Lock lock(*recording);
  TORCH_CHECK(!recording->closed, op.schema().name(), ": ", kNoDataMessage);
  const Call call{*recording, op, info_of(*recording, op), *stack};
  Inputs inputs;
  for_each_tensor(call.arguments(), [&](const at::Tensor& tensor) { recording->classify(tensor, inputs); });
  const c10::DispatchKeySet here(kBackendKey);
  const auto carry_out = [&] {
    DepthGuard inside;
    if (!inputs.any_unknown && inputs.elements <= kKnownElements)
      run_known(call, inputs, here);
    else
      run_abstract(call, inputs, here);
  };
  if (depth > 0 || call.info.ignored) return carry_out();
  const auto pending = recording->begin(call.info, call.arguments());
  carry_out();
  recording->finish(call.info, pending, call.results());
}

// Ops registered since the last look. The dispatcher's lock is held while it is told, so that the kernels are
// registered later.
struct NewOps final : c10::OpRegistrationListener {
  std::mutex mutex;
  std::vector<c10::OperatorHandle> pending;

  void onOperatorRegistered(const c10::OperatorHandle& op) override {
    std::lock_guard lock(mutex);
    pending.push_back(op);
  }
  void onOperatorDeregistered(const c10::OperatorHandle& op) override {
    std::lock_guard lock(mutex);
    std::erase_if(pending, [&](const auto& other) { return other == op; });
  }
};

struct BackendKernels {
  NewOps* news = nullptr;  // owned by the dispatcher
  std::vector<c10::RegistrationHandleRAII> handles;
  std::mutex mutex;
};

BackendKernels& backend_kernels() {
  // Never destroyed: the dispatcher may be gone by then.
  static auto* kernels = [] {
    auto* made = new BackendKernels;
    auto listener = std::make_unique<NewOps>();
    made->news = listener.get();
    static auto* keep = new c10::RegistrationHandleRAII(
        c10::Dispatcher::singleton().addRegistrationListener(std::move(listener)));
    (void)keep;
    return made;
  }();
  return *kernels;
}

// Kernels that PyTorch would prefer to a backend's fallback, and that allocate real memory.
bool has_explicit_composite(const c10::OperatorHandle& op) {
  return !op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
          op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional));
}

}  // namespace

void register_backend_kernels() {
  auto& kernels = backend_kernels();
  std::lock_guard lock(kernels.mutex);
  std::vector<c10::OperatorHandle> ops;
  {
    std::lock_guard news_lock(kernels.news->mutex);
    ops.swap(kernels.news->pending);
  }
  for (const auto& op : ops) {
    if (!op.hasSchema() || !has_explicit_composite(op)) continue;
    kernels.handles.push_back(c10::Dispatcher::singleton().registerImpl(
        op.operator_name(), kBackendKey, c10::KernelFunction::makeFromBoxedFunction<&on_backend>(),
        std::nullopt, nullptr, "opscope"));
  }
}

#define OPSCOPE_BACKEND_FALLBACK(key) \
  TORCH_LIBRARY_IMPL(_, key, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_backend>()); }
OPSCOPE_BACKEND_FALLBACK(PrivateUse3)
OPSCOPE_BACKEND_FALLBACK(QuantizedPrivateUse3)
OPSCOPE_BACKEND_FALLBACK(SparsePrivateUse3)
OPSCOPE_BACKEND_FALLBACK(SparseCsrPrivateUse3)
OPSCOPE_BACKEND_FALLBACK(NestedTensorPrivateUse3)
#undef OPSCOPE_BACKEND_FALLBACK

}  // namespace opscope::engine
