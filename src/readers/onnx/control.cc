// Control flow: branches, loops, and a body for each item of a sequence.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "readers/onnx/loops.h"

namespace opscope {
namespace {

// The graph of an attribute; nullptr where it is not there, or too deep in others.
const OnnxGraph* graph_of(OnnxCall& call, std::string_view name) {
  const auto* found = call.attribute(name);
  if (found == nullptr || call.frame().depth >= kMostOnnxDepth) return nullptr;
  return &call.state().bodies->body(found->graph);
}

Infos run_body(OnnxCall& call, const OnnxGraph& body, const Infos& inputs = {}) {
  return call.state().bodies->run_body(call, body, inputs);
}

// --- Branches

OnnxInfo* larger(OnnxInfo* a, OnnxInfo* b) {
  if (!a->shape || !b->shape) return a->shape ? a : b;
  return numel(*a->shape) >= numel(*b->shape) ? a : b;
}

// Where the data decides, both are read.
bool branch(OnnxCall& call, std::string_view) {
  const auto *then = graph_of(call, "then_branch"), *other = graph_of(call, "else_branch");
  if (then == nullptr || other == nullptr) return false;
  if (const auto* known = call.single_number(0)) {
    const auto made = run_body(call, known->integer(0) != 0 ? *then : *other);
    for (std::size_t i = 0; i < made.size(); ++i) call.give(i, made[i]);
    return true;
  }
  const auto first = call.op_count();
  auto& passes = call.state().passes;
  const bool reads_both = passes * 2 <= kMostRead;
  if (!reads_both && then->nodes.size() < other->nodes.size()) std::swap(then, other);
  passes *= 2;
  const auto made = run_body(call, *then), others = reads_both ? run_body(call, *other) : Infos{};
  passes /= 2;
  for (std::size_t i = 0; i < std::max(made.size(), others.size()); ++i)
    call.give(i, i >= others.size() ? made[i] : i >= made.size() ? others[i] : larger(made[i], others[i]));
  call.mark(first, reads_both, !reads_both);
  if (call.op_count() > first)
    call.note(reads_both ? "which branch runs depends on the data; both are counted, as an upper bound"
                         : "which branch runs depends on the data; the one with more nodes is counted");
  return true;
}

// --- Loop: a limit, a condition, what is carried; the body takes and gives the condition and what is
// carried.

struct Trips {
  std::int64_t count = 1;
  bool bounded = false, estimated = false;
};

Trips trips_of(OnnxCall& call, std::size_t carried) {
  const auto* goes_on = call.single_number(1);
  if (goes_on != nullptr && goes_on->integer(0) == 0) return {.count = 0};
  const bool may_not_begin = call.has(1) && goes_on == nullptr;
  for (auto i = carried; i < call.node().outputs.size(); ++i)
    if (const auto declared = call.declared_shape(i, false); declared && !declared->empty())
      return {.count = declared->front()};
  if (const auto told = call.told("trips")) return {.count = *told};
  if (const auto* limit = call.single_number(0))
    return {.count = std::max<std::int64_t>(limit->integer(0), 0), .bounded = may_not_begin};
  call.note(fmt::format("how often it runs is not in the file; one run is counted: --dim {}=N",
                        truncate(call.told_name("trips"), 60)));
  return {.count = 1, .estimated = true};
}

bool loop(OnnxCall& call, std::string_view) {
  const auto* body = graph_of(call, "body");
  if (body == nullptr || call.input_count() < 2) return false;
  const auto carried = call.input_count() - 2;
  if (body->outputs.size() < carried + 1) return false;
  Infos state;
  for (std::size_t i = 0; i < carried; ++i) {
    if (!call.has(i + 2)) return false;
    state.push_back(call.info(i + 2));
  }
  const auto number = [&](DType dtype, std::int64_t value) {
    return call.state().add({.shape = Shape{}, .dtype = dtype, .numbers = Numbers{.integers = {value}}});
  };
  const auto run = [&](std::int64_t i, const Infos& now) {
    Infos inputs{number(DType::kInt64, i), number(DType::kBool, 1)};
    inputs.insert(inputs.end(), now.begin(), now.end());
    const auto made = run_body(call, *body, inputs);
    const auto split = made.begin() + 1 + static_cast<std::ptrdiff_t>(carried);
    return Pass{.goes_on = made.front(), .state = {made.begin() + 1, split}, .items = {split, made.end()}};
  };
  const auto trips = trips_of(call, carried);
  const auto first = call.op_count();
  const auto done = run_loop(call, body->nodes.size(), run, trips.count, state);
  for (std::size_t i = 0; i < carried; ++i) call.give(i, done.state[i]);
  const bool is_bound = trips.bounded || done.is_limit;
  for (auto i = carried; i < call.node().outputs.size(); ++i) {
    give_collected(call, i, done, i - carried, 0);
    call.doubt(i, is_bound, trips.estimated);
  }
  call.mark(first, is_bound, trips.estimated);
  return true;
}

// --- Scan: what is carried, then tensors that are gone through along an axis.

// One place along an axis: a view.
ValueId place(OnnxCall& call, ValueId from, std::size_t axis, std::int64_t index) {
  const auto& graph = call.state().out.graph;
  const auto& value = graph.values[from];
  Shape shape(graph.shape(value).begin(), graph.shape(value).end());
  Shape strides(graph.strides(value).begin(), graph.strides(value).end());
  const auto dtype = value.dtype;
  for (auto* list : {&shape, &strides})
    if (axis < list->size()) list->erase(list->begin() + static_cast<std::ptrdiff_t>(axis));
  return call.op("aten::select",
                 {call.tensor_of("self", from), call.number("dim", axis), call.number("index", index)},
                 {shape, dtype, strides});
}

// Before opset 9 the first input has the sequences' lengths, and all else has the batch as its first axis.
class Scan {
 public:
  static std::optional<Scan> of(OnnxCall& call) {
    const auto scanned = call.integer("num_scan_inputs", 0);
    Scan scan(call);
    const auto count =
        static_cast<std::int64_t>(call.input_count() - std::min(call.input_count(), scan.first_));
    scan.body_ = graph_of(call, "body");
    if (scan.body_ == nullptr || scanned < 1 || scanned > count) return std::nullopt;
    scan.carried_ = static_cast<std::size_t>(count - scanned);
    for (auto i = scan.first_; i < call.input_count(); ++i)
      if (!call.has(i) || (i >= scan.first_ + scan.carried_ && !call.info(i)->shape)) return std::nullopt;
    if (scan.body_->outputs.size() < scan.carried_ || !scan.find_axes()) return std::nullopt;
    return scan;
  }

