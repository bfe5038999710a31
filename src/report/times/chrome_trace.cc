// The format: "Trace Event Format" of the Chromium project. Times are microseconds with the nanoseconds as
// decimals; what belongs to a run goes in its order, lanes are threads, and the device is a process of its
// own.
#include <fmt/format.h>

#include <algorithm>

#include "analyse/times/run_timeline.h"
#include "base/seconds.h"
#include "cost/liveness.h"
#include "graph/reads.h"
#include "report/core/document.h"
#include "report/memory/report.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr int kHost = 1, kDevice = 2;                            // processes
constexpr int kPhaseLane = 1, kModuleLane = 2, kDeviceLane = 1;  // threads of theirs

// Nanoseconds as microseconds; three decimals of a double are exact for a hundred days.
double microseconds(Nanoseconds time) { return static_cast<double>(time) / 1000; }

class TraceWriter {
 public:
  explicit TraceWriter(const Profile& profile)
      : profile_(profile),
        graph_(*profile.graph),
        measured_(graph_.measurement),
        run_(run_timeline(graph_)),
        splits_(memory_splits(graph_, memory_pieces(graph_))) {}

  std::string run() {
    json_.begin_object();
    json_.field("displayTimeUnit", "ns");
    other_data();
    json_.key("traceEvents");
    json_.begin_array();
    names();
    find_kinds();
    collect();
    for (const Event& event : events_) write(event);
    json_.end_array();
    json_.end_object();
    return std::move(out_);
  }

 private:
  enum class Kind : std::uint8_t { kPhase, kModule, kOp, kMemory, kLaunch, kDeviceWork, kArrival };
  struct Event {
    Nanoseconds at;
    Kind kind;
    std::uint32_t index;  // in the lane's slices; the op for kMemory
  };

  void other_data() {
    const Environment& environment = measured_.environment;
    json_.key("otherData");
    json_.begin_object();
    json_.fields("opscope_version", OPSCOPE_VERSION, "model", model_name(graph_));
    json_.field("source", graph_.capture.source);
    const std::pair<const char*, const std::string*> words[] = {
        {"device", &environment.device},      {"device_name", &environment.device_name},
        {"host", &environment.host},          {"system", &environment.system},
        {"torch", &environment.torch},        {"runtime", &environment.runtime},
        {"driver", &environment.driver},      {"dtype", &environment.dtype},
        {"precision", &environment.precision}};
    for (const auto& [key, word] : words)
      if (!word->empty()) json_.field(key, *word);
    if (environment.threads != 0) json_.field("threads", environment.threads);
    for (const auto& [clock, mhz] : environment.clocks_mhz) json_.field("clock_mhz " + clock, mhz);
    json_.fields("runs", measured_.runs, "run", measured_.typical);
    json_.field("predicted_peak_memory_bytes", profile_.memory().peak_memory_bytes());
    if (measured_.peak_memory_bytes != 0)
      json_.field("measured_peak_memory_bytes", measured_.peak_memory_bytes);
    json_.end_object();
  }

  void names() {
    const auto& environment = measured_.environment;
    const std::string host = environment.host.empty() ? "host" : "host: " + environment.host;
    process(kHost, model_name(graph_), host);
    if (!run_.phases.empty()) thread(kHost, kPhaseLane, "phases");
    thread(kHost, kModuleLane, "modules and ops");
    if (!measured_.on_device) return;
    const std::string& device =
        environment.device_name.empty() ? environment.device : environment.device_name;
    process(kDevice, device.empty() ? "device" : device, environment.device);
    thread(kDevice, kDeviceLane, "ops on the device");
  }
  void process(int pid, const std::string& text, const std::string& label) {
    metadata("process_name", pid, 0, "name", text);
    if (!label.empty()) metadata("process_labels", pid, 0, "labels", label);
    metadata("process_sort_index", pid, 0, "sort_index", pid);
  }
  void thread(int pid, int tid, std::string_view text) {
    metadata("thread_name", pid, tid, "name", text);
    metadata("thread_sort_index", pid, tid, "sort_index", tid);
  }
  template <class T>
  void metadata(std::string_view what, int pid, int tid, std::string_view key, const T& item) {
    json_.begin_object(kInline);
    json_.fields("ph", "M", "name", what, "pid", pid, "tid", tid);
    json_.key("args");
    json_.begin_object(kInline);
    json_.field(key, item);
    json_.end_object();
    json_.end_object();
  }

  // Everything with a time, in its order; at one time, what is around comes before what is inside.
  void collect() {
    const auto add = [&](Nanoseconds at, Kind kind, std::size_t index) {
      events_.push_back({at, kind, static_cast<std::uint32_t>(index)});
    };
    for (std::size_t i = 0; i < run_.phases.size(); ++i) add(run_.phases[i].begin, Kind::kPhase, i);
    launched_.assign(graph_.ops.size(), false);
    for (const TimelineSlice& slice : run_.device) launched_[slice.id] = true;
    for (std::size_t i = 0; i < run_.host.size(); ++i) {
      const TimelineSlice& slice = run_.host[i];
      add(slice.begin, slice.is_op ? Kind::kOp : Kind::kModule, i);
      if (!slice.is_op) continue;
      add(slice.begin, Kind::kMemory, slice.id);
      if (launched_[slice.id]) add(slice.begin, Kind::kLaunch, slice.id);
      on_host_.push_back(slice.id);
    }
    std::ranges::sort(on_host_);
    for (std::size_t i = 0; i < run_.device.size(); ++i) {
      add(run_.device[i].begin, Kind::kDeviceWork, i);
      if (std::ranges::binary_search(on_host_, run_.device[i].id))
        add(run_.device[i].begin, Kind::kArrival, i);
    }
    // Host slices are in their order already and stay in it.
    std::ranges::stable_sort(events_, {}, &Event::at);
  }

