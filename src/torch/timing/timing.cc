#include "torch/timing/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "torch/engine/execute.h"

namespace opscope::engine {

Nanoseconds now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<Nanoseconds>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

DeviceClock::DeviceClock(c10::Device device) : device_(device), backend_(device.type()) {}

std::uint32_t DeviceClock::mark() {
  if (used_ == events_.size()) events_.emplace_back(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  events_[used_].record(backend_.getStream(device_));
  return static_cast<std::uint32_t>(used_++);
}

void DeviceClock::prepare(std::size_t marks) {
  while (used_ < marks) mark();
  wait();
  reset();
}

void DeviceClock::wait() const { backend_.synchronizeDevice(device_.index()); }

Nanoseconds DeviceClock::between(std::uint32_t from, std::uint32_t to) const {
  const double milliseconds = events_[from].elapsedTime(events_[to]);
  return milliseconds > 0 ? static_cast<Nanoseconds>(std::llround(milliseconds * 1e6)) : 0;
}

namespace {

constexpr std::uint32_t kEmptyPairs = 64;
// Marks around nothing at all miss what a kernel waits for its launch and its end. What CUPTI shows for the
// fill of one number and for an empty kernel on an H200: 0.64 to 0.77 us, 2.9 us less than marks around them.
constexpr Nanoseconds kSmallestKernel = 700;
constexpr Nanoseconds kEmptyDelay = 8'000'000;  // for which 128 marks and the kernels between them queue up
constexpr std::size_t kMarkEvery = 8;           // a mark costs the host as much as many an op
constexpr std::int64_t kSquare = 2048;
constexpr std::size_t kOpsBehind = 48;  // for which the device is delayed at once; they fit into its queue

Nanoseconds median(std::vector<Nanoseconds> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  return *middle;
}

// Around nothing, on the host.
Nanoseconds empty_host_interval() {
  std::vector<Nanoseconds> samples;
  for (std::uint32_t i = 0; i < kEmptyPairs; ++i) {
    const auto begin = now();
    samples.push_back(now() - begin);
  }
  return median(std::move(samples));
}

// Whether running an op gives the device work: not where it only looks at memory in another way, nor where
// none of its tensors is on the device.
bool gives_work(const Graph& graph, const Op& op, std::string_view device) {
  const auto on_device = [&](ValueId id) { return graph.text(graph.values[id].device) == device; };
  bool any = false;
  std::vector<Id> read;
  each_read(graph, op, [&](ValueId id) {
    any = any || on_device(id);
    read.push_back(graph.values[id].storage);
  });
  const auto outputs = graph.outputs_of(op);
  any = any || std::ranges::any_of(outputs, on_device);
  if (!any) return false;
  const auto* rule = find_rule(graph.op_name(op));
  const bool may_be_view =
      rule && (rule->category == Category::kView || rule->category == Category::kMetadata);
  return !may_be_view || outputs.empty() || std::ranges::any_of(outputs, [&](ValueId id) {
    return std::ranges::find(read, graph.values[id].storage) == read.end();
  });
}

}  // namespace

// What marks around the smallest kernel show.
Nanoseconds DeviceClock::around_smallest() {
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  auto smallest = at::zeros({1}, at::TensorOptions().dtype(at::kFloat).device(device_));
  reset();
  delay(kEmptyDelay);
  for (std::uint32_t i = 0; i < kEmptyPairs; ++i) {
    mark();
    smallest.zero_();
    mark();
  }
  wait();
  std::vector<Nanoseconds> samples;
  for (std::uint32_t i = 0; i < kEmptyPairs; ++i) samples.push_back(between(2 * i, 2 * i + 1));
  reset();
  return median(std::move(samples));
}

Nanoseconds DeviceClock::empty_interval() {
  prepare(std::size_t{2} * kEmptyPairs);
  const auto smallest = around_smallest();
  return smallest > kSmallestKernel ? smallest - kSmallestKernel : 0;
}

void DeviceClock::delay(Nanoseconds time) {
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  if (!square_.defined()) {
    square_ = at::zeros({kSquare, kSquare}, at::TensorOptions().dtype(at::kFloat).device(device_));
    product_ = at::empty_like(square_);
    for (int i = 0; i < 3; ++i) at::mm_out(product_, square_, square_);  // the first loads the library
    const auto begin = mark();
    for (int i = 0; i < 8; ++i) at::mm_out(product_, square_, square_);
    const auto end = mark();
    wait();
    product_time_ = std::max<Nanoseconds>(between(begin, end) / 8, 1'000);
    reset();
  }
  for (Nanoseconds given = 0; given < time; given += product_time_) at::mm_out(product_, square_, square_);
}

Timing::Timing(c10::Device device) : device_name_(device.str()) {
  if (!device.is_cpu()) {
    clock_.emplace(device);
    empty_interval_ = clock_->empty_interval();
  } else {
    empty_interval_ = empty_host_interval();
  }
}

void Timing::expect(const Graph& graph) {
  expects_ = true;
  expected_.clear();
  launches_.clear();
  for (const auto& op : graph.ops) {
    expected_.push_back(op.target);
    launches_.push_back(clock_ && gives_work(graph, op, device_name_) ? 1 : 0);
  }
  launch_count_ = static_cast<std::size_t>(std::ranges::count(launches_, 1));
  if (clock_) clock_->prepare(2 * launch_count_ + 2);
}

void Timing::begin_whole() {
  if (clock_) {
    clock_->reset();
    clock_->wait();
  }
  began_ = now();
  if (clock_) first_mark_ = clock_->mark();
}

void Timing::end_whole(std::vector<Nanoseconds>& host, std::vector<Nanoseconds>& device) {
  std::uint32_t last = 0;
  if (clock_) {
    last = clock_->mark();
    clock_->wait();
  }
  host.push_back(now() - began_);
  if (clock_) device.push_back(clock_->between(first_mark_, last));
}

void Timing::begin_run(Pace pace) {
  current_ = {};
  current_.pace = pace;
  current_.ops.reserve(expected_.size());
  next_ = behind_ = 0;
  begin_whole();
  current_.began = began_;
  running_ = true;
}

void Timing::end_run() {
  running_ = false;
  current_.returned = now();
  if (current_.pace == Pace::kByLine) {
    if (clock_) clock_->wait();
    by_line_ = std::move(current_);
    return;
  }
  if (current_.pace == Pace::kPaced) {
    clock_->wait();
    read_marks(current_);
    paced_.push_back(std::move(current_));
    return;
  }
  end_whole(timed_, timed_device_);
  host_per_launch_ = timed_.back() / std::max<std::size_t>(launch_count_, 1);
  if (clock_) read_marks(current_);
  runs_.push_back(std::move(current_));
}

void Timing::abandon_run() {
  running_ = false;
  current_ = {};
}

void Timing::forget_runs() {
  for (auto* times : {&plain_, &timed_, &plain_device_, &timed_device_}) times->clear();
  runs_.clear(), paced_.clear();
}

void Timing::read_marks(Run& run) const {
  for (auto& op : run.ops) {
    if (op.last_mark == kNone) continue;
    op.device_begin = clock_->between(first_mark_, op.first_mark);
    op.device = clock_->between(op.first_mark, op.last_mark);
  }
}

// As expected of the op whose turn it is; where that is another, yes.
bool Timing::launches(TargetId target) {
  if (!clock_) return false;
  if (next_ >= expected_.size() || expected_[next_] != target) return true;
  return launches_[next_++] != 0;
}

// Long enough for the host to get so many ops ahead.
void Timing::keep_behind() {
  if (behind_ == 0) {
    clock_->delay(host_per_launch_ * kOpsBehind * 2);
    behind_ = kOpsBehind;
  }
  --behind_;
}

// Some free runs have a mark behind every eighth op; one that is recorded has no other.
void Timing::mark_before(OpEntry& op) {
  if (current_.pace == Pace::kByLine) return;
  if (current_.pace == Pace::kPaced) keep_behind();
  if (current_.pace == Pace::kPaced || !expects_)
    op.first_mark = clock_->mark();
  else if (runs_.size() % kMarkedRuns == 0 && current_.ops.size() % kMarkEvery == 0)
    op.first_mark = first_mark_;
}

std::size_t Timing::begin_op(TargetId target) {
  std::lock_guard lock(mutex_);
  auto& op = current_.ops.emplace_back(OpEntry{.target = target});
  if (running_ && launches(target)) mark_before(op);
  op.begin = now();
  return current_.ops.size() - 1;
}

void Timing::end_op(std::size_t entry) {
  const auto end = now();
  std::lock_guard lock(mutex_);
  if (entry >= current_.ops.size()) return;  // another thread's, of a run that failed
  auto& op = current_.ops[entry];
  op.end = end;
  if (op.first_mark == kNone) return;
  op.last_mark = clock_->mark();
  // One that waits for the device, to read a number, has let it catch up.
  if (end - op.begin > host_per_launch_ * kOpsBehind / 2) behind_ = 0;
}

std::size_t Timing::enter(ModuleId module) {
  std::lock_guard lock(mutex_);
  current_.scopes.push_back({.module = module, .begin = now()});
  return current_.scopes.size() - 1;
}

void Timing::leave(std::size_t entry) {
  std::lock_guard lock(mutex_);
  if (entry < current_.scopes.size()) current_.scopes[entry].end = now();
}

}  // namespace opscope::engine
