// What would lower the peak: each change is put into the timeline, and the peak is taken again.
#include "analyse/memory/advice.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "analyse/profile/rollup.h"
#include "base/choices.h"
#include "graph/reads.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

constexpr std::size_t kPatternsTried = 24;  // a sweep over the run each

using WideSum = unsigned __int128;

// Where the peak would still be above what all chances together reach: only what acts there matters.
std::vector<std::uint32_t> ops_above(const std::vector<Count>& alive, Count peak) {
  std::vector<std::uint32_t> count(alive.size() + 1);
  for (std::size_t op = 0; op < alive.size(); ++op) count[op + 1] = count[op] + (alive[op] > peak ? 1 : 0);
  return count;
}

std::vector<MemoryChange> changes_of(const std::vector<Chance>& chances) {
  std::vector<MemoryChange> changes;
  for (const auto& chance : chances) changes.push_back(chance.change);
  return changes;
}

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

}  // namespace

Count WhatIf::peak_with(const std::vector<MemoryChange>& changes) const {
  std::vector<WideSum> less(alive_.size() + 1), more(alive_.size() + 1);
  for (const auto& change : changes) {
    // A sum that falls again wraps around twice and is right in the end.
    auto& sums = change.is_more ? more : less;
    sums[change.first] += change.bytes.value();
    sums[change.last + 1] -= change.bytes.value();
  }
  WideSum minus = 0, plus = 0;
  Count peak{};
  for (std::size_t op = 0; op < alive_.size(); ++op) {
    minus += less[op], plus += more[op];
    const WideSum sum = alive_[op].value() + plus;
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

void add_advice(Remedy remedy, std::vector<Chance> chances, std::string_view together, const WhatIf& what_if,
                MemoryReport& report) {
  if (chances.empty()) return;
  const Count lowest = what_if.peak_with(changes_of(chances));
  const auto above = ops_above(what_if.alive(), lowest);
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
    const Count saved = what_if.saved_by(pattern.changes);
    best = std::max(best, saved);
    if (saved) report.advice.push_back({remedy, pattern.where, pattern.what, pattern.places, saved, {}});
  }
  const Count all = what_if.peak() - lowest;
  if (patterns.size() < 2 || all <= best) return;
  std::vector<std::string> wheres;
  for (const auto& pattern : patterns)
    if (std::ranges::find(wheres, pattern.where) == wheres.end()) wheres.push_back(pattern.where);
  report.advice.push_back({remedy, joined(wheres), std::string(together), places, all, {}});
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
  const WhatIf what_if(timeline);
  advise_in_place(what_if, report);
  advise_freeing(what_if, report);
  advise_checkpoints(what_if, report);
  advise_scores(what_if, report);
  advise_logits(what_if, report);
  advise_chunks(what_if, report);
  advise_precision(what_if, report);
  const Count least = timeline.peak_memory_bytes() / 1000;
  std::erase_if(report.advice,
                [&](const MemoryAdvice& a) { return !a.saved_bytes || a.saved_bytes < least; });
  std::ranges::stable_sort(report.advice, std::greater{}, &MemoryAdvice::saved_bytes);
}

// Two bytes in place of four: exact by the sizes of the dtypes. What is held in other dtypes, and workspaces,
// stay as they are.

namespace {

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

MemoryChange less(const MemoryReport& report, const MemoryPiece& piece, Count bytes) {
  return {piece.first_op(), piece.last_op(report.graph().ops.size()), bytes, false};
}

}  // namespace

void advise_precision(const WhatIf& what_if, MemoryReport& report) {
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
        {Remedy::kHalfWeights, "weights", "hold the weights in bfloat16", weight_places, weights, {}});
  if (changes.empty()) return;
  report.advice.push_back({Remedy::kHalfAll,
                           report.is_training ? "all that training holds" : "weights and activations",
                           report.is_training ? "train the model in bfloat16, its weights and optimizer too"
                                              : "run the model in bfloat16",
                           weight_places + changes.size(),
                           weights + what_if.saved_by(changes),
                           {}});
}

namespace {

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

class InPlace {
 public:
  explicit InPlace(const MemoryReport& report) : report_(report), graph_(report.graph()) {
    for (OpId op = 0; op < graph_.ops.size(); ++op) look_at(op);
  }
  std::vector<Chance> chances;

