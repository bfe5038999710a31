#include "torch/recording/size_bounds.h"

#include <algorithm>
#include <array>

namespace opscope::engine {

namespace {

constexpr std::array kLimits = std::to_array<std::string_view>({
    "bincount",           // bins, where minlength does not say
    "item",               // a number read from a tensor
    "nms",                // boxes kept
    "nonzero",            // true elements: nonzero, argwhere, where, x[mask], masked_select
    "repeat_interleave",  // rows after repeating
    "unique",             // distinct elements
});
static_assert(std::ranges::is_sorted(kLimits));

// Arguments that say how many: of arange and slice, topk, narrow, repeat.
constexpr std::array kCounts = std::to_array<std::string_view>({"end", "k", "length", "repeats"});

}  // namespace

std::span<const std::string_view> limit_names() { return kLimits; }

std::optional<std::int64_t> SizeBounds::limit(std::string_view name) const {
  const auto found = limits.find(name);
  return found != limits.end() ? std::optional(found->second) : std::nullopt;
}

std::int64_t SizeBounds::bound(std::string_view op, std::string_view name, std::int64_t largest) {
  const auto size = std::min(largest, limit(name).value_or(largest));
  auto& use = uses_[{std::string(op), std::string(name)}];
  if (use.calls++ == 0) use.module = scopes_.path();
  use.largest = std::max(use.largest, size);
  ++bounds_made;
  return size;
}

bool SizeBounds::has(const Argument& argument, bool creates) const {
  // 0 and 1 are also dimensions, strides and switches: they count only where they can be nothing but a size.
  const auto name = numbers_.empty() ? std::string_view() : graph_.text(argument.name);
  const bool is_size = (creates && name == "size") || std::ranges::find(kCounts, name) != kCounts.end();
  const auto known = [&](std::int64_t number) {
    return (number > 1 || is_size) && numbers_.contains(number);
  };
  switch (argument.kind) {
    case ArgumentKind::kTensor:
      return has(static_cast<ValueId>(argument.integer));
    case ArgumentKind::kTensorList:
      return std::ranges::any_of(graph_.values_in(argument), [&](ValueId value) { return has(value); });
    case ArgumentKind::kInt:
      return known(argument.integer);
    case ArgumentKind::kIntList:
      return !numbers_.empty() && std::ranges::any_of(graph_.ints_in(argument), known);
    default:
      return false;
  }
}

bool SizeBounds::has_size(std::span<const Argument> arguments) const {
  return std::ranges::any_of(arguments, [&](const Argument& argument) {
    if (argument.kind == ArgumentKind::kInt) return sizes_.contains(argument.integer);
    return argument.kind == ArgumentKind::kIntList && argument.range.size > 0 &&
           sizes_.contains(graph_.ints_in(argument)[0]);
  });
}

void SizeBounds::add(ValueId value) {
  if (value >= bounded_.size()) bounded_.resize(graph_.values.size());
  bounded_[value] = true;
  const auto shape = graph_.shape(graph_.values[value]);
  if (!shape.empty() && shape[0] > 1) sizes_.insert(shape[0]);
}

void SizeBounds::note() {
  std::vector<Diagnostic> notes;
  for (const auto& [key, use] : uses_) {
    const auto& [op, name] = key;
    std::string text = use.calls == 1 ? "1 size depends" : std::to_string(use.calls) + " sizes depend";
    text += " on data and was taken as ";
    if (use.calls > 1) text.replace(text.find("was"), 3, "were");
    text += limit(name) ? "at most the limit given, " : "the largest possible, up to ";
    text += std::to_string(use.largest) + " (--limit " + name + "=N)";
    notes.push_back({"bound", op, use.module, std::move(text)});
  }
  graph_.diagnostics.insert(graph_.diagnostics.begin(), notes.begin(), notes.end());
}

}  // namespace opscope::engine
