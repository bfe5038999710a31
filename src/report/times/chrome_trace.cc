// The format: "Trace Event Format" of the Chromium project. Times are microseconds with the nanoseconds as
// decimals; what belongs to a run goes in its order, lanes are threads, and the device is a process of its
// own.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "analyse/times/times.h"
#include "base/text.h"
#include "cost/liveness.h"
#include "graph/graph.h"
#include "report/memory/report.h"
#include "report/times/times.h"

namespace opscope {
namespace {

// A process and a thread of it.
struct Lane {
  int pid, tid;
};
constexpr Lane kPhases{1, 1}, kModules{1, 2}, kDevice{2, 1};

// Nanoseconds as microseconds; three decimals of a double are exact for a hundred days.
double microseconds(Nanoseconds time) { return static_cast<double>(time) / 1000; }

class TraceWriter {
 public:
  explicit TraceWriter(const Profile& profile)
      : profile_(profile),
        graph_(*profile.graph),
        measured_(graph_.measurement),
        run_(run_timeline(graph_)),
        splits_(memory_splits(graph_, memory_pieces(graph_))) {
    for (const MemoryKind kind : kStacking)
      if (std::ranges::any_of(splits_, [&](const MemorySplit& split) { return bool(split[kind]); }))
        kinds_.push_back(kind);
  }

  std::string run() {
    json_.begin_object();
    json_.field("displayTimeUnit", "ns");
    json_.object("otherData", [&] { other_data(); });
    json_.key("traceEvents");
    json_.begin_array();
    names();
    collect();
    for (const Event& event : events_) {
      json_.begin_object(kInline);
      event.write();
      json_.end_object();
    }
    json_.end_array();
    json_.end_object();
    return std::move(out_);
  }

 private:
  struct Event {
    Nanoseconds at;
    std::function<void()> write;
  };

  void other_data() {
    const Environment& at = measured_.environment;
    json_.fields("opscope_version", OPSCOPE_VERSION, "model", model_name(graph_));
    json_.field("source", graph_.capture.source);
    const std::pair<const char*, const std::string*> words[] = {
        {"device", &at.device},      {"device_name", &at.device_name},
        {"host", &at.host},          {"system", &at.system},
        {"torch", &at.torch},        {"runtime", &at.runtime},
        {"driver", &at.driver},      {"dtype", &at.dtype},
        {"precision", &at.precision}};
    for (const auto& [key, word] : words)
      if (!word->empty()) json_.field(key, *word);
    if (at.threads != 0) json_.field("threads", at.threads);
    for (const auto& [clock, mhz] : at.clocks_mhz) json_.field("clock_mhz " + clock, mhz);
    json_.fields("runs", measured_.runs, "run", measured_.typical);
    json_.field("predicted_peak_memory_bytes", profile_.memory().peak_memory_bytes());
    if (measured_.peak_memory_bytes != 0)
      json_.field("measured_peak_memory_bytes", measured_.peak_memory_bytes);
  }

  void names() {
    const Environment& at = measured_.environment;
    process(kModules.pid, model_name(graph_), at.host.empty() ? "host" : "host: " + at.host);
    if (!run_.phases.empty()) thread(kPhases, "phases");
    thread(kModules, "modules and ops");
    if (!measured_.on_device) return;
    const std::string& device = at.device_name.empty() ? at.device : at.device_name;
    process(kDevice.pid, device.empty() ? "device" : device, at.device);
    thread(kDevice, "ops on the device");
  }
  void process(int pid, const std::string& text, const std::string& label) {
    metadata("process_name", {pid, 0}, "name", text);
    if (!label.empty()) metadata("process_labels", {pid, 0}, "labels", label);
    metadata("process_sort_index", {pid, 0}, "sort_index", pid);
  }
  void thread(Lane lane, std::string_view text) {
    metadata("thread_name", lane, "name", text);
    metadata("thread_sort_index", lane, "sort_index", lane.tid);
  }
  template <class T>
  void metadata(std::string_view what, Lane lane, std::string_view key, const T& item) {
    json_.begin_object(kInline);
    json_.fields("ph", "M", "name", what, "pid", lane.pid, "tid", lane.tid);
    json_.object("args", [&] { json_.field(key, item); });
    json_.end_object();
  }