 private:
  void look_at(OpId id) {
    const auto& op = graph_.ops[id];
    const auto* rule = report_.profile->costs[id].rule;
    const auto outputs = graph_.outputs_of(op);
    if (outputs.size() != 1 || rule == nullptr || rule->name != graph_.op_name(op)) return;
    const bool has_switch = facts_of(*rule).is(Fact::kInPlaceSwitch);
    if (!has_switch && !facts_of(*rule).is(Fact::kHasInPlace)) return;
    const auto type = short_op_name(rule->name);
    const auto* made = piece_of(outputs[0]);
    if (made == nullptr || made->held.made != id || made->kind == MemoryKind::kWeights) return;
    const bool commutes = type == "add" || type == "mul";
    bool is_first = true, is_found = false;
    each_read(graph_, op, [&](ValueId input) {
      if (!is_found && (is_first || commutes) && could_take(input, outputs[0], id)) {
        is_found = true;
        add(id, in_place_words(type, has_switch), *piece_of(input), *made);
      }
      is_first = false;
    });
  }

  // The result fits exactly into what nobody reads after this op.
  bool could_take(ValueId input, ValueId output, OpId op) const {
    const auto &from = graph_.values[input], &to = graph_.values[output];
    const auto* piece = piece_of(input);
    if (piece == nullptr || from.storage == to.storage || piece->kind != MemoryKind::kActivations)
      return false;
    if (piece->returned || piece->held.made == kNone || piece->last_use != op) return false;
    return from.dtype == to.dtype && std::ranges::equal(graph_.shape(from), graph_.shape(to)) &&
           piece->bytes == piece_of(output)->bytes && piece->bytes == bytes_of(graph_, from);
  }
  void add(OpId op, std::string words, const MemoryPiece& from, const MemoryPiece& to) {
    const auto ops = graph_.ops.size();
    const OpId last = std::min(from.last_op(ops), to.last_op(ops));
    chances.push_back(
        {{op, last, to.bytes, false}, op, pattern_of(layer_name(*report_.profile, op)), std::move(words)});
  }
  const MemoryPiece* piece_of(ValueId value) const {
    const auto storage = graph_.values[value].storage;
    return storage == kNone ? nullptr : &report_.pieces[storage];
  }

  const MemoryReport& report_;
  const Graph& graph_;
};

class Freeing {
 public:
  explicit Freeing(const MemoryReport& report) : report_(report), graph_(report.graph()) {
    for (OpId i = 0; i < report.pieces.size(); ++i) look_at(report.pieces[i], i);
  }
  std::vector<Chance> chances;

 private:
  static bool is_users(MemoryKind kind) {
    return kind == MemoryKind::kActivations || kind == MemoryKind::kInputs || kind == MemoryKind::kKvCache;
  }
  void look_at(const MemoryPiece& piece, OpId place) {
    if (!piece.in_use || !is_users(piece.kind) || piece.returned || piece.last_use == kNone) return;
    const OpId last = piece.last_op(graph_.ops.size());
    if (piece.last_use >= last || !piece.bytes) return;
    const auto user = pattern_of(layer_name(*report_.profile, piece.last_use));
    const bool is_given = piece.held.made == kNone;
    const auto maker =
        is_given ? given_name(piece) : pattern_of(layer_name(*report_.profile, piece.held.made));
    chances.push_back({{piece.last_use + 1, last, piece.bytes, false},
                       place,
                       maker,
                       is_given ? "the caller's variable could go after " + user + ", which reads it last"
                                : "del the result after " + user + ", which reads it last"});
  }
  std::string given_name(const MemoryPiece& piece) const {
    const auto name =
        piece.value == kNone ? std::string_view() : graph_.text(graph_.values[piece.value].name);
    return name.empty() ? "an input" : pattern_of(name);
  }

  const MemoryReport& report_;
  const Graph& graph_;
};

}  // namespace

void advise_in_place(const WhatIf& what_if, MemoryReport& report) {
  add_advice(Remedy::kInPlace, InPlace(report).chances, "let all of these write into their inputs", what_if,
             report);
}

void advise_freeing(const WhatIf& what_if, MemoryReport& report) {
  if (!report.lifetimes_told) return;  // by last use everything is gone when it was read
  add_advice(Remedy::kFreeEarlier, Freeing(report).chances, "free all of these after their last use", what_if,
             report);
}

}  // namespace opscope
