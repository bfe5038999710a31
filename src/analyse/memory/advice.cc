// What would lower the peak: each change is put into the timeline, and the peak is taken again.
#include "analyse/memory/advice.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/choices.h"
#include "graph/graph.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

constexpr std::size_t kPatternsTried = 24;  // a sweep over the run each

using WideSum = unsigned __int128;

struct Pattern {
  std::vector<MemoryChange> changes{};
  std::size_t places = 0;
  OpId last_place = kNone;
  std::string where{}, what{};
  Count bytes{};
};

std::vector<Pattern> group(const std::vector<Chance>& chances) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> index;
  std::vector<Pattern> patterns;
  for (const auto& chance : chances) {
    const auto [found, is_new] = index.try_emplace({chance.where, chance.what}, patterns.size());
    if (is_new) patterns.push_back({.where = chance.where, .what = chance.what});
    auto& pattern = patterns[found->second];
    pattern.changes.push_back(chance.change);
    pattern.bytes += chance.change.bytes;
    if (std::exchange(pattern.last_place, chance.place) != chance.place) ++pattern.places;
  }
  std::ranges::stable_sort(patterns, std::greater{}, &Pattern::bytes);
  return patterns;
}

// PyTorch's attention computes in float32 whatever it is given, and keeps for backward what that made.
bool is_kept_by_attention(const Graph& graph, const MemoryPiece& piece) {
  if (piece.held.made == kNone) return false;
  const auto& op = graph.ops[piece.held.made];
  return short_op_name(graph.op_name(op)) == "scaled_dot_product_attention" &&
         std::ranges::find(graph.outputs_of(op), piece.value) == graph.outputs_of(op).end();
}

// Of a piece with this many bytes, what bfloat16 would not need. An optimiser counts its steps in float32.
Count spared(const Graph& graph, const MemoryPiece& piece) {
  if (piece.value == kNone) return {};
  if (piece.kind == MemoryKind::kOptimizerState && graph.shape(graph.values[piece.value]).empty()) return {};
  if (is_kept_by_attention(graph, piece)) return {};
  switch (graph.values[piece.value].dtype) {
    case DType::kFloat32:
      return piece.bytes / 2;
    case DType::kFloat64:
      return piece.bytes - piece.bytes / 4;
    default:
      return {};
  }
}

// As a person writes it.
std::string in_place_words(std::string_view op, bool has_switch) {
  const std::string how = has_switch    ? "inplace=True"
                          : op == "add" ? "+="
                          : op == "sub" ? "-="
                          : op == "mul" ? "*="
                          : op == "div" ? "/="
                                        : std::string(op) + "_";
  return "let " + std::string(op) + " write into its input (" + how + ")";
}

// The result fits exactly into what nobody reads after this op.
bool could_take(const MemoryReport& report, ValueId input, ValueId output, OpId op) {
  const Graph& graph = report.graph();
  const auto &from = graph.values[input], &to = graph.values[output];
  const auto* piece = piece_of(report, input);
  if (piece == nullptr || from.storage == to.storage || piece->kind != MemoryKind::kActivations) return false;
  if (piece->returned || piece->held.made == kNone || piece->last_use != op) return false;
  return from.dtype == to.dtype && std::ranges::equal(graph.shape(from), graph.shape(to)) &&
         piece->bytes == piece_of(report, output)->bytes && piece->bytes == bytes_of(graph, from);
}

