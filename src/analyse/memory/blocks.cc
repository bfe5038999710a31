// Patterns of a few ops that hold more than they have to: attention scores that are written out, logits of
// positions nobody asked for, and wide layers between two narrow ones that could take a few rows at a time.
#include <algorithm>

#include "analyse/memory/advice.h"
#include "base/text.h"
#include "graph/graph.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

constexpr std::size_t kLongestWalk = 16;  // ops between the two ends of a pattern
constexpr int kChunks = 4;

// The ops behind values, and the ways back through what treats every row by itself.
class Makers {
 public:
  explicit Makers(const MemoryReport& report)
      : report_(report), graph_(report.graph()), of_(graph_.values.size(), kNone) {
    for (OpId op = 0; op < graph_.ops.size(); ++op)
      for (const auto id : graph_.outputs_of(graph_.ops[op])) of_[id] = op;
  }

  OpId of(ValueId value) const { return of_[value]; }
  bool is(OpId op, Fact fact) const { return opscope::is(graph_.op_name(graph_.ops[op]), fact); }

  // Goes back from `value` through pointwise ops and views until `is_end` says so of an op, and collects the
  // ops on the way, ends included. Empty where some way leads to other ops; ways to weights, inputs and
  // constants (a mask, a scale) do not count.
  template <class IsEnd>
  std::vector<OpId> ways_back(ValueId value, IsEnd is_end) const {
    std::vector<OpId> found;
    bool has_end = false;
    const bool is_whole = walk(value, is_end, found, has_end, bytes_of(graph_, graph_.values[value]));
    return is_whole && has_end ? found : std::vector<OpId>();
  }

  const MemoryPiece* piece_made_by(OpId op) const {
    const auto outputs = graph_.outputs_of(graph_.ops[op]);
    if (outputs.empty()) return nullptr;
    const auto* piece = piece_of(report_, outputs[0]);
    const bool is_made_here = piece != nullptr && piece->in_use && piece->held.made == op &&
                              piece->kind == MemoryKind::kActivations;
    return is_made_here ? piece : nullptr;
  }

 private:
  bool rides_along(OpId op) const {
    const auto* rule = report_.profile->costs[op].rule;
    return rule != nullptr && (rule->fusion == Fusion::kPointwise || rule->fusion == Fusion::kView);
  }
  // Side branches much smaller than the pattern's own values are masks and biases.
  template <class IsEnd>
  bool walk(ValueId value, IsEnd is_end, std::vector<OpId>& found, bool& has_end, Count size) const {
    const OpId op = of_[value];
    if (op == kNone || std::ranges::find(found, op) != found.end()) return true;
    if (bytes_of(graph_, graph_.values[value]) + bytes_of(graph_, graph_.values[value]) < size) return true;
    if (is_end(op)) {
      has_end = true;
      found.push_back(op);
      return true;
    }
    if (!rides_along(op) || found.size() >= kLongestWalk) return false;
    found.push_back(op);
    bool is_whole = true;
    each_read(graph_, graph_.ops[op],
              [&](ValueId input) { is_whole = walk(input, is_end, found, has_end, size) && is_whole; });
    return is_whole;
  }

  const MemoryReport& report_;
  const Graph& graph_;
  std::vector<OpId> of_;  // by value
};

// linear -> pointwise ops -> linear, with more between than around: run on a quarter of the rows at a time.
// The result and the input are then there all the while.
class Chunks {
 public:
  Chunks(const MemoryReport& report, const Makers& makers)
      : report_(report), graph_(report.graph()), makers_(makers) {
    for (OpId op = 0; op < graph_.ops.size(); ++op)
      if (is_linear(op)) look_at(op);
  }
  std::vector<Chance> chances;

 private:
  bool is_linear(OpId op) const { return makers_.is(op, Fact::kLinearLayer); }
  ValueId input_of(OpId op) const {
    ValueId first = kNone;
    each_read(graph_, graph_.ops[op], [&](ValueId id) { first = first == kNone ? id : first; });
    return first;
  }

  void look_at(OpId last) {
    if (input_of(last) == kNone || graph_.outputs_of(graph_.ops[last]).empty()) return;
    const auto between = makers_.ways_back(input_of(last), [&](OpId op) { return is_linear(op); });
    if (between.empty()) return;
    const MemoryPiece* input = nullptr;
    OpId first = last;
    for (const auto op : between) {
      if (!is_linear(op)) continue;
      const auto* taken = input_of(op) == kNone ? nullptr : piece_of(report_, input_of(op));
      if (taken == nullptr || (input != nullptr && input != taken)) return;  // not one block
      input = taken;
      first = std::min(first, op);
    }
    if (input != nullptr) add(first, last, *input, between);
  }

