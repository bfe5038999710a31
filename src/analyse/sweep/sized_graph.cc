#include "analyse/sweep/sized_graph.h"

#include <algorithm>
#include <map>

namespace opscope {
namespace {

// Calls visit(number) for each, always in the same order.
template <class AnyGraph, class Visit>
void each_number(AnyGraph& graph, Visit visit) {
  for (auto& number : graph.dims) visit(number);
  for (auto& value : graph.values) visit(value.offset);
  for (auto& argument : graph.arguments)
    if (argument.kind == ArgumentKind::kInt) visit(argument.integer);
}

std::vector<std::int64_t> numbers_of(const Graph& graph) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(graph.dims.size() + graph.values.size() + graph.arguments.size());
  each_number(graph, [&](std::int64_t number) { numbers.push_back(number); });
  return numbers;
}

bool same_argument(const Graph& a, const Argument& one, const Graph& b, const Argument& other) {
  if (one.kind != other.kind) return false;
  switch (one.kind) {
    case ArgumentKind::kNone:
    case ArgumentKind::kInt:
      return true;
    case ArgumentKind::kFloat:
      return one.real == other.real;
    case ArgumentKind::kString:
      return a.text(static_cast<StringId>(one.integer)) == b.text(static_cast<StringId>(other.integer));
    case ArgumentKind::kTensor:
    case ArgumentKind::kBool:
    case ArgumentKind::kDType:
      return one.integer == other.integer;
    default:
      return one.range == other.range;
  }
}

bool same_op(const Graph& a, const Op& one, const Graph& b, const Op& other) {
  return one.arguments == other.arguments && one.outputs == other.outputs && one.scope == other.scope &&
         one.repeats == other.repeats && a.op_name(one) == b.op_name(other);
}

bool same_value(const Value& one, const Value& other) {
  return one.shape == other.shape && one.strides == other.strides && one.storage == other.storage &&
         one.dtype == other.dtype && one.kind == other.kind && one.sparse == other.sparse &&
         one.stored == other.stored;
}

// But for sizes. What a sparse value or a quantised weight holds is not told by its shape.
bool same_form(const Graph& a, const Graph& b) {
  const auto each = [](const auto& one, const auto& other, const auto& same) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), same);
  };
  return a.dims.size() == b.dims.size() && a.value_refs == b.value_refs && a.reals == b.reals &&
         a.sparse_forms.empty() && b.sparse_forms.empty() && a.scopes.size() == b.scopes.size() &&
         each(a.ops, b.ops, [&](const Op& one, const Op& other) { return same_op(a, one, b, other); }) &&
         each(a.values, b.values, same_value) &&
         each(a.arguments, b.arguments,
              [&](const Argument& one, const Argument& other) { return same_argument(a, one, b, other); });
}

}  // namespace

std::optional<SizedGraph> SizedGraph::fit(const Grid& grid, std::span<const Graph* const> graphs) {
  if (graphs.empty()) return std::nullopt;
  const Graph& first = *graphs.front();
  std::vector<std::vector<std::int64_t>> numbers;
  for (const Graph* each : graphs) {
    if (!same_form(first, *each)) return std::nullopt;
    numbers.push_back(numbers_of(*each));
  }
  SizedGraph sized;
  sized.graph_ = std::make_shared<Graph>(first);
  const Interpolation interpolation(grid);
  std::map<std::vector<std::uint64_t>, std::uint32_t> known;
  std::vector<std::uint64_t> values(graphs.size());
  for (std::uint32_t i = 0; i < numbers.front().size(); ++i) {
    const std::int64_t usual = numbers.front()[i];
    if (std::ranges::all_of(numbers, [&](const auto& each) { return each[i] == usual; })) continue;
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      if (numbers[g][i] < 0) return std::nullopt;
      values[g] = static_cast<std::uint64_t>(numbers[g][i]);
    }
    const auto next = static_cast<std::uint32_t>(sized.polynomials_.size());
    const auto [found, is_new] = known.emplace(values, next);
    sized.varying_.push_back({i, found->second});
    if (!is_new) continue;
    auto polynomial = interpolation.fit(values);
    if (!polynomial) return std::nullopt;
    sized.polynomials_.push_back(*std::move(polynomial));
  }
  return sized;
}

const Graph* SizedGraph::at(std::span<const std::int64_t> x) const {
  std::vector<std::int64_t> values;
  for (const Polynomial& each : polynomials_) {
    const auto value = each.at(x);
    if (!value || *value > static_cast<std::uint64_t>(INT64_MAX)) return nullptr;
    values.push_back(static_cast<std::int64_t>(*value));
  }
  auto next = varying_.begin();
  std::uint32_t at = 0;
  each_number(*graph_, [&](std::int64_t& number) {
    if (next != varying_.end() && next->number == at) number = values[next->polynomial], ++next;
    ++at;
  });
  return graph_.get();
}

bool SizedGraph::agrees(std::span<const std::int64_t> x, const Graph& captured) const {
  const Graph* told = at(x);
  return told != nullptr && same_form(*told, captured) && numbers_of(*told) == numbers_of(captured);
}

void SizedGraph::promise_within(std::span<const std::int64_t> farthest) {
  for (Polynomial& each : polynomials_) each.promise_within(farthest);
}

}  // namespace opscope
