#include "torch/timing/replay.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"
#include "base/text.h"
#include "graph/signature.h"
#include "torch/engine/execute.h"

namespace opscope::engine {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kUnknownCache = std::size_t{32} << 20;
constexpr std::size_t kMostCache = std::size_t{512} << 20;
constexpr std::uint64_t kMostRepetitions = 10'000;  // in a batch
constexpr double kBatchSeconds = 1e-3;
constexpr std::uint32_t kLeastBatches = 5;
constexpr std::uint32_t kSlowBatches = 3;  // of an op that takes longer than kSlowSeconds
constexpr double kSlowSeconds = 1;
// As in a model: single repetitions, enough of them for a median.
constexpr std::size_t kTrafficBytes = std::size_t{4} << 20;  // at a turn; past the caches of one core
constexpr std::size_t kLineBytes = 64;
constexpr std::uint32_t kLeastSingles = 5, kMostSingles = 25;
constexpr double kSinglesSeconds = 0.012;  // with the traffic between them
// On a device: what fits into the queue of launches, of ops of a few kernels each.
constexpr std::uint64_t kMostQueued = 128;
constexpr std::uint32_t kHoldRetries = 6;
constexpr std::int64_t kHoldBytes = std::int64_t{1} << 28;

std::size_t last_cache_bytes(std::size_t given) {
  if (given != 0) return std::min(given, kMostCache);
  const long level3 = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return level3 > 0 ? std::min(static_cast<std::size_t>(level3), kMostCache) : kUnknownCache;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The call number `turn`; its results are let go when the next one has been made, as in a model.
void run_once(const PreparedCall& call, std::uint64_t turn, Stack& stack) {
  stack = call.turns[turn % call.turns.size()];
  call.op.callBoxed(stack);
}

void put_back(const PreparedCall& call) {
  for (const auto& [tensor, before] : call.written) tensor.copy_(before);
}

OpTime op_time(std::vector<double> seconds, std::uint64_t repetitions, bool waited) {
  const auto of = statistics(std::move(seconds));
  return {.median_ns = of.median * 1e9,
          .mean_ns = of.mean * 1e9,
          .deviation_ns = of.standard_deviation * 1e9,
          .minimum_ns = of.minimum * 1e9,
          .batches = of.samples,
          .repetitions = repetitions,
          .waited = waited};
}

// Of a dimension of one element, or of no elements at all, the stride says nothing.
bool lies_as(const at::Tensor& tensor, std::span<const std::int64_t> strides) {
  if (tensor.strides().size() != strides.size()) return false;
  for (std::size_t i = 0; i < strides.size(); ++i)
    if (tensor.sizes()[i] > 1 && tensor.strides()[i] != strides[i]) return false;
  return true;
}

// The first line of what torch says, without where in its own code.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

// Makes up the same numbers each time, and leaves the caller's random numbers as they were.
class Replayer::Randomness {
 public:
  explicit Randomness(c10::Device device) {
    keep(at::globalContext().defaultGenerator(c10::kCPU));
    if (!device.is_cpu()) keep(at::globalContext().defaultGenerator(device));
  }
  ~Randomness() {
    for (auto& [generator, state] : kept_) {
      try {
        std::lock_guard lock(generator.mutex());
        generator.set_state(state);
      } catch (const std::exception&) {  // a device that failed has no numbers to give back
      }
    }
  }
  Randomness(const Randomness&) = delete;
  Randomness& operator=(const Randomness&) = delete;

 private:
  void keep(at::Generator generator) {
    std::lock_guard lock(generator.mutex());
    kept_.emplace_back(generator, generator.get_state());
    generator.set_current_seed(0);
  }
  std::vector<std::pair<at::Generator, at::Tensor>> kept_;
};

namespace {

// What torch warns of with each repetition, such as weights that lie apart, is nothing that a user did.
class Quiet final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

}  // namespace

// Work that keeps a device busy while ops are queued behind it.
class Replayer::Hold {
 public:
  explicit Hold(c10::Device on)
      : device(on),
        backend_(on.type()),
        memory_(at::empty({kHoldBytes}, at::TensorOptions().dtype(at::kByte).device(on))) {
    run(2);
    wait();
    constexpr std::uint64_t kTries = 8;
    const auto begin = mark();
    run(kTries);
    const auto end = mark();
    end.synchronize();
    seconds_ = std::max(begin.elapsedTime(end) * 1e-3 / static_cast<double>(kTries), 1e-6);
  }

  void run(std::uint64_t times) const {
    for (std::uint64_t i = 0; i < times; ++i) memory_.zero_();
  }
  void run_for(double seconds) const { run(static_cast<std::uint64_t>(seconds / seconds_) + 1); }
  c10::Event mark() const {
    c10::Event made(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    made.record(backend_.getStream(device));
    return made;
  }
  void wait() const { backend_.synchronizeDevice(device.index()); }

  const c10::Device device;

 private:
  c10::impl::VirtualGuardImpl backend_;
  at::Tensor memory_;
  double seconds_ = 0;
};

Replayer::Replayer(const ReplayOptions& options)
    : options_(options), pool_(last_cache_bytes(options.cache_bytes)) {}
Replayer::~Replayer() = default;

OpTime Replayer::replay(const Graph& graph, const Op& op) {
  const c10::Device device{std::string(device_of(graph, op))};
  if (!c10::impl::hasDeviceGuardImpl(device.type()))
    throw Error("its device, " + device.str() + ", is not here");
  const at::NoGradGuard no_gradients;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const c10::OptionalDeviceGuard on(device.is_cpu() ? std::nullopt : std::optional(device));
  const Randomness same_numbers(device);
  Quiet quiet;
  const c10::WarningUtils::WarningHandlerGuard no_warnings(&quiet);
  try {
    const auto call = prepare_call(graph, op, pool_);
    Stack results;
    run_once(call, 0, results);
    check_results(graph, op, call, results);
    results.clear();
    const auto time = !device.is_cpu()       ? time_on_device(call, device)
                      : options_.as_in_model ? time_as_in_model(graph, op, call)
                                             : time_on_host(call);
    if (call.writes_pool) pool_.forget();
    return time;
  } catch (const c10::OutOfMemoryError&) {
    throw Error("the device's memory does not hold its tensors a second time");
  } catch (const std::bad_alloc&) {
    throw Error("there is not enough memory for its tensors");
  } catch (const c10::Error& problem) {
    throw Error("torch refused it on made-up data: " + first_line(problem.what_without_backtrace()));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& problem) {
    throw Error("it failed on made-up data: " + first_line(problem.what()));
  }
}

// What came of the first call has to be what came in the model, or its time says nothing of that.
void Replayer::check_results(const Graph& graph, const Op& op, const PreparedCall& call,
                             const Stack& results) const {
  const auto expected = graph.outputs_of(op);
  std::size_t at = 0;
  const auto check = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || at == expected.size()) return;
    const auto& value = graph.values[expected[at++]];
    const auto shape = graph.shape(value);
    if (!std::ranges::equal(shape, tensor.sizes()))
      throw Error("on made-up data its result is " +
                  format_shape({tensor.sizes().data(), tensor.sizes().size()}) + ", in the model " +
                  format_shape(shape));
    if (dtype_of(tensor.scalar_type()) != value.dtype || !lies_as(tensor, graph.strides(value)))
      throw Error("on made-up data its result has another layout or type than in the model");
  };
  for_each_tensor(at::ArrayRef<c10::IValue>(results.data(), call.op.schema().returns().size()), check);
}

OpTime Replayer::time_on_host(const PreparedCall& call) const {
  Stack stack;
  run_once(call, 1, stack);
  auto begin = Clock::now();
  run_once(call, 2, stack);
  const double once = std::max(seconds_since(begin), 1e-8);
  const auto repetitions =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(kBatchSeconds / once), 1, kMostRepetitions);
  const auto batches = once > kSlowSeconds ? kSlowBatches : kLeastBatches;
  std::vector<double> seconds;
  double total = 0;
  std::uint64_t turn = 3;
  while (seconds.size() < batches || total < options_.min_seconds) {
    put_back(call);
    begin = Clock::now();
    for (std::uint64_t i = 0; i < repetitions; ++i) run_once(call, turn++, stack);
    const double batch = seconds_since(begin);
    total += batch;
    seconds.push_back(batch / static_cast<double>(repetitions));
  }
  const auto done = repetitions * seconds.size();
  return op_time(std::move(seconds), done, false);
}

