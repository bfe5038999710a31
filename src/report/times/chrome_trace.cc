// The format: "Trace Event Format" of the Chromium project. Times are microseconds with the nanoseconds as
// decimals; what belongs to a run goes in its order, lanes are threads, and the device is a process of its
// own.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "analyse/times/host_time.h"
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

double seconds_of(Count picoseconds) { return static_cast<double>(picoseconds.value()) * kPicosecond; }

struct TraceWriter {
  struct Event {
    Nanoseconds at;
    std::function<void()> write;
  };
  const Profile& profile;
  const Graph& graph = *profile.graph;
  const Measurement& measured = graph.measurement;
  RunTimeline timeline = run_timeline(graph);
  std::vector<MemorySplit> splits = memory_splits(graph, memory_pieces(graph));
  std::vector<MemoryKind> kinds = kinds_in_use(splits);
  std::vector<Event> events{};
  std::string out{};
  JsonWriter json{out};

  std::string run() {
    json.begin_object();
    json.field("displayTimeUnit", "ns");
    json.object("otherData", [&] { other_data(); });
    json.key("traceEvents");
    json.begin_array();
    names();
    collect();
    for (const Event& event : events) {
      json.begin_object(kInline);
      event.write();
      json.end_object();
    }
    json.end_array();
    json.end_object();
    return std::move(out);
  }

  void other_data() {
    const Environment& at = measured.environment;
    json.fields("opscope_version", OPSCOPE_VERSION, "model", model_name(graph));
    json.field("source", graph.capture.source);
    const std::pair<const char*, const std::string*> words[] = {
        {"device", &at.device},      {"device_name", &at.device_name},
        {"host", &at.host},          {"system", &at.system},
        {"torch", &at.torch},        {"runtime", &at.runtime},
        {"driver", &at.driver},      {"dtype", &at.dtype},
        {"precision", &at.precision}};
    for (const auto& [key, word] : words)
      if (!word->empty()) json.field(key, *word);
    if (at.threads != 0) json.field("threads", at.threads);
    for (const auto& [clock, mhz] : at.clocks_mhz) json.field("clock_mhz " + clock, mhz);
    json.fields("runs", measured.runs, "run", measured.typical);
    json.field("predicted_peak_memory_bytes", profile.memory().peak_memory_bytes());
    if (measured.peak_memory_bytes != 0) json.field("measured_peak_memory_bytes", measured.peak_memory_bytes);
  }

  void names() {
    const Environment& at = measured.environment;
    process(kModules.pid, model_name(graph), at.host.empty() ? "host" : "host: " + at.host);
    if (!timeline.phases.empty()) thread(kPhases, "phases");
    thread(kModules, "modules and ops");
    if (!measured.on_device) return;
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
    json.begin_object(kInline);
    json.fields("ph", "M", "name", what, "pid", lane.pid, "tid", lane.tid);
    json.object("args", [&] { json.field(key, item); });
    json.end_object();
  }

  // Everything with a time, in its order; at one time, what is around comes before what is inside.
  void collect() {
    using Slice = const TimelineSlice&;
    const auto add = [&](Slice at, std::function<void()> write) {
      events.push_back({at.begin, std::move(write)});
    };
    for (Slice s : timeline.phases)
      add(s, [this, &s] { slice(s, "phase", graph.phases[s.id].name, kPhases, [] {}); });
    std::vector<bool> launched(graph.ops.size()), called(graph.ops.size());
    for (Slice s : timeline.device) launched[s.id] = true;
    for (Slice s : timeline.host) {
      add(s, [this, &s] { s.is_op ? op(s, kModules, "op") : s.is_outside ? outside(s) : module(s); });
      if (!s.is_op) continue;
      called[s.id] = true;
      add(s, [this, &s] { memory(s); });
      if (launched[s.id]) add(s, [this, &s] { arrow("s", s, kModules); });
    }
    for (Slice s : timeline.device) {
      add(s, [this, &s] { op(s, kDevice, "device"); });
      if (called[s.id]) add(s, [this, &s] { arrow("f", s, kDevice); });
    }
    // Host slices are in their order already and stay in it.
    std::ranges::stable_sort(events, {}, &Event::at);
  }

