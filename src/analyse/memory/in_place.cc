// Two changes that cost nothing: pointwise ops that write into an input nobody needs any more, and variables
// that let go of memory when it was used for the last time.
#include <algorithm>
#include <array>

#include "analyse/memory/advice.h"
#include "analyse/profile/rollup.h"
#include "graph/reads.h"
#include "ops/op_facts.h"

namespace opscope {
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