CacheTraffic::CacheTraffic(std::size_t cache_bytes)
    : memory_(std::max(2 * cache_bytes, 2 * kTrafficBytes) / sizeof(std::uint64_t)) {}

void CacheTraffic::run() {
  constexpr std::int64_t kWords = kLineBytes / sizeof(std::uint64_t);
  const std::size_t words =
      kTrafficBytes / sizeof(std::uint64_t) * static_cast<std::size_t>(at::get_num_threads());
  if (at_ + words > memory_.size()) at_ = 0;
  std::uint64_t* const begin = memory_.data() + at_;
  const auto lines = static_cast<std::int64_t>(std::min(words, memory_.size() - at_)) / kWords;
  at::parallel_for(0, lines, lines / at::get_num_threads(), [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) ++begin[i * kWords];
  });
  at_ += words;
}

void Replayer::disturb_caches() {
  if (!traffic_) traffic_ = std::make_unique<CacheTraffic>(pool_.cache_bytes());
  traffic_->run();
}

namespace {

// One word of each line of what the op before has just written.
std::uint64_t look_at(const at::Tensor& tensor, std::size_t most_bytes) {
  if (!tensor.defined() || !tensor.device().is_cpu() || !tensor.has_storage()) return 0;
  const auto* bytes = static_cast<const char*>(tensor.storage().data());
  const std::size_t size = std::min(tensor.storage().nbytes(), most_bytes);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof sum <= size; at += kLineBytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof word);
    sum += word;
  }
  return sum;
}

}  // namespace

