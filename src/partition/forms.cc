// Forms that are found as a whole: attention written out by hand, and squeeze-excite. Each begins at the op
// that gives it away (softmax, a mean over all positions) and follows the values from there.
#include <algorithm>

#include "base/groups.h"
#include "partition/groups.h"

namespace opscope {
namespace {

constexpr int kMaxStepsBetween = 16;  // ops between the two products of an attention, each way
constexpr int kMaxVisits = 96;        // ops looked at in all, where values fork

class Finder {
 public:
  explicit Finder(const Groups& groups) : g_(groups) {}

  std::vector<KnownForm> run() {
    for (OpId op = 0; op < g_.graph.ops.size(); ++op) {
      const Trait& trait = g_.traits[op];
      if (trait.role != Role::kRows) continue;
      if (trait.category == Category::kSoftmax && trait.in == trait.out)
        attention(op);
      else if (trait.out < trait.in)
        squeeze_excite(op);
    }
    return std::move(found_);
  }

 private:
  Count taken(const Read& read) const { return numel(g_.graph.shape(g_.graph.values[read.value])); }

  // A product of two activations: one with a weight is a layer, and what follows it a choice, not attention.
  bool is_product(OpId op) const {
    if (g_.traits[op].role != Role::kAnchor || g_.traits[op].category != Category::kMatmul) return false;
    const auto reads = g_.flow.reads_of(op);
    return std::ranges::none_of(reads, [](const Read& read) { return read.is_weight; });
  }
  bool is_pointwise(OpId op, Count elements) const {
    return g_.traits[op].role == Role::kPointwise && g_.traits[op].out == elements;
  }

  // softmax(q k^T * scale + mask) v, with casts, dropout and views between.
  void attention(OpId softmax) {
    const Count scores = g_.traits[softmax].in;
    ops_ = {softmax};
    visits_ = 0;
    if (!walk_back(softmax, scores, kMaxStepsBetween)) return;
    const OpId product = walk_on(softmax, scores, kMaxStepsBetween);
    if (product == kNone) return;
    add_scale();
    keep(Form::kAttention, product);
  }

  // Adds the ops from the first product to `op`.
  bool walk_back(OpId op, Count scores, int steps) {
    if (steps == 0 || ++visits_ > kMaxVisits) return false;
    for (const Read& read : g_.flow.reads_of(op)) {
      if (read.write == kNone || taken(read) != scores) continue;
      const OpId writer = g_.writer(read);
      const auto mark = ops_.size();
      add_views(read);
      ops_.push_back(writer);
      if (is_product(writer) && g_.traits[writer].out == scores) return true;
      if (is_pointwise(writer, scores) && walk_back(writer, scores, steps - 1)) return true;
      ops_.resize(mark);
    }
    return false;
  }

  // Adds the ops after `op` up to the product that it ends in, and returns that.
  OpId walk_on(OpId op, Count scores, int steps) {
    if (steps == 0 || ++visits_ > kMaxVisits) return kNone;
    for (const Write& write : g_.flow.writes_of(op)) {
      for (const OpId reader : g_.flow.readers_of(write)) {
        const auto mark = ops_.size();
        for (const Read& read : g_.flow.reads_of(reader))
          if (read.write != kNone && g_.writer(read) == op && taken(read) == scores) add_views(read);
        ops_.push_back(reader);
        if (is_product(reader)) return reader;
        if (is_pointwise(reader, scores))
          if (const OpId product = walk_on(reader, scores, steps - 1); product != kNone) return product;
        ops_.resize(mark);
      }
    }
    return kNone;
  }

  // Queries that are scaled by a number before the product, and read by nothing else.
  void add_scale() {
    const OpId product =
        *std::ranges::min_element(ops_, {}, [&](OpId op) { return is_product(op) ? op : kNone; });
    for (const Read& read : g_.flow.reads_of(product)) {
      if (read.write == kNone) continue;
      const OpId writer = g_.writer(read);
      const auto name = g_.graph.op_name(g_.graph.ops[writer]);
      if (!name.starts_with("aten::mul") && !name.starts_with("aten::div")) continue;
      if (g_.flow.writes[read.write].readers.size != 1 || g_.flow.writes[read.write].is_kept) continue;
      const auto reads = g_.flow.reads_of(writer);
      const bool by_number =
          std::ranges::count_if(reads, [&](const Read& r) { return taken(r) > Count{1}; }) == 1;
      if (!by_number) continue;
      add_views(read);
      ops_.push_back(writer);
    }
  }

  // x * gate(mean(x)): one or two small products between, each with its activation.
  void squeeze_excite(OpId mean) {
    const auto reads = g_.flow.reads_of(mean);
    if (reads.empty() || reads[0].write == kNone) return;
    const WriteId source = reads[0].write;
    ops_ = {mean};
    int products = 0;
    OpId op = mean;
    for (int steps = 0; steps < kMaxStepsBetween; ++steps) {
      const OpId reader = only_reader(op);
      if (reader == kNone) return;
      for (const Read& read : g_.flow.reads_of(reader))
        if (read.write != kNone && g_.writer(read) == op) add_views(read);
      ops_.push_back(reader);
      const Trait& trait = g_.traits[reader];
      const bool takes_source = std::ranges::count(g_.flow.reads_of(reader), source, &Read::write) > 0;
      if (products > 0 && is_pointwise(reader, g_.traits[mean].in) && takes_source)
        return keep(Form::kSqueezeExcite, reader);
      if (trait.out > g_.traits[mean].in / 2) return;
      if (trait.role == Role::kAnchor && ++products > 2) return;
      if (trait.role != Role::kAnchor && trait.role != Role::kPointwise) return;
      op = reader;
    }
  }
  OpId only_reader(OpId op) const {
    const auto writes = g_.flow.writes_of(op);
    return writes.size() == 1 && writes[0].readers.size == 1 && !writes[0].is_kept
               ? g_.flow.readers_of(writes[0])[0]
               : kNone;
  }

  // The ops that do no work between the one that wrote a value and the one that reads it.
  void add_views(const Read& read) {
    const OpId writer = g_.writer(read);
    ValueId id = read.value;
    while (true) {
      const OpId maker = g_.flow.maker(id);
      if (maker == kNone || maker <= writer || g_.flow.works[maker] != 0) return;
      ops_.push_back(maker);
      const auto arguments = g_.graph.arguments_of(g_.graph.ops[maker]);
      const auto tensor = std::ranges::find(arguments, ArgumentKind::kTensor, &Argument::kind);
      if (tensor == arguments.end()) return;
      id = static_cast<ValueId>(tensor->integer);
    }
  }

  void keep(Form form, OpId result) {
    sort_unique(ops_);
    if (phase_of(g_.graph, ops_.front()) == phase_of(g_.graph, ops_.back()))
      found_.push_back({form, ops_, result});
  }

  const Groups& g_;
  std::vector<OpId> ops_;
  int visits_ = 0;
  std::vector<KnownForm> found_;
};

}  // namespace

std::vector<KnownForm> find_forms(const Groups& groups) { return Finder(groups).run(); }

}  // namespace opscope