  void add(OpId first, OpId last, const MemoryPiece& input, const std::vector<OpId>& between) {
    const ValueId out = graph_.outputs_of(graph_.ops[last])[0];
    const auto* result = piece_of(report_, out);
    const auto shape = graph_.shape(graph_.values[out]);
    if (result == nullptr || shape.empty() || numel(shape) <= Count{shape.back()} * kChunks) return;
    const std::string where = pattern_of(module_of(last, first));
    const std::string what = "process the rows in " + std::to_string(kChunks) + " parts, one after the other";
    std::vector<const MemoryPiece*> inside;
    Count bytes{};
    for (const auto op : between) {
      const auto* piece = makers_.piece_made_by(op);
      if (piece == nullptr || piece->last_use > last || piece->returned) continue;
      inside.push_back(piece);
      bytes += piece->bytes;
    }
    if (bytes <= result->bytes) return;
    for (const auto* piece : inside)
      chances.push_back({less(report_, *piece, piece->bytes - piece->bytes / kChunks), last, where, what});
    if (first < last) chances.push_back({{first, last - 1, result->bytes, true}, last, where, what});
    if (const OpId gone = input.last_op(graph_.ops.size()); input.kind != MemoryKind::kWeights && gone < last)
      chances.push_back({{gone + 1, last, input.bytes, true}, last, where, what});
  }

  // The innermost module that ran both.
  std::string_view module_of(OpId a, OpId b) const {
    const auto one = graph_.path(graph_.module_of(graph_.ops[a]));
    const auto other = graph_.path(graph_.module_of(graph_.ops[b]));
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
    if (same == one.size() && same == other.size()) return one;
    return parent_path(one.substr(0, same));
  }

  const MemoryReport& report_;
  const Graph& graph_;
  const Makers& makers_;
};

}  // namespace

// softmax between two products: what both sides of it hold.
void advise_scores(MemoryReport& report) {
  const Graph& graph = report.graph();
  const Makers makers(report);
  std::vector<char> is_seen(graph.ops.size());
  std::vector<Chance> chances;
  const auto is_softmax = [&](OpId op) { return makers.is(op, Fact::kSoftmaxItself); };
  const auto is_product = [&](OpId op) { return makers.is(op, Fact::kBatchedProduct); };
  const auto look_at = [&](ValueId value) {
    const auto after = makers.ways_back(value, is_softmax);
    const auto softmax = std::ranges::find_if(after, is_softmax);
    if (softmax == after.end()) return;
    ValueId scores = kNone;
    each_read(graph, graph.ops[*softmax], [&](ValueId input) { scores = input; });
    if (scores == kNone) return;
    const auto before = makers.ways_back(scores, is_product);
    if (before.empty()) return;
    for (const auto* ops : {&after, &before})
      for (const OpId op : *ops) {
        const auto* piece = makers.piece_made_by(op);
        if (piece == nullptr || std::exchange(is_seen[op], 1) != 0) continue;
        chances.push_back({less(report, *piece, piece->bytes), *softmax,
                           pattern_of(layer_name(*report.profile, *softmax)),
                           "use scaled_dot_product_attention, which does not write its scores"});
      }
  };
  for (OpId op = 0; op < graph.ops.size(); ++op)
    if (is_product(op)) each_read(graph, graph.ops[op], look_at);
  add_advice(Remedy::kFusedAttention, std::move(chances), "use scaled_dot_product_attention in all of these",
             report);
}

void advise_chunks(MemoryReport& report) {
  if (report.is_training) return;  // autograd keeps the parts all the same
  const Makers makers(report);
  add_advice(Remedy::kChunk, Chunks(report, makers).chances, "run all of these in parts", report);
}

void advise_logits(MemoryReport& report) {
  if (report.is_training) return;  // the loss needs them all
  const Graph& graph = report.graph();
  for (const auto id : graph.outputs) {
    const auto& value = graph.values[id];
    const auto shape = graph.shape(value);
    const auto name = graph.text(value.name);
    if (value.storage == kNone || shape.size() < 3 || name.find("logits") == std::string_view::npos) continue;
    const auto positions = shape[shape.size() - 2];
    const auto& piece = report.pieces[value.storage];
    if (positions < 2 || !piece.in_use || piece.bytes != bytes_of(graph, value)) continue;
    const MemoryChange change = less(report, piece, piece.bytes - piece.bytes / positions);
    report.advice.push_back({Remedy::kLastLogits, std::string(name),
                             "compute them for one position of " + format_exact(positions) +
                                 ", where the next token is all that is asked for",
                             1, saved_by(report, {change})});
  }
}

}  // namespace opscope