OpTime Replayer::time_as_in_model(const Graph& graph, const Op& op, const PreparedCall& call) {
  // Where its first tensor that is no weight stands among the arguments; its others were made long before.
  std::optional<std::size_t> newest;
  std::size_t place = 0;
  for (const auto& argument : graph.arguments_of(op)) {
    if (!newest && argument.kind == ArgumentKind::kTensor &&
        !is_lasting(graph.values[static_cast<ValueId>(argument.integer)].kind))
      newest = place;
    ++place;
  }
  Stack stack;
  std::vector<double> seconds;
  volatile std::uint64_t seen = 0;
  const auto started = Clock::now();
  for (std::uint64_t turn = 1; seconds.size() < kMostSingles; ++turn) {
    if (seconds.size() >= kLeastSingles && seconds_since(started) > kSinglesSeconds) break;
    if (seconds.size() >= kSlowBatches && seconds_since(started) > 8 * kSinglesSeconds) break;
    put_back(call);
    disturb_caches();
    const Stack& given = call.turns[turn % call.turns.size()];
    if (newest && *newest < given.size() && given[*newest].isTensor())
      seen = seen + look_at(given[*newest].toTensor(), pool_.cache_bytes());
    stack = given;
    const auto begin = Clock::now();
    call.op.callBoxed(stack);
    seconds.push_back(seconds_since(begin));
    stack.clear();
  }
  const auto done = seconds.size();
  return op_time(std::move(seconds), done, false);
}

// A batch counts where its first repetition had not begun when the last was queued: then nothing was waited
// for. Where that cannot be had (an op that waits for the device itself), the gaps are counted, and it is
// said.
OpTime Replayer::time_on_device(const PreparedCall& call, c10::Device device) {
  if (!hold_ || hold_->device != device) hold_ = std::make_unique<Hold>(device);
  Stack stack;
  for (std::uint64_t i = 1; i < 4; ++i) run_once(call, i, stack);
  hold_->wait();
  auto begin = Clock::now();
  for (std::uint64_t i = 4; i < 8; ++i) run_once(call, i, stack);
  double to_queue = seconds_since(begin) / 4, least_to_queue = to_queue;
  hold_->wait();
  const double once = std::max(seconds_since(begin) / 4, 1e-7);
  auto repetitions =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(kBatchSeconds / once), 1, kMostQueued);

  std::vector<double> seconds, with_gaps;
  double total = 0;
  std::uint64_t turn = 8, done = 0;
  std::uint32_t retries = 0;
  while (seconds.size() < kLeastBatches || total < options_.min_seconds) {
    put_back(call);
    hold_->run_for(1.5 * to_queue * static_cast<double>(repetitions));
    const auto first = hold_->mark();
    begin = Clock::now();
    for (std::uint64_t i = 0; i < repetitions; ++i) run_once(call, turn++, stack);
    const double queued_in = seconds_since(begin) / static_cast<double>(repetitions);
    to_queue = std::max(to_queue, queued_in), least_to_queue = std::min(least_to_queue, queued_in);
    const bool queued = !first.query();
    const auto last = hold_->mark();
    last.synchronize();
    const double batch = first.elapsedTime(last) * 1e-3;
    total += batch;
    done += repetitions;
    (queued ? seconds : with_gaps).push_back(batch / static_cast<double>(repetitions));
    if (queued) continue;
    if (retries == kHoldRetries && with_gaps.size() >= std::max(kLeastBatches, kHoldRetries)) break;
    if (retries < kHoldRetries) ++retries, repetitions = std::max<std::uint64_t>(repetitions / 2, 1);
  }
  const bool waited = seconds.empty();
  auto time = op_time(waited ? std::move(with_gaps) : std::move(seconds), done, waited);
  time.host_ns = least_to_queue * 1e9;
  return time;
}

std::string kernel_settings() {
  const auto& context = at::globalContext();
  std::string text;
  const auto add = [&](bool on, std::string_view word) {
    if (on) text += (text.empty() ? "" : ", ") + std::string(word);
  };
  add(context.benchmarkCuDNN(), "cudnn benchmark");
  add(context.deterministicCuDNN(), "cudnn deterministic");
  add(context.deterministicAlgorithms(), "deterministic");
  add(!context.userEnabledCuDNN(), "no cudnn");
  add(!context.userEnabledMkldnn(), "no mkldnn");
  return text;
}

}  // namespace opscope::engine