  void head(std::string_view ph, std::string_view category, std::string_view text, Lane lane,
            Nanoseconds at) {
    json.fields("ph", ph, "cat", category, "name", text, "pid", lane.pid, "tid", lane.tid);
    json.field("ts", microseconds(at));
  }
  // `write_args` writes what a viewer shows of it.
  void slice(const TimelineSlice& slice, std::string_view category, std::string_view text, Lane lane,
             const std::function<void()>& write_args) {
    head("X", category, text, lane, slice.begin);
    json.field("dur", microseconds(slice.end - slice.begin));
    json.object("args", write_args);
  }

  void module(const TimelineSlice& call) {
    const Scope& scope = graph.scopes[call.id];
    const Module& of = graph.modules[scope.module];
    std::string text(graph.path(of));
    if (text.empty()) text = model_name(graph);
    if (scope.call > 0) text += fmt::format("#{}", scope.call + 1);
    if (call.phase > 0) text += fmt::format(" ({})", graph.phases[call.phase].name);
    slice(call, "module", text, kModules, [&] {
      json.field("type", graph.text(of.type));
      if (call.phase > 0)
        json.field("phase", graph.phases[call.phase].name);
      else if (!measured.outside.empty())
        json.field("outside_seconds", seconds_of(outside_of(graph, call.id)));
    });
  }

  // A long stretch without an op, with the line that takes most of it.
  void outside(const TimelineSlice& piece) {
    const OutsideLine* line = piece.line == kNone ? nullptr : &measured.lines[piece.line];
    const bool has_line = line != nullptr && !line->source.empty();
    slice(piece, "outside",
          has_line ? fmt::format("outside ops: {}", source_text(line->source)) : "outside ops", kModules,
          [&] {
            if (has_line) json.field("source", line->source);
            if (line != nullptr && line->waits) json.field("waits", true);
          });
  }

  void op(const TimelineSlice& call, Lane lane, std::string_view category) {
    const Op& of = graph.ops[call.id];
    const OpCost& cost = profile.costs[call.id];
    slice(call, category, graph.op_name(of), lane, [&] {
      json.fields("op", call.id, "module", graph.path(graph.module_of(of)));
      json.field("layer", profile.layers()[profile.layer_of()[call.id]].name);
      std::vector<ValueId> reads;
      each_read(graph, of, [&](ValueId id) { reads.push_back(id); });
      shapes("inputs", reads);
      shapes("outputs", graph.outputs_of(of));
      Metrics own;
      own += cost;
      json.fields("flops", cost.flops, "memory_bytes", cost.traffic.total());
      json.field("arithmetic_intensity", own.arithmetic_intensity());
      json.field("time_seconds", seconds_of(cost.time));
      if (of.source != 0) json.field("source", graph.text(of.source));
    });
  }
  // "1x3x224x224 float32"
  template <class Values>
  void shapes(std::string_view key, const Values& values) {
    json.key(key);
    json.begin_array(kInline);
    for (const ValueId id : values)
      if (id != kNone) json.value(fmt::format("{} {}", shape_text(graph, id), name(graph.values[id].dtype)));
    json.end_array();
  }

  void memory(const TimelineSlice& at) {
    head("C", "memory", "predicted memory (bytes)", {kModules.pid, 0}, at.begin);
    json.object("args", [&] {
      for (const MemoryKind kind : kinds) json.field(name(kind), splits[at.id][kind]);
    });
  }

  // Both ends carry the same name, category and id; the arriving one belongs to the slice around it.
  void arrow(std::string_view ph, const TimelineSlice& end, Lane lane) {
    head(ph, "launch", "launch", lane, end.begin);
    json.field("id", end.id + 1);
    if (ph == "f") json.field("bp", "e");
  }
};

}  // namespace

std::string chrome_trace(const Profile& profile) { return TraceWriter{profile}.run() + "\n"; }

}  // namespace opscope
