#include "analyse/times/host_time.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

constexpr double kLeastGapShare = 0.01;  // of a run: less is not worth a person's time
constexpr double kFarAbove = 5;          // times the usual gap
constexpr double kLongGap = 100e-6;      // seconds: no call of an op takes Python and the dispatcher so long

// Half the sum of the two in the middle is a whole number of picoseconds.
Count median(std::span<const Nanoseconds> samples) {
  std::vector<Nanoseconds> runs;
  for (const Nanoseconds sample : samples)
    if (sample != kUnmeasured) runs.push_back(sample);
  if (runs.empty()) return {};
  std::ranges::sort(runs);
  return (Count{runs[(runs.size() - 1) / 2]} + Count{runs[runs.size() / 2]}) * Count{500};
}

double in_seconds(Count picoseconds) { return static_cast<double>(picoseconds) * kPicosecond; }

class OutsideLines {
 public:
  explicit OutsideLines(const Graph& graph) : graph_(graph), measured_(graph.measurement) {}

  std::vector<OutsideRow> rows() {
    for (const OutsideLine& line : measured_.lines) known_[line.scope] += line.time;
    for (const OutsideLine& line : measured_.lines) add(line);
    for (ScopeId scope = 0; scope < graph_.scopes.size(); ++scope)
      if (!known_.contains(scope)) add_scope(scope);
    std::vector<OutsideRow> rows;
    for (const auto& [key, row] : rows_)
      if (row.seconds > 0) rows.push_back(row);
    std::ranges::stable_sort(rows, std::ranges::greater{}, &OutsideRow::seconds);
    return rows;
  }

 private:
  // The run that was followed says in which proportion; how long it takes in all is of the others.
  void add(const OutsideLine& line) {
    const double share = static_cast<double>(line.time) / static_cast<double>(known_[line.scope]);
    OutsideRow row{.source = line.source,
                   .module = graph_.scopes[line.scope].module,
                   .after = line.after,
                   .before = line.before,
                   .count = line.count,
                   .seconds = share * in_seconds(outside_of(graph_, line.scope)),
                   .waits = line.waits};
    add(row);
  }
  void add_scope(ScopeId scope) {
    OutsideRow row{
        .module = graph_.scopes[scope].module, .count = 1, .seconds = in_seconds(outside_of(graph_, scope))};
    add(row);
  }
  void add(const OutsideRow& row) {
    const ModuleId of = row.source.empty() ? row.module : kNone;
    const auto [found, added] = rows_.try_emplace({row.source, of, row.waits}, row);
    OutsideRow& sum = found->second;
    if (added) return void(longest_[&sum] = row.seconds);
    sum.count += row.count, sum.seconds += row.seconds;
    if (row.module != sum.module) ++sum.modules;
    if (row.seconds <= longest_[&sum]) return;
    longest_[&sum] = row.seconds;
    sum.module = row.module, sum.after = row.after, sum.before = row.before;
  }

  const Graph& graph_;
  const Measurement& measured_;
  std::map<ScopeId, Nanoseconds> known_;
  std::map<std::tuple<std::string_view, ModuleId, bool>, OutsideRow> rows_;
  std::map<const OutsideRow*, double> longest_;
};

// The gap of which as many are shorter as are longer.
double usual_gap(std::vector<OutsideRow> rows) {
  std::ranges::sort(rows, {}, &OutsideRow::each);
  std::uint64_t all = 0, seen = 0;
  for (const OutsideRow& row : rows) all += row.count;
  for (const OutsideRow& row : rows) {
    seen += row.count;
    if (2 * seen >= all) return row.each();
  }
  return 0;
}

bool is_true(const Argument& argument) {
  return argument.kind == ArgumentKind::kBool && argument.integer != 0;
}

// The devices that an op brings data from and to; empty where it stays.
struct Way {
  std::string_view from, to;
  Count bytes;
};
Way way_of(const Graph& graph, const Op& op) {
  const OpRule* rule = find_rule(graph.op_name(op));
  const auto outputs = graph.outputs_of(op);
  if (!rule || rule->category != Category::kCopy || outputs.empty()) return {};
  const Value& made = graph.values[outputs.front()];
  Way way{};
  each_read(graph, op, [&](ValueId id) {
    const Value& read = graph.values[id];
    if (read.device != made.device && way.from.empty())
      way = {graph.text(read.device), graph.text(made.device), bytes_of(graph, made)};
  });
  return way;
}

// Whether Python, or the size of the next tensor, has to wait for its result.
bool waits(const Graph& graph, const Op& op) {
  const std::string_view name = graph.op_name(op);
  const OpFacts& facts = facts_of(name);
  if (facts.is(Fact::kGivesNumber) || facts.is(Fact::kSizedByData)) return true;
  if (short_op_name(name) != "index") return false;
  bool by_mask = false;
  each_read(graph, op, [&](ValueId id, const Argument& argument) {
    by_mask |= argument.kind == ArgumentKind::kTensorList && graph.values[id].dtype == DType::kBool;
  });
  return by_mask;
}

// A blocking copy returns when it is done.
bool blocks(const Graph& graph, const Op& op) {
  for (const Argument& argument : graph.arguments_of(op))
    if (graph.text(argument.name) == "non_blocking" && is_true(argument)) return false;
  return true;
}

class HostOpRows {
 public:
  explicit HostOpRows(const Profile& profile) : profile_(profile), graph_(*profile.graph) {}

