// The trace as a viewer reads it: the rules of the Trace Event Format, and nothing lost on the way.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>
#include <map>
#include <set>

#include "analyse/measured_models.h"
#include "report/times/times.h"

namespace opscope {
namespace {

struct Read {
  std::string ph, cat, name;
  std::int64_t pid = 0, tid = 0, id = 0;
  std::int64_t begin = 0, length = 0;  // nanoseconds
  bool has_bp = false;
  std::map<std::string, std::uint64_t> counts;
};

std::int64_t nanoseconds(simdjson::dom::element time) {
  return std::llround(time.get_double().value() * 1000);
}

std::vector<Read> read_events(const std::string& text) {
  simdjson::dom::parser parser;
  const simdjson::dom::element document = parser.parse(text);
  std::vector<Read> events;
  for (const simdjson::dom::object event : document["traceEvents"].get_array()) {
    Read& read = events.emplace_back();
    read.ph = std::string(event["ph"].get_string().value());
    read.name = std::string(event["name"].get_string().value());
    read.pid = event["pid"].get_int64(), read.tid = event["tid"].get_int64();
    if (read.ph == "M") continue;
    read.cat = std::string(event["cat"].get_string().value());
    read.begin = nanoseconds(event["ts"]);
    if (read.ph == "X") read.length = nanoseconds(event["dur"]);
    if (read.ph == "s" || read.ph == "f") read.id = event["id"].get_int64();
    read.has_bp = event["bp"].error() == simdjson::SUCCESS;
    if (read.ph == "C")
      for (const auto [key, count] : event["args"].get_object())
        read.counts[std::string(key)] = count.get_uint64();
  }
  return events;
}

// As Perfetto's JSON importer does: a stack of slices for each thread; one that leaves the slice it began in
// is dropped there.
void expect_loads(const std::vector<Read>& events) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Read>> stacks;
  std::int64_t last = 0;
  for (const Read& event : events) {
    if (event.ph == "M") continue;
    ASSERT_GE(event.begin, last) << "out of order";
    last = event.begin;
    if (event.ph != "X") continue;
    auto& stack = stacks[{event.pid, event.tid}];
    while (!stack.empty() && stack.back().begin + stack.back().length <= event.begin &&
           !(event.length == 0 && stack.back().begin == event.begin))
      stack.pop_back();
    if (!stack.empty()) {
      ASSERT_LE(event.begin + event.length, stack.back().begin + stack.back().length) << event.name;
    }
    stack.push_back(event);
  }
}

// Each arrow begins in an op's slice on the host and ends in one on the device.
void expect_arrows(const std::vector<Read>& events, std::size_t count) {
  std::map<std::int64_t, const Read*> starts;
  std::multimap<std::pair<std::int64_t, std::int64_t>, std::string> slices;  // process and begin -> name
  for (const Read& event : events) {
    if (event.ph == "X" && (event.cat == "op" || event.cat == "device"))
      slices.insert({{event.pid, event.begin}, event.name});
    if (event.ph == "s") {
      EXPECT_TRUE(starts.emplace(event.id, &event).second);
    }
  }
  std::set<std::int64_t> ended;
  for (const Read& event : events) {
    if (event.ph != "f") continue;
    EXPECT_TRUE(event.has_bp);
    ASSERT_TRUE(starts.contains(event.id));
    const Read& start = *starts[event.id];
    EXPECT_NE(start.pid, event.pid);
    EXPECT_EQ(slices.find({start.pid, start.begin})->second, slices.find({event.pid, event.begin})->second);
    ended.insert(event.id);
  }
  EXPECT_EQ(starts.size(), count);
  EXPECT_EQ(ended.size(), count);
}

TEST(ChromeTrace, LoadsAndTotalsAgree) {
  for (const bool on_device : {false, true}) {
    const Graph graph = test::measured_resnet18(on_device);
    const Profile profile = make_profile(graph);
    const auto events = read_events(chrome_trace(profile));
    expect_loads(events);
    std::int64_t host = 0, device = 0;
    std::size_t modules = 0, counters = 0;
    for (const Read& event : events) {
      if (event.cat == "op") host += event.length;
      if (event.cat == "device") device += event.length;
      modules += event.cat == "module";
      if (event.ph != "C") continue;
      Count total;
      for (const auto& [kind, bytes] : event.counts) total += bytes;
      EXPECT_EQ(total, profile.memory().weights + profile.memory().alive[counters++]);
    }
    std::int64_t host_samples = 0, device_samples = 0;
    std::size_t launched = 0;
    for (OpId op = 0; op < graph.ops.size(); ++op) {
      host_samples += static_cast<std::int64_t>(graph.measurement.host[op * 3 + 2]);
      if (!on_device) continue;
      device_samples += static_cast<std::int64_t>(graph.measurement.device[op * 3 + 2]);
      launched += graph.measurement.device[op * 3 + 2] > 0;
    }
    EXPECT_EQ(host, host_samples);
    EXPECT_EQ(device, device_samples);
    EXPECT_EQ(modules, graph.scopes.size());
    EXPECT_EQ(counters, graph.ops.size());
    expect_arrows(events, launched);
  }
}

TEST(ChromeTrace, ATrainingStepHasItsPhases) {
  Graph graph = test::measured_training_step(true);
  graph.ops[5].scope = graph.ops[3].scope;
  const auto events = read_events(chrome_trace(make_profile(graph)));
  expect_loads(events);
  std::vector<std::string> phases;
  bool named = false;
  for (const Read& event : events) {
    if (event.cat == "phase") phases.push_back(event.name);
    named = named || event.name == "blocks.1.b (backward)";
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"forward", "backward", "optimizer"}));
  EXPECT_TRUE(named);
}

TEST(ChromeTrace, TimesKeepTheirNanoseconds) {
  Graph graph = test::measured_training_step(false);
  for (OpId op = 0; op < graph.ops.size(); ++op)
    graph.measurement.host_begin[op] += 86'400'000'000'000;  // a day in
  graph.measurement.scope_begin.clear(), graph.measurement.scopes.clear();
  std::size_t ops = 0;
  for (const Read& event : read_events(chrome_trace(make_profile(graph)))) {
    if (event.cat != "op") continue;
    EXPECT_EQ(static_cast<Nanoseconds>(event.begin), graph.measurement.host_begin[ops]);
    EXPECT_EQ(event.length, static_cast<std::int64_t>(60 + ops++));
  }
  EXPECT_EQ(ops, graph.ops.size());
}

TEST(ChromeTrace, SameBytesEachTime) {
  const Graph graph = test::measured_resnet18(true);
  EXPECT_EQ(chrome_trace(make_profile(graph)), chrome_trace(make_profile(graph)));
}

}  // namespace
}  // namespace opscope
