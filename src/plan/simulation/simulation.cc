// Tasks in the order in which they can begin; each waits for what it works on.
#include "plan/simulation/simulation.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "base/choices.h"
#include "base/groups.h"

namespace opscope {
namespace {

constexpr auto kTasks = choices<StageTask, StageTask::kReceive>("compute", "send", "receive");

// All tensors that a part sends to the same others, as one message.
struct Message {
  std::uint32_t from = 0;
  std::vector<std::uint32_t> to{};
  double send_seconds = 0;
  std::vector<double> receive_seconds{};  // by receiver
};

std::vector<Message> messages_of(const CostGraph& graph, const Plan& plan) {
  std::vector<std::uint32_t> part_of(graph.nodes.size(), 0);
  for (std::uint32_t p = 0; p < plan.parts.size(); ++p)
    for (const std::uint32_t node : plan.parts[p].nodes) part_of[node] = p;
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, Message> all;
  for (const CostTensor& tensor : graph.tensors) {
    const std::uint32_t from = part_of[tensor.producer];
    std::vector<std::uint32_t> to;
    for (const std::uint32_t consumer : tensor.consumers)
      if (part_of[consumer] != from) to.push_back(part_of[consumer]);
    sort_unique(to);
    // What a backward pass sends is part of another run of the devices.
    std::erase_if(to, [&](std::uint32_t part) { return part < from; });
    if (to.empty()) continue;
    const auto seconds = [&](std::uint32_t part) {
      const std::uint32_t c = plan.parts[part].device_class;
      return graph.classes[c].transfers_free ? 0 : tensor.seconds[c];
    };
    Message& message = all[{from, to}];
    message.from = from, message.to = to, message.send_seconds += seconds(from);
    message.receive_seconds.resize(to.size(), 0);
    for (std::size_t i = 0; i < to.size(); ++i) message.receive_seconds[i] += seconds(to[i]);
  }
  std::vector<Message> messages;
  for (auto& [key, message] : all) messages.push_back(std::move(message));
  return messages;
}

class Simulator {
 public:
  Simulator(const CostGraph& graph, const Plan& plan, const SimulationOptions& options)
      : graph_(graph), plan_(plan), messages_(messages_of(graph, plan)) {
    const std::size_t parts = plan.parts.size();
    result_.options = options;
    std::size_t& runs = result_.options.runs;
    constexpr std::size_t kFewest = 16, kMost = 4096;
    if (runs == 0) runs = std::clamp(8 * options.in_flight, kFewest, kMost);
    waits_for_.assign(parts, 0);
    for (const Message& message : messages_)
      for (const std::uint32_t to : message.to) ++waits_for_[to];
    resources_.resize(parts * kStageTasks);
    received_.assign(runs, waits_for_);
    left_.assign(runs, parts);
    result_.begins.assign(runs, 0), result_.ends.assign(runs, 0);
  }

  PlanSimulation run() {
    for (std::size_t r = 0; r < std::min(result_.options.in_flight, result_.options.runs); ++r) admit(r, 0);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      if (event.ends)
        finish(event.task);
      else
        resource(event.task).waiting.push(event.task);
      // All that happens at once is known before a resource takes its next task.
      if (events_.empty() || events_.top().at > now_) start_all();
    }
    std::ranges::stable_sort(result_.tasks, {}, &SimulatedTask::begin);
    summarise();
    return std::move(result_);
  }

 private:
  struct Task {
    std::size_t run = 0;
    StageTask kind = StageTask::kCompute;
    std::uint32_t part = 0;
    std::size_t message = 0, receiver = 0;
    double sent_at = 0;  // of what is received: when the last of it leaves the sender

    // Older runs first; of one run what it sends before what it receives.
    std::tuple<std::size_t, bool, StageTask, std::uint32_t, std::size_t> order() const {
      return {run, kind == StageTask::kReceive, kind, part, message};
    }
    bool operator<(const Task& other) const { return order() > other.order(); }
  };
  struct Resource {
    bool busy = false;
    std::priority_queue<Task> waiting{};
  };
  struct Event {
    double at = 0;
    bool ends = false;  // the task ends; else it may begin
    Task task{};
    bool operator<(const Event& other) const {  // the first comes out of the queue first
      return std::tuple(at, !ends, task.order()) > std::tuple(other.at, !other.ends, other.task.order());
    }
  };