  void fill(HostTime& host) {
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      if (const Way way = way_of(graph_, graph_.ops[op]); !way.from.empty())
        add(transfers_, op, way);
      else if (waits(graph_, graph_.ops[op]))
        add(waits_, op, {});
    }
    host.waits = sorted(waits_), host.transfers = sorted(transfers_);
  }

 private:
  using Rows =
      std::map<std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>, HostOps>;

  void add(Rows& rows, OpId id, const Way& way) {
    const Op& op = graph_.ops[id];
    const std::string_view name = graph_.op_name(op), source = graph_.text(op.source);
    HostOps& row = rows[{name, source, way.from, way.to}];
    if (row.ops.empty())
      row.op = name, row.source = source, row.from = way.from, row.to = way.to,
      row.module = graph_.scopes[op.scope].module;
    row.ops.push_back(id);
    row.bytes += way.bytes;
    row.seconds += in_seconds(host_time_of(graph_, profile_.costs, id));
  }
  static std::vector<HostOps> sorted(const Rows& rows) {
    std::vector<HostOps> list;
    for (const auto& [key, row] : rows) list.push_back(row);
    std::ranges::stable_sort(list, std::ranges::greater{}, &HostOps::seconds);
    return list;
  }

  const Profile& profile_;
  const Graph& graph_;
  Rows waits_, transfers_;
};

std::optional<DeviceGaps> gaps_of_typical_run(const Graph& graph) {
  const Measurement& measured = graph.measurement;
  if (!measured.on_device || measured.host_begin.empty() || measured.device_begin.empty() ||
      measured.host.empty() || measured.device.empty())
    return std::nullopt;
  std::vector<DeviceStep> steps;
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    const auto sample = [&](const std::vector<Nanoseconds>& of) {
      return of[std::size_t{op} * measured.runs + measured.typical];
    };
    if (measured.host_begin[op] == kUnmeasured || sample(measured.host) == kUnmeasured) continue;
    DeviceStep step{.called = seconds(measured.host_begin[op])};
    step.returned = step.called + seconds(sample(measured.host));
    if (measured.device_begin[op] != kUnmeasured && sample(measured.device) != kUnmeasured)
      step.begin = seconds(measured.device_begin[op]),
      step.end = step.begin + seconds(sample(measured.device));
    const Op& of = graph.ops[op];
    step.waits = waits(graph, of) || (!way_of(graph, of).from.empty() && blocks(graph, of));
    steps.push_back(step);
  }
  return device_gaps(steps);
}

}  // namespace

Count outside_of(const Graph& graph, ScopeId scope) {
  const Measurement& measured = graph.measurement;
  return median(Measurement::samples(measured.outside, scope, measured.runs));
}

Count host_time_of(const Graph& graph, std::span<const OpCost> costs, OpId op) {
  const Measurement& measured = graph.measurement;
  if (!measured.on_device) return costs[op].time;
  return measured.host.empty() ? Count{} : median(Measurement::samples(measured.host, op, measured.runs));
}

void add_own_walls(const Graph& graph, std::span<const OpCost> costs, std::vector<Metrics>& by_module) {
  const Measurement& measured = graph.measurement;
  if (measured.outside.empty()) return;
  for (OpId op = 0; op < graph.ops.size(); ++op)
    by_module[graph.scopes[graph.ops[op].scope].module].wall_time += host_time_of(graph, costs, op);
  for (ScopeId scope = 0; scope < graph.scopes.size(); ++scope) {
    Metrics& own = by_module[graph.scopes[scope].module];
    const Count outside = outside_of(graph, scope);
    own.outside_time += outside, own.wall_time += outside;
  }
}

void add_wall(const Graph& graph, std::span<const OpCost> costs, Metrics& totals) {
  if (graph.measurement.outside.empty()) return;
  std::vector<Metrics> by_module(graph.modules.size());
  add_own_walls(graph, costs, by_module);
  for (const Metrics& own : by_module)
    totals.outside_time += own.outside_time, totals.wall_time += own.wall_time;
}

DeviceGaps device_gaps(std::span<const DeviceStep> steps) {
  DeviceGaps gaps;
  double done = 0;       // the device, with all that was called so far
  double caught_up = 0;  // when a call that waited for it returned
  double returned = 0;
  for (const DeviceStep& step : steps) {
    if (step.end > step.begin) {
      const double idle = std::max(step.begin - done, 0.0);
      gaps.busy += step.end - step.begin;
      gaps.host_late += idle;
      // Where the host was waiting when the device ran dry, nothing could have come.
      if (caught_up >= done && done > 0) gaps.after_wait += idle;
      done = std::max(done, step.end);
    }
    if (step.waits) {
      gaps.waiting += std::max(std::min(done, step.returned) - step.called, 0.0);
      caught_up = step.returned;
    }
    returned = std::max(returned, step.returned);
  }
  gaps.at_end = std::max(done - returned, 0.0);
  return gaps;
}

HostTime host_time(const Profile& profile) {
  HostTime host;
  host.outside = profile.totals.outside_seconds(), host.wall = profile.totals.wall_seconds();
  if (has_wall(profile)) host.lines = OutsideLines(*profile.graph).rows();
  host.usual_gap = usual_gap(host.lines);
  HostOpRows(profile).fill(host);
  host.device = gaps_of_typical_run(*profile.graph);
  return host;
}

bool is_long_gap(const HostTime& host, const OutsideRow& row) {
  return row.seconds >= kLeastGapShare * host.wall &&
         (row.each() >= kLongGap || row.each() >= kFarAbove * host.usual_gap);
}

}  // namespace opscope