// Two bytes in place of four: exact by the sizes of the dtypes. What is held in other dtypes, and workspaces,
// stay as they are.
void advise_precision(MemoryReport& report) {
  Count weights{};
  std::size_t weight_places = 0;
  std::vector<MemoryChange> changes;
  for (const auto& piece : report.pieces) {
    const Count bytes = spared(report.graph(), piece);
    if (!piece.in_use || !bytes) continue;
    if (piece.kind == MemoryKind::kWeights)
      weights += bytes, ++weight_places;
    else
      changes.push_back(less(report, piece, bytes));
  }
  if (weights && !report.is_training)
    report.advice.push_back(
        {Remedy::kHalfWeights, "weights", "hold the weights in bfloat16", weight_places, weights});
  if (changes.empty()) return;
  report.advice.push_back({Remedy::kHalfAll,
                           report.is_training ? "all that training holds" : "weights and activations",
                           report.is_training ? "train the model in bfloat16, its weights and optimizer too"
                                              : "run the model in bfloat16",
                           weight_places + changes.size(), weights + saved_by(report, changes)});
}

void advise_in_place(MemoryReport& report) {
  const Graph& graph = report.graph();
  std::vector<Chance> chances;
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    const auto& op = graph.ops[id];
    const auto* rule = report.profile->costs[id].rule;
    const auto outputs = graph.outputs_of(op);
    if (outputs.size() != 1 || rule == nullptr || rule->name != graph.op_name(op)) continue;
    const bool has_switch = facts_of(*rule).is(Fact::kInPlaceSwitch);
    if (!has_switch && !facts_of(*rule).is(Fact::kHasInPlace)) continue;
    const auto type = short_op_name(rule->name);
    const auto* made = piece_of(report, outputs[0]);
    if (made == nullptr || made->held.made != id || made->kind == MemoryKind::kWeights) continue;
    const bool commutes = type == "add" || type == "mul";
    bool is_first = true, is_found = false;
    each_read(graph, op, [&](ValueId input) {
      if (!is_found && (is_first || commutes) && could_take(report, input, outputs[0], id)) {
        is_found = true;
        const auto ops = graph.ops.size();
        const OpId last = std::min(piece_of(report, input)->last_op(ops), made->last_op(ops));
        chances.push_back({{id, last, made->bytes, false},
                           id,
                           pattern_of(layer_name(*report.profile, id)),
                           in_place_words(type, has_switch)});
      }
      is_first = false;
    });
  }
  add_advice(Remedy::kInPlace, std::move(chances), "let all of these write into their inputs", report);
}

void advise_freeing(MemoryReport& report) {
  if (!report.lifetimes_told) return;  // by last use everything is gone when it was read
  const Graph& graph = report.graph();
  std::vector<Chance> chances;
  for (OpId i = 0; i < report.pieces.size(); ++i) {
    const MemoryPiece& piece = report.pieces[i];
    const OpId last = piece.last_op(graph.ops.size());
    const bool is_users = piece.kind == MemoryKind::kActivations || piece.kind == MemoryKind::kInputs ||
                          piece.kind == MemoryKind::kKvCache;
    if (!piece.in_use || !is_users || piece.returned || piece.last_use == kNone || piece.last_use >= last ||
        !piece.bytes)
      continue;
    const bool is_given = piece.held.made == kNone;
    const auto maker = !is_given              ? layer_name(*report.profile, piece.held.made)
                       : piece.value == kNone ? std::string_view()
                                              : graph.text(graph.values[piece.value].name);
    const auto user = pattern_of(layer_name(*report.profile, piece.last_use)) + ", which reads it last";
    chances.push_back(
        {{piece.last_use + 1, last, piece.bytes, false},
         i,
         is_given && maker.empty() ? "an input" : pattern_of(maker),
         (is_given ? "the caller's variable could go after " : "del the result after ") + user});
  }
  add_advice(Remedy::kFreeEarlier, std::move(chances), "free all of these after their last use", report);
}

}  // namespace