  bool read() {
    Infos state;
    for (std::size_t i = 0; i < carried_; ++i)
      state.push_back(is_old_ ? call_.info_of(place(call_, call_.value(first_ + i), 0, 0))
                              : call_.info(first_ + i));
    const auto run = [&](std::int64_t i, const Infos& now) {
      Infos inputs = now;
      for (std::size_t k = 0; k < axes_.size(); ++k) inputs.push_back(item(k, i));
      const auto made = run_body(call_, *body_, inputs);
      const auto split = made.begin() + static_cast<std::ptrdiff_t>(carried_);
      return Pass{.state = {made.begin(), split}, .items = {split, made.end()}};
    };
    const auto done =
        run_loop(call_, body_->nodes.size(), run, clamp_size(__int128{length_} * batch_), state);
    for (std::size_t i = 0; i < carried_; ++i) give_state(i, done.state[i]);
    const auto axes = call_.integers("scan_output_axes");
    for (auto i = carried_; i < call_.node().outputs.size(); ++i) {
      const auto item = i - carried_;
      give_collected(call_, i, done, item, item < axes.size() ? axes[item] : 0);
      if (is_old_) split_batch(i);
    }
    return true;
  }

 private:
  explicit Scan(OnnxCall& call) : call_(call), is_old_(call.opset() < 9), first_(is_old_ ? 1 : 0) {}

