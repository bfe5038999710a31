#include "readers/onnx/loops.h"

#include <fmt/format.h>

#include <algorithm>

namespace opscope {
namespace {

void repeat_ops(OnnxCall& call, std::size_t first, std::int64_t times) {
  auto& ops = call.state().out.graph.ops;
  for (auto i = first; i < ops.size(); ++i) ops[i].repeats = (Count{ops[i].repeats} * Count{times}).value();
}

// As `second`, which came out of the first run, is before run number `last`, where it goes on changing as it
// did from `first` on. Sizes that shrink stay.
OnnxInfo* carried_on(OnnxCall& call, const OnnxInfo& first, OnnxInfo* second, std::int64_t last) {
  if (second->is_sequence) {
    if (!second->items || (first.items && first.items->size() == second->items->size())) return second;
    auto* const sample = second->items->empty() ? nullptr : second->items->back();
    return call.state().add({.is_sequence = true, .sample = sample});
  }
  if (!first.shape || !second->shape || first.shape->size() != second->shape->size()) return second;
  Shape shape = *second->shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const __int128 from = (*first.shape)[i];
    shape[i] = std::max(shape[i], clamp_size(from + (__int128{shape[i]} - from) * last));
  }
  if (shape != *second->shape)
    return call.info_of(
        call.op("aten::new_empty", {call.tensor_of("self", call.value_of(*second))}, {shape, second->dtype}));
  OnnxInfo next = *second;
  next.numbers.reset();
  if (first.numbers && second->numbers && !first.numbers->is_real && !second->numbers->is_real &&
      first.numbers->size() == second->numbers->size()) {
    next.numbers = second->numbers;
    for (std::size_t i = 0; i < first.numbers->size(); ++i) {
      const __int128 from = first.numbers->integers[i];
      next.numbers->integers[i] =
          static_cast<std::int64_t>(from + (__int128{second->numbers->integers[i]} - from) * last);
    }
  }
  return call.state().add(std::move(next));
}

enum class Growth { kNone, kGrows, kUnclear };

// Of the ops of one run against those of another that follow them.
Growth growth(const Graph& graph, std::size_t first, std::size_t second) {
  if (graph.ops.size() - second != second - first) return Growth::kUnclear;
  auto found = Growth::kNone;
  for (auto i = first; i < second; ++i) {
    const auto before = graph.outputs_of(graph.ops[i]),
               after = graph.outputs_of(graph.ops[i + second - first]);
    if (before.size() != after.size()) return Growth::kUnclear;
    for (std::size_t k = 0; k < before.size(); ++k) {
      const auto a = numel(graph.shape(graph.values[before[k]]));
      const auto b = numel(graph.shape(graph.values[after[k]]));
      if (b < a) return Growth::kUnclear;
      if (b > a) found = Growth::kGrows;
    }
  }
  return found;
}

class Looping {
 public:
  Looping(OnnxCall& call, std::size_t nodes, const Run& run)
      : call_(call), nodes_(std::max<std::size_t>(nodes, 1)), run_(run) {}

  Looped over(std::int64_t trips, Infos state) {
    auto& passes = call_.state().passes;
    const auto outer = passes;
    const auto room = static_cast<std::int64_t>(kMostRead / std::min(kMostRead, passes * nodes_));
    done_ = {.state = std::move(state), .items = {}, .count = trips, .is_limit = false};
    const auto first = call_.op_count();
    passes *= static_cast<std::size_t>(std::clamp<std::int64_t>(trips, 1, std::min<std::int64_t>(room, 2)));
    if (trips <= room) {
      passes = outer * static_cast<std::size_t>(std::max<std::int64_t>(trips, 1));
      for (std::int64_t i = 0; i < trips && !stopped_; ++i) read(i, i + 1);
    } else if (room > 1) {
      read_two(trips);
    } else {
      read(0, trips);
      repeat_ops(call_, first, trips);
    }
    passes = outer;
    done_.is_limit = stops_on_data_ && !stopped_ && trips > 0;
    if (done_.is_limit) {
      call_.mark(first, true, false);
      call_.note(
          fmt::format("when it ends depends on the data; {} runs are counted, as an upper bound", trips));
    }
    return std::move(done_);
  }

 private:
  // `count`: of runs that are done with it.
  void read(std::int64_t number, std::int64_t count) {
    auto pass = run_(number, done_.state);
    done_.state = std::move(pass.state);
    done_.items.push_back(std::move(pass.items));
    if (pass.goes_on == nullptr) return;
    const auto& known = pass.goes_on->numbers;
    if (!known || known->size() != 1)
      stops_on_data_ = true;
    else if (known->integer(0) == 0)
      stopped_ = true, done_.count = count;
  }

  void read_two(std::int64_t trips) {
    const auto& graph = call_.state().out.graph;
    const auto before = done_.state;
    const auto first = call_.op_count();
    read(0, 1);
    if (stopped_) return;
    const auto end = call_.op_count();
    for (std::size_t i = 0; i < before.size() && i < done_.state.size(); ++i)
      done_.state[i] = carried_on(call_, *before[i], done_.state[i], trips - 1);
    const auto second = call_.op_count();
    read(trips - 1, trips);
    // What was made in between, to carry on, is part of neither.
    const auto found = end == second ? growth(graph, first, second) : Growth::kGrows;
    repeat_ops(call_, second, trips - 1);
    call_.mark(second, found == Growth::kGrows, found == Growth::kUnclear);
    if (found != Growth::kNone)
      call_.note(fmt::format("its sizes change from run to run; {} runs are counted as the last one, {}",
                             trips - 1, found == Growth::kGrows ? "as an upper bound" : "as an estimate"));
  }

  OnnxCall& call_;
  std::size_t nodes_;
  const Run& run_;
  Looped done_;
  bool stopped_ = false, stops_on_data_ = false;
};

}  // namespace

Looped run_loop(OnnxCall& call, std::size_t nodes, const Run& run, std::int64_t trips, Infos state) {
  return Looping(call, nodes, run).over(trips, std::move(state));
}

void give_collected(OnnxCall& call, std::size_t output, const Looped& done, std::size_t item,
                    std::int64_t axis) {
  if (!call.wants(output)) return;
  Infos items;
  for (const auto& run : done.items)
    if (item < run.size()) items.push_back(run[item]);
  const auto declared = call.declared_shape(output, false);
  std::optional<Shape> shape;
  if (!items.empty() && items.back()->shape) {
    shape = items.back()->shape;
    const auto at = axis_of(axis, shape->size() + 1);
    if (at) shape->insert(shape->begin() + static_cast<std::ptrdiff_t>(*at), done.count);
  }
  if (!shape || items.empty()) {
    auto& info = *call.state().add({.shape = declared});
    if (!items.empty()) info.dtype = items.back()->dtype;
    return call.give(output, &info);
  }
  const OnnxOutput out = call.settle(output, {*shape, items.back()->dtype});
  if (static_cast<std::int64_t>(items.size()) != done.count)
    return call.result(output,
                       call.op("aten::repeat", {call.tensor_of("self", call.value_of(*items.back()))}, out));
  std::vector<ValueId> ids;
  for (auto* one : items) ids.push_back(call.value_of(*one));
  call.result(output, call.op("aten::stack", {call.tensors("tensors", ids), call.number("dim", axis)}, out));
}

}  // namespace opscope