Count peak_with(const MemoryReport& report, const std::vector<MemoryChange>& changes) {
  const std::vector<Count>& alive = report.timeline().alive;
  std::vector<WideSum> less(alive.size() + 1), more(alive.size() + 1);
  for (const auto& change : changes) {
    // A sum that falls again wraps around twice and is right in the end.
    auto& sums = change.is_more ? more : less;
    sums[change.first] += change.bytes.value();
    sums[change.last + 1] -= change.bytes.value();
  }
  WideSum minus = 0, plus = 0;
  Count peak{};
  for (std::size_t op = 0; op < alive.size(); ++op) {
    minus += less[op], plus += more[op];
    const WideSum sum = alive[op].value() + plus;
    peak = std::max(peak, Count{static_cast<std::uint64_t>(sum > minus ? sum - minus : 0)});
  }
  return peak;
}

std::string joined(const std::vector<std::string>& patterns) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(patterns.size(), kNamed); ++i)
    text += (i > 0 ? ", " : "") + patterns[i];
  if (patterns.size() > kNamed) text += " and " + std::to_string(patterns.size() - kNamed) + " more";
  return text;
}

std::string pattern_of(std::string_view layer) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_border = [&](std::size_t at) {
    return at >= layer.size() || layer[at] == '.' || layer[at] == '[' || layer[at] == ']' || layer[at] == '#';
  };
  std::string pattern;
  for (std::size_t at = 0; at < layer.size();) {
    std::size_t end = at;
    if (at == 0 || is_border(at - 1) || layer[at - 1] == '_')
      while (end < layer.size() && is_digit(layer[end])) ++end;
    const bool is_number = end > at && is_border(end);
    pattern += is_number ? "*" : std::string(1, layer[at]);
    at = is_number ? end : at + 1;
  }
  return pattern;
}

void add_advice(Remedy remedy, std::vector<Chance> chances, std::string_view together, MemoryReport& report) {
  if (chances.empty()) return;
  std::vector<MemoryChange> changes;
  for (const auto& chance : chances) changes.push_back(chance.change);
  const Count lowest = peak_with(report, changes);
  // Where the peak would still be above what all chances together reach: only what acts there matters.
  std::vector<std::uint32_t> above{0};  // by op: how many before it
  for (const Count alive : report.timeline().alive) above.push_back(above.back() + (alive > lowest ? 1 : 0));
  std::erase_if(chances, [&](const Chance& chance) {
    const auto& change = chance.change;
    return !change.is_more && above[change.first] == above[change.last + 1];
  });
  Count best{};
  std::size_t places = 0;
  const auto patterns = group(chances);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto& pattern = patterns[i];
    places += pattern.places;
    if (i >= kPatternsTried) continue;
    const Count saved = saved_by(report, pattern.changes);
    best = std::max(best, saved);
    if (saved) report.advice.push_back({remedy, pattern.where, pattern.what, pattern.places, saved});
  }
  const Count all = report.timeline().peak - lowest;
  if (patterns.size() < 2 || all <= best) return;
  std::vector<std::string> wheres;
  for (const auto& pattern : patterns)
    if (std::ranges::find(wheres, pattern.where) == wheres.end()) wheres.push_back(pattern.where);
  report.advice.push_back({remedy, joined(wheres), std::string(together), places, all});
}

std::string_view name(Remedy remedy) {
  static constexpr auto kNames =
      choices<Remedy, Remedy::kHalfAll>("in_place", "free_earlier", "checkpoint", "fused_attention",
                                        "last_logits", "chunk", "half_weights", "half_all");
  return kNames[remedy];
}

void advise(MemoryReport& report) {
  const auto& timeline = report.timeline();
  if (timeline.peak_op == kNone || timeline.peak_memory_bytes().saturated()) return;
  advise_in_place(report);
  advise_freeing(report);
  advise_checkpoints(report);
  advise_scores(report);
  advise_logits(report);
  advise_chunks(report);
  advise_precision(report);
  const Count least = timeline.peak_memory_bytes() / 1000;
  std::erase_if(report.advice,
                [&](const MemoryAdvice& a) { return !a.saved_bytes || a.saved_bytes < least; });
  std::ranges::stable_sort(report.advice, std::greater{}, &MemoryAdvice::saved_bytes);
}

}  // namespace opscope