  bool find_axes() {
    const auto named = call_.integers("scan_input_axes");
    for (auto i = first_ + carried_; i < call_.input_count(); ++i) {
      const auto k = axes_.size();
      const auto axis = axis_of(k < named.size() ? named[k] : is_old_ ? 1 : 0, call_.shape(i).size());
      if (!axis) return false;
      axes_.push_back(*axis);
      length_ = call_.shape(i)[*axis];
      if (is_old_) batch_ = call_.dim(i, 0);
    }
    return true;
  }

  OnnxInfo* item(std::size_t k, std::int64_t i) {
    auto from = call_.value(first_ + carried_ + k);
    if (is_old_) from = place(call_, from, 0, 0);
    return call_.info_of(place(call_, from, axes_[k] - (is_old_ ? 1 : 0), i));
  }

  // Of one sequence of the batch; the others are alike.
  void give_state(std::size_t i, OnnxInfo* last) {
    if (!is_old_ || !last->shape) return call_.give(i, last);
    Shape shape = *last->shape;
    shape.insert(shape.begin(), batch_);
    call_.result(
        i, call_.op("aten::repeat", {call_.tensor_of("self", call_.value_of(*last))}, {shape, last->dtype}));
  }

  // The places of all sequences, one sequence after the other.
  void split_batch(std::size_t i) {
    auto* const all = call_.wants(i) ? call_.find(call_.node().outputs[i]) : nullptr;
    if (all == nullptr || !all->shape || all->shape->empty() || call_.declared_shape(i, false)) return;
    Shape shape = *all->shape;
    shape.front() = length_;
    shape.insert(shape.begin(), batch_);
    call_.result(
        i, call_.op("aten::view", {call_.tensor_of("self", call_.value_of(*all))}, {shape, all->dtype}));
  }

  OnnxCall& call_;
  bool is_old_;
  std::size_t first_;
  const OnnxGraph* body_ = nullptr;
  std::size_t carried_ = 0;
  std::vector<std::size_t> axes_;
  std::int64_t length_ = 0, batch_ = 1;
};

bool scan(OnnxCall& call, std::string_view) {
  auto found = Scan::of(call);
  return found && found->read();
}

// --- A body for each item of a sequence

bool sequence_map(OnnxCall& call, std::string_view) {
  const auto* body = graph_of(call, "body");
  if (body == nullptr || !call.info(0)->is_sequence) return false;
  const auto& items = call.info(0)->items;
  const auto told = items ? std::optional(static_cast<std::int64_t>(items->size())) : call.told("length");
  const auto run = [&](std::int64_t i, const Infos&) {
    Infos inputs;
    for (std::size_t k = 0; k < call.input_count(); ++k) {
      auto* one = call.info(k);
      if (one != nullptr && one->is_sequence) {
        const auto at = static_cast<std::size_t>(i);
        one = one->items && at < one->items->size() ? (*one->items)[at]
              : one->sample != nullptr              ? one->sample
                                                    : call.state().add({});
      }
      inputs.push_back(one != nullptr ? one : call.state().add({}));
    }
    return Pass{.state = {}, .items = run_body(call, *body, inputs)};
  };
  const auto first = call.op_count();
  const auto done = run_loop(call, body->nodes.size(), run, told.value_or(1), {});
  if (!told) {
    call.mark(first, false, true);
    call.note(fmt::format("how many items the sequence has is not in the file; one is counted: --dim {}=N",
                          truncate(call.told_name("length"), 60)));
  }
  for (std::size_t i = 0; i < call.node().outputs.size(); ++i) {
    OnnxInfo made{.is_sequence = true};
    Infos all;
    for (const auto& pass : done.items)
      if (i < pass.size()) all.push_back(pass[i]);
    if (items && all.size() == items->size())
      made.items = std::move(all);
    else if (!all.empty())
      made.sample = all.back();
    call.give(i, call.state().add(std::move(made)));
  }
  return true;
}

constexpr auto kControlRules = std::to_array<OnnxRule>({
    {"If", branch, {}, 1, true},
    {"Loop", loop, {}, 0, true},
    {"Scan", scan, {}, 0, true},
    {"SequenceMap", sequence_map, {}, 1, true},
});
static_assert(std::ranges::is_sorted(kControlRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_control_rules() { return kControlRules; }

}  // namespace opscope