  // One resource for all that a device does, or one for each kind of task.
  Resource& resource(const Task& task) {
    return resources_[task.part * kStageTasks + (graph_.overlap ? static_cast<std::size_t>(task.kind) : 0)];
  }
  void ready(double at, const Task& task) { events_.push({.at = at, .task = task}); }
  void admit(std::size_t run, double at) {
    result_.begins[run] = at;
    for (std::uint32_t p = 0; p < waits_for_.size(); ++p)
      if (waits_for_[p] == 0) ready(at, {.run = run, .part = p});
  }
  void start_all() {
    for (Resource& one : resources_) {
      if (one.busy || one.waiting.empty()) continue;
      const Task task = one.waiting.top();
      one.waiting.pop();
      one.busy = true;
      start(task);
    }
  }

  double seconds_of(const Task& task) const {
    if (task.kind == StageTask::kCompute) return plan_.parts[task.part].compute_seconds;
    const Message& message = messages_[task.message];
    return task.kind == StageTask::kSend ? message.send_seconds : message.receive_seconds[task.receiver];
  }
  // A tensor reaches a receiver as fast as the slower link lets it, or, where each end's time counts by
  // itself, one after the other.
  void start(const Task& task) {
    const double end = now_ + seconds_of(task);
    events_.push({.at = end, .ends = true, .task = task});
    if (task.kind == StageTask::kSend && graph_.point_to_point) send(task, now_, end);
    const std::uint32_t other = task.kind == StageTask::kCompute ? task.part
                                : task.kind == StageTask::kSend  ? messages_[task.message].to.front()
                                                                 : messages_[task.message].from;
    if (end > now_)
      result_.tasks.push_back({task.kind, task.part, static_cast<std::uint32_t>(task.run), other, now_, end});
  }
  void send(const Task& task, double at, double sent_at) {
    const Message& message = messages_[task.message];
    for (std::size_t i = 0; i < message.to.size(); ++i)
      ready(at, {.run = task.run,
                 .kind = StageTask::kReceive,
                 .part = message.to[i],
                 .message = task.message,
                 .receiver = i,
                 .sent_at = sent_at});
  }

  void finish(const Task& task) {
    resource(task).busy = false;
    if (task.kind == StageTask::kCompute) finish_computing(task);
    if (task.kind == StageTask::kSend && !graph_.point_to_point) send(task, now_, now_);
    if (task.kind == StageTask::kReceive && --received_[task.run][task.part] == 0)
      ready(std::max(now_, task.sent_at), {.run = task.run, .part = task.part});
  }
  void finish_computing(const Task& task) {
    for (std::size_t m = 0; m < messages_.size(); ++m)
      if (messages_[m].from == task.part)
        ready(now_, {.run = task.run, .kind = StageTask::kSend, .part = task.part, .message = m});
    if (--left_[task.run] > 0) return;
    result_.ends[task.run] = now_;
    const std::size_t next = task.run + result_.options.in_flight;
    if (next < result_.options.runs) admit(next, now_);
  }

  // The steady state: the second half of all runs.
  void summarise() {
    const std::size_t runs = result_.options.runs, half = runs / 2;
    const double from = result_.ends[half - 1], to = result_.ends[runs - 1];
    result_.first_seconds = result_.ends[0];
    result_.period_seconds = (to - from) / static_cast<double>(runs - half);
    double sum = 0;
    for (std::size_t r = half; r < runs; ++r) sum += result_.ends[r] - result_.begins[r];
    result_.run_seconds = sum / static_cast<double>(runs - half);
    result_.busy.assign(plan_.parts.size(), std::vector<double>(kStageTasks, 0));
    // The last runs leave devices idle behind them: what each did for one run, over the period.
    for (const SimulatedTask& task : result_.tasks)
      if (task.run >= half && result_.period_seconds > 0)
        result_.busy[task.part][static_cast<std::size_t>(task.kind)] +=
            (task.end - task.begin) / (result_.period_seconds * static_cast<double>(runs - half));
  }

  const CostGraph& graph_;
  const Plan& plan_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> waits_for_;              // by part: messages
  std::vector<Resource> resources_;                   // by part and kind of task
  std::vector<std::vector<std::uint32_t>> received_;  // by run and part: messages that are still missing
  std::vector<std::size_t> left_;                     // by run: parts that are not done
  std::priority_queue<Event> events_;
  double now_ = 0;
  PlanSimulation result_;
};

}  // namespace

std::string_view name(StageTask task) { return kTasks[task]; }

PlanSimulation simulate(const CostGraph& graph, const Plan& plan, const SimulationOptions& options) {
  return Simulator(graph, plan, options).run();
}

}  // namespace opscope