  // Everything with a time, in its order; at one time, what is around comes before what is inside.
  void collect() {
    using Slice = const TimelineSlice&;
    const auto add = [&](Slice at, std::function<void()> write) {
      events_.push_back({at.begin, std::move(write)});
    };
    for (Slice s : run_.phases)
      add(s, [this, &s] { slice(s, "phase", graph_.phases[s.id].name, kPhases, [] {}); });
    std::vector<bool> launched(graph_.ops.size()), called(graph_.ops.size());
    for (Slice s : run_.device) launched[s.id] = true;
    for (Slice s : run_.host) {
      add(s, [this, &s] { s.is_op ? op(s, kModules, "op") : module(s); });
      if (!s.is_op) continue;
      called[s.id] = true;
      add(s, [this, &s] { memory(s); });
      if (launched[s.id]) add(s, [this, &s] { arrow("s", s, kModules); });
    }
    for (Slice s : run_.device) {
      add(s, [this, &s] { op(s, kDevice, "device"); });
      if (called[s.id]) add(s, [this, &s] { arrow("f", s, kDevice); });
    }
    // Host slices are in their order already and stay in it.
    std::ranges::stable_sort(events_, {}, &Event::at);
  }

  void head(std::string_view ph, std::string_view category, std::string_view text, Lane lane,
            Nanoseconds at) {
    json_.fields("ph", ph, "cat", category, "name", text, "pid", lane.pid, "tid", lane.tid);
    json_.field("ts", microseconds(at));
  }
  // `write_args` writes what a viewer shows of it.
  void slice(const TimelineSlice& slice, std::string_view category, std::string_view text, Lane lane,
             const std::function<void()>& write_args) {
    head("X", category, text, lane, slice.begin);
    json_.field("dur", microseconds(slice.end - slice.begin));
    json_.object("args", write_args);
  }

  void module(const TimelineSlice& call) {
    const Scope& scope = graph_.scopes[call.id];
    const Module& of = graph_.modules[scope.module];
    std::string text(graph_.path(of));
    if (text.empty()) text = model_name(graph_);
    if (scope.call > 0) text += fmt::format("#{}", scope.call + 1);
    if (call.phase > 0) text += fmt::format(" ({})", graph_.phases[call.phase].name);
    slice(call, "module", text, kModules, [&] { json_.field("type", graph_.text(of.type)); });
  }

  void op(const TimelineSlice& call, Lane lane, std::string_view category) {
    const Op& of = graph_.ops[call.id];
    const OpCost& cost = profile_.costs[call.id];
    slice(call, category, graph_.op_name(of), lane, [&] {
      json_.fields("op", call.id, "module", graph_.path(graph_.module_of(of)));
      json_.field("layer", profile_.layers()[profile_.layer_of()[call.id]].name);
      std::vector<ValueId> reads;
      each_read(graph_, of, [&](ValueId id) { reads.push_back(id); });
      shapes("inputs", reads);
      shapes("outputs", graph_.outputs_of(of));
      Metrics own;
      own += cost;
      json_.fields("flops", cost.flops, "memory_bytes", cost.traffic.total());
      json_.field("arithmetic_intensity", own.arithmetic_intensity());
      json_.field("time_seconds", static_cast<double>(cost.time.value()) * kPicosecond);
      if (of.source != 0) json_.field("source", graph_.text(of.source));
    });
  }
  // "1x3x224x224 float32"
  template <class Values>
  void shapes(std::string_view key, const Values& values) {
    json_.key(key);
    json_.begin_array(kInline);
    for (const ValueId id : values)
      if (id != kNone)
        json_.value(fmt::format("{} {}", shape_text(graph_, id), name(graph_.values[id].dtype)));
    json_.end_array();
  }

  void memory(const TimelineSlice& at) {
    head("C", "memory", "predicted memory (bytes)", {kModules.pid, 0}, at.begin);
    json_.object("args", [&] {
      for (const MemoryKind kind : kinds_) json_.field(name(kind), splits_[at.id][kind]);
    });
  }

  // Both ends carry the same name, category and id; the arriving one belongs to the slice around it.
  void arrow(std::string_view ph, const TimelineSlice& end, Lane lane) {
    head(ph, "launch", "launch", lane, end.begin);
    json_.field("id", end.id + 1);
    if (ph == "f") json_.field("bp", "e");
  }

  const Profile& profile_;
  const Graph& graph_;
  const Measurement& measured_;
  const RunTimeline run_;
  const std::vector<MemorySplit> splits_;
  std::vector<MemoryKind> kinds_;  // in use at some time
  std::vector<Event> events_;
  std::string out_;
  JsonWriter json_{out_};
};

}  // namespace

std::string chrome_trace(const Profile& profile) { return TraceWriter(profile).run() + "\n"; }

}  // namespace opscope
