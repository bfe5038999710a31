// Groups -> Partition: numbers them in an order in which they can run, adds up what is in each and says what
// it is called, and tells what runs between them: who depends on whom, why they are apart, what that costs.
#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_set>

#include "base/choices.h"
#include "graph/graph.h"
#include "partition/groups.h"

namespace opscope {
namespace {

constexpr std::size_t kMaxNames = 4;

// "aten::conv2d" -> "conv", "aten::add_" -> "add".
std::string_view op_word(const Graph& graph, OpId op) {
  const std::string_view word = op_type(graph.op_name(graph.ops[op]));
  return word == "conv1d" || word == "conv2d" || word == "conv3d" || word == "convolution" ? "conv" : word;
}

bool has(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Folded rows, a root of what that gave for each row, and back over all of their elements: a norm. A root of
// each element, as in an optimizer's step, or of a sum that is the result, as in a distance, is none.
bool normalises(const Groups& groups, std::span<const OpId> members, const Loop& loop) {
  bool has_root = false;
  for (const OpId op : members) {
    const Trait& trait = groups.traits[op];
    const auto word = op_word(groups.graph, op);
    if (has_root && trait.role == Role::kPointwise && trait.out == loop.domain) return true;
    has_root |= trait.out == loop.rows && (word == "rsqrt" || word == "sqrt" || word == "std");
  }
  return false;
}

// Norms and softmax written out by hand.
std::string_view row_word(std::span<const std::string_view> words, bool is_norm) {
  const bool is_centred =
      has(words, "var") || has(words, "var_mean") || has(words, "std") || has(words, "sub");
  if (is_norm && is_centred) return "layer_norm";
  if (is_norm && has(words, "mean")) return "rms_norm";
  if (has(words, "exp") && has(words, "sum") && has(words, "div")) return "softmax";
  return "";
}

// "conv+batch_norm+relu"
std::string type_of(const Groups& groups, std::span<const OpId> members, const Loop& loop) {
  if (loop.form == Form::kAttention) return "attention";
  if (loop.form == Form::kSqueezeExcite) return "squeeze_excite";
  std::vector<std::string_view> words;
  std::string_view anchor, rows;
  for (const OpId op : members) {
    const Role role = groups.traits[op].role;
    if (role == Role::kRide) continue;
    const auto word = op_word(groups.graph, op);
    if (role == Role::kAnchor && anchor.empty()) anchor = word;
    if (role == Role::kRows || role == Role::kWindow) rows = word;
    if (!has(words, word)) words.push_back(word);
  }
  if (words.size() == 1) return std::string(words[0]);
  if (!anchor.empty())
    return words.size() <= kMaxNames ? join(words, "+") : std::string(anchor) + "+pointwise";
  if (!rows.empty())
    if (const auto known = row_word(words, normalises(groups, members, loop)); !known.empty())
      return std::string(known);
  if (words.size() <= kMaxNames) return join(words, "+");
  return rows.empty() ? "pointwise" : "pointwise+" + std::string(rows);
}

// Members by subgraph, in an order in which the subgraphs can run.
void number_subgraphs(const Groups& groups, Partition& partition) {
  std::vector<std::pair<std::uint32_t, GroupId>> order;
  for (OpId op = 0; op < groups.graph.ops.size(); ++op)
    if (groups.order.group_of(op) == op && groups.loops[op].working != 0)
      order.emplace_back(groups.order.position(op), op);
  std::ranges::sort(order);
  partition.of_op.assign(groups.graph.ops.size(), kNone);
  for (const auto& [position, group] : order) {
    const auto id = static_cast<SubgraphId>(partition.subgraphs.size());
    const auto begin = partition.ops.size();
    groups.order.each_member(group, [&](OpId op) {
      partition.ops.push_back(op);
      partition.of_op[op] = id;
    });
    std::sort(partition.ops.begin() + static_cast<std::ptrdiff_t>(begin), partition.ops.end());
    partition.subgraphs.push_back({.ops = {static_cast<std::uint32_t>(begin),
                                           static_cast<std::uint32_t>(partition.ops.size() - begin)}});
  }
}

// Work, bytes before fusing, name, module, confidence.
void add_up(const Groups& groups, Partition& partition) {
  TextBlocks texts;
  std::unordered_set<std::string_view> types;  // each written once
  for (Subgraph& sum : partition.subgraphs) {
    const auto members = partition.ops_of(sum);
    const Loop& loop = groups.loops[groups.order.group_of(members[0])];
    std::optional<std::pair<Count, Count>> most;  // FLOPs and bytes of the costliest op
    ScopeId scope = kNone;
    Count rows{Count::kMax};
    for (const OpId op : members) {
      if (groups.flow.works[op] == 0) continue;
      const OpCost& cost = groups.costs[op];
      const Trait& trait = groups.traits[op];
      sum.work += cost.work;
      sum.flops += cost.flops;
      sum.unfused_bytes += cost.traffic.total();
      sum.confidence = std::max(sum.confidence, cost.confidence);
      sum.parallelism = std::max(sum.parallelism, trait.out);
      if (trait.role == Role::kRows) rows = std::min(rows, trait.rows);
      if (const auto own = cost.weight(); !most || own > *most) most = own, sum.category = trait.category;
      const ScopeId own_scope = groups.graph.ops[op].scope;
      scope = scope == kNone ? own_scope : common_scope(groups.graph, scope, own_scope);
    }
    sum.module = groups.graph.scopes[scope].module;
    // Rows can be folded independently of one another, and no finer.
    sum.parallelism = std::min(sum.parallelism, rows);
    sum.working_set_bytes = working_set(groups, members, loop);
    if (loop.form == Form::kAttention) sum.category = Category::kAttention;
    const std::string type = type_of(groups, members, loop);
    const auto known = types.find(type);
    sum.type = known != types.end() ? *known : *types.insert(texts.add(type)).first;
    partition.unfused_bytes += sum.unfused_bytes;
  }
  partition.texts = std::move(texts).take();
}

// A read across a border.
struct Crossing {
  SubgraphId from = 0, to = 0;
  OpId writer = 0, reader = 0;
  WriteId write = 0;
  Count bytes{};
  Border why = Border::kStrategy;
};

std::vector<Crossing> crossings(const Groups& groups, const Partition& partition) {
  std::vector<Crossing> found;
  for (SubgraphId to = 0; to < partition.subgraphs.size(); ++to)
    for (const OpId reader : partition.ops_of(partition.subgraphs[to]))
      for (const Read& read : groups.flow.reads_of(reader)) {
        if (read.write == kNone) continue;
        const OpId writer = groups.writer(read);
        const SubgraphId from = partition.of_op[writer];
        if (from != to)
          found.push_back({from, to, writer, reader, read.write, read.bytes, groups.why_of(read)});
      }
  return found;
}

// Why it begins: what it takes most of. Why it ends: the one reason, or a fork where there are several.
void tell_borders(const std::vector<Crossing>& all, Partition& partition) {
  std::vector<Count> most_in(partition.subgraphs.size()), most_out(partition.subgraphs.size());
  for (const Crossing& each : all) {
    Subgraph& to = partition.subgraphs[each.to];
    if (to.begins_at == kNone || each.bytes > most_in[each.to]) {
      most_in[each.to] = each.bytes;
      to.begins = each.why, to.begins_at = each.writer;
    }
    Subgraph& from = partition.subgraphs[each.from];
    const bool is_first = from.ends_at == kNone;
    if (is_first || each.bytes > most_out[each.from]) {
      most_out[each.from] = each.bytes;
      from.ends_at = each.reader;
    }
    from.ends = is_first || from.ends == each.why ? each.why : Border::kFork;
  }
}

// Without a reader outside: the model's result, or nobody's.
void tell_ends(const Groups& groups, Partition& partition) {
  for (Subgraph& subgraph : partition.subgraphs) {
    if (subgraph.ends_at != kNone) continue;
    bool is_kept = false;
    for (const OpId op : partition.ops_of(subgraph))
      for (const Write& write : groups.flow.writes_of(op)) is_kept |= write.is_kept;
    subgraph.ends = is_kept ? Border::kOutput : Border::kUnread;
  }
}

void tell_dependencies(std::vector<Crossing>& all, Partition& partition) {
  std::ranges::sort(all, {}, [](const Crossing& c) { return std::tuple(c.to, c.from, c.write, c.reader); });
  for (const Crossing& each : all) {
    Range& range = partition.subgraphs[each.to].depends_on;
    if (range.size == 0) range.begin = static_cast<std::uint32_t>(partition.refs.size());
    if (range.size != 0 && partition.refs.back() == each.from) continue;
    partition.refs.push_back(each.from);
    ++range.size;
  }
}

// By write: read by one subgraph outside only, and by nobody after the run.
std::vector<char> has_one_taker(const Groups& groups, const std::vector<Crossing>& all) {
  std::vector<SubgraphId> taker(groups.flow.writes.size(), kNone);
  std::vector<char> is_one(groups.flow.writes.size(), 1);
  for (const Crossing& each : all) {
    const SubgraphId before = std::exchange(taker[each.write], each.to);
    if (before != kNone && before != each.to) is_one[each.write] = 0;
  }
  for (std::size_t i = 0; i < is_one.size(); ++i)
    if (groups.flow.writes[i].is_kept || groups.flow.writes[i].next != kNone) is_one[i] = 0;
  return is_one;
}

// Needs the crossings sorted by pair, the reads of one write side by side.
void tell_missed(const Groups& groups, const std::vector<Crossing>& all, Partition& partition) {
  const auto is_one = has_one_taker(groups, all);
  Count most{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Crossing& each = all[i];
    const bool is_same_pair = i > 0 && all[i - 1].from == each.from && all[i - 1].to == each.to;
    if (!is_same_pair) partition.missed.push_back({each.from, each.to, each.why, {}}), most = {};
    MissedFusion& missed = partition.missed.back();
    missed.bytes += each.bytes;
    if (is_one[each.write] != 0 && !(is_same_pair && all[i - 1].write == each.write))
      missed.bytes += groups.flow.writes[each.write].bytes;
    if (each.bytes > most) most = each.bytes, missed.why = each.why;
  }
  std::ranges::stable_sort(partition.missed, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
}

constexpr auto kStrategies = choices<Strategy, Strategy::kFused>("none", "layer", "fused");

struct BorderWords {
  std::string_view name, explanation;
};

constexpr std::array kBorders{
    BorderWords{"input", "it reads inputs and weights of the model"},
    BorderWords{"output", "its result is an output of the model"},
    BorderWords{"anchor", "the consumer needs its own kernel"},
    BorderWords{"barrier", "the op on the other side cannot be fused"},
    BorderWords{"fork", "several consumers; fused with another one, or with none"},
    BorderWords{"join", "joins several branches; fused with another one"},
    BorderWords{"shape_change", "the consumer iterates over another shape"},
    BorderWords{"reduction", "the consumer needs the whole result before it can start"},
    BorderWords{"size_limit", "the fused kernel would be too large"},
    BorderWords{"cycle", "fusing would create a cycle between kernels"},
    BorderWords{"strategy", "--partition ends the subgraph here"},
    BorderWords{"unread", "nothing reads its result"},
    BorderWords{"phase", "the consumer is in another phase of the training step"},
};
static_assert(kBorders.size() == static_cast<std::size_t>(Border::kPhase) + 1);

}  // namespace

Partition assemble(const Groups& groups) {
  Partition partition;
  partition.options = groups.options;
  number_subgraphs(groups, partition);
  add_up(groups, partition);
  add_traffic(groups, partition);
  auto all = crossings(groups, partition);
  tell_borders(all, partition);
  tell_ends(groups, partition);
  tell_dependencies(all, partition);
  tell_missed(groups, all, partition);
  return partition;
}

std::string_view name(Strategy strategy) { return kStrategies[strategy]; }
Strategy strategy_from_name(std::string_view text) {
  return kStrategies.parse(text, "no partition strategy called", "",
                           "none (one op each), layer (a leaf module each) or fused (one kernel each)");
}

std::string_view name(Border border) { return kBorders[static_cast<std::size_t>(border)].name; }
std::string_view explanation(Border border) { return kBorders[static_cast<std::size_t>(border)].explanation; }

std::string_view why_not_partitioned(const Graph& graph, std::span<const OpCost> costs, OpId op) {
  const OpRule* rule = costs[op].rule;
  if (does_work(costs[op])) return "";
  if (rule == nullptr) return "it is declared to cost nothing";
  if (rule->category == Category::kMetadata) return "it reads sizes only";
  if (rule->fusion == Fusion::kView) return "a view: nothing is computed or moved";
  if (rule->category == Category::kCreate) return "it only sets memory aside";
  if (graph.outputs_of(graph.ops[op]).empty()) return "it gives no tensor";
  return "it returns its argument as it is, or works on no elements";
}

}  // namespace opscope