  void write(const Event& event) {
    json_.begin_object(kInline);
    switch (event.kind) {
      case Kind::kPhase:
        phase(run_.phases[event.index]);
        break;
      case Kind::kModule:
        module(run_.host[event.index]);
        break;
      case Kind::kOp:
        op(run_.host[event.index], kHost, kModuleLane, "op");
        break;
      case Kind::kDeviceWork:
        op(run_.device[event.index], kDevice, kDeviceLane, "device");
        break;
      case Kind::kMemory:
        memory(event);
        break;
      case Kind::kLaunch:
        arrow("s", event.at, event.index, kHost, kModuleLane);
        break;
      case Kind::kArrival:
        arrow("f", event.at, run_.device[event.index].id, kDevice, kDeviceLane);
    }
    json_.end_object();
  }

  void head(std::string_view ph, std::string_view category, std::string_view text, int pid, int tid,
            Nanoseconds at) {
    json_.fields("ph", ph, "cat", category, "name", text, "pid", pid);
    json_.fields("tid", tid, "ts", microseconds(at));
  }
  void slice_head(const TimelineSlice& slice, std::string_view category, std::string_view text, int pid,
                  int tid) {
    head("X", category, text, pid, tid, slice.begin);
    json_.field("dur", microseconds(slice.end - slice.begin));
    json_.key("args");
    json_.begin_object(kInline);
  }

  void phase(const TimelineSlice& slice) {
    slice_head(slice, "phase", graph_.phases[slice.id].name, kHost, kPhaseLane);
    json_.end_object();
  }

  void module(const TimelineSlice& slice) {
    const Scope& scope = graph_.scopes[slice.id];
    const Module& of = graph_.modules[scope.module];
    std::string text(graph_.path(of));
    if (text.empty()) text = model_name(graph_);
    if (scope.call > 0) text += fmt::format("#{}", scope.call + 1);
    if (slice.phase > 0) text += fmt::format(" ({})", graph_.phases[slice.phase].name);
    slice_head(slice, "module", text, kHost, kModuleLane);
    json_.field("type", graph_.text(of.type));
    json_.end_object();
  }

  void op(const TimelineSlice& slice, int pid, int tid, std::string_view category) {
    const Op& of = graph_.ops[slice.id];
    const OpCost& cost = profile_.costs[slice.id];
    slice_head(slice, category, graph_.op_name(of), pid, tid);
    json_.fields("op", slice.id, "module", graph_.path(graph_.modules[graph_.scopes[of.scope].module]));
    json_.field("layer", profile_.layers()[profile_.layer_of()[slice.id]].name);
    std::vector<ValueId> reads;
    each_read(graph_, of, [&](ValueId id) { reads.push_back(id); });
    shapes("inputs", reads);
    shapes("outputs", graph_.outputs_of(of));
    json_.fields("flops", cost.flops, "memory_bytes", cost.traffic.total());
    json_.field("arithmetic_intensity", intensity(cost));
    json_.field("time_seconds", static_cast<double>(cost.time.value()) * kPicosecond);
    if (of.source != 0) json_.field("source", graph_.text(of.source));
    json_.end_object();
  }
  static double intensity(const OpCost& cost) {
    Metrics metrics;
    metrics += cost;
    return metrics.arithmetic_intensity();
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

  void memory(const Event& event) {
    head("C", "memory", "predicted memory (bytes)", kHost, 0, event.at);
    json_.key("args");
    json_.begin_object(kInline);
    for (const MemoryKind kind : kinds_) json_.field(name(kind), splits_[event.index][kind]);
    json_.end_object();
  }
  void find_kinds() {
    for (const MemoryKind kind : kStacking)
      if (std::ranges::any_of(splits_, [&](const MemorySplit& split) { return bool(split[kind]); }))
        kinds_.push_back(kind);
  }

  // Both ends carry the same name, category and id; the arriving one belongs to the slice around it.
  void arrow(std::string_view ph, Nanoseconds at, OpId id, int pid, int tid) {
    head(ph, "launch", "launch", pid, tid, at);
    json_.field("id", id + 1);
    if (ph == "f") json_.field("bp", "e");
  }

  const Profile& profile_;
  const Graph& graph_;
  const Measurement& measured_;
  const RunTimeline run_;
  const std::vector<MemorySplit> splits_;
  std::vector<bool> launched_;  // by op: it has a slice on the device
  std::vector<OpId> on_host_;
  std::vector<MemoryKind> kinds_;  // in use at some time
  std::vector<Event> events_;
  std::string out_;
  JsonWriter json_{out_};
};

}  // namespace

std::string chrome_trace(const Profile& profile) { return TraceWriter(profile).run() + "\n"; }

}  // namespace opscope
