// The recording's account of sizes that depend on data: which limits apply, which values have such a size,
// and what is said of them at the end.
#include <algorithm>
#include <array>

#include "torch/recording/recording.h"

namespace opscope::engine {

namespace {

// Arguments that say how many: of arange and slice, topk, narrow, repeat.
constexpr std::array kCounts = std::to_array<std::string_view>({"end", "k", "length", "repeats"});

}  // namespace

std::optional<std::int64_t> Recording::limit(std::string_view name) const {
  const auto found = limits.find(name);
  return found != limits.end() ? std::optional(found->second) : std::nullopt;
}

std::int64_t Recording::bound(const std::string& op, std::string_view name, std::int64_t largest) {
  std::lock_guard lock(mutex);
  const auto size = std::min(largest, limit(name).value_or(largest));
  auto& use = bound_uses_[{op, std::string(name)}];
  if (use.calls++ == 0) use.module = scope_path();
  use.largest = std::max(use.largest, size);
  ++bounds_made;
  return size;
}

bool Recording::is_bounded(const Argument& argument, bool creates) const {
  // 0 and 1 are also dimensions, strides and switches: they count only where they can be nothing but a size.
  const auto name = bounded_numbers_.empty() ? std::string_view() : graph.text(argument.name);
  const bool is_size = (creates && name == "size") || std::ranges::find(kCounts, name) != kCounts.end();
  const auto known = [&](std::int64_t number) {
    return (number > 1 || is_size) && bounded_numbers_.contains(number);
  };
  switch (argument.kind) {
    case ArgumentKind::kTensor:
      return is_bounded(static_cast<ValueId>(argument.integer));
    case ArgumentKind::kTensorList:
      return std::ranges::any_of(graph.values_in(argument), [&](ValueId value) { return is_bounded(value); });
    case ArgumentKind::kInt:
      return known(argument.integer);
    case ArgumentKind::kIntList:
      return !bounded_numbers_.empty() && std::ranges::any_of(graph.ints_in(argument), known);
    default:
      return false;
  }
}

// zeros(len(boxes), 4)
bool Recording::has_bounded_size(const Pending& pending) const {
  for (const auto& argument : pending.arguments) {
    if (argument.kind == ArgumentKind::kInt && bounded_sizes_.contains(argument.integer)) return true;
    if (argument.kind == ArgumentKind::kIntList && argument.range.size > 0 &&
        bounded_sizes_.contains(graph.ints_in(argument)[0]))
      return true;
  }
  return false;
}

void Recording::set_bounded(ValueId value) {
  if (value >= bounded_.size()) bounded_.resize(graph.values.size());
  bounded_[value] = true;
  const auto shape = graph.shape(graph.values[value]);
  if (!shape.empty() && shape[0] > 1) bounded_sizes_.insert(shape[0]);
}

// One line for each op and limit, before the other notes: how much of the report rests on them.
void Recording::note_bounds() {
  std::vector<Diagnostic> notes;
  for (const auto& [key, use] : bound_uses_) {
    const auto& [op, name] = key;
    std::string text = use.calls == 1 ? "1 size depends" : std::to_string(use.calls) + " sizes depend";
    text += " on data and was taken as ";
    if (use.calls > 1) text.replace(text.find("was"), 3, "were");
    text += limit(name) ? "at most the limit given, " : "the largest possible, up to ";
    text += std::to_string(use.largest) + " (--limit " + name + "=N)";
    notes.push_back({"bound", op, use.module, std::move(text)});
  }
  graph.diagnostics.insert(graph.diagnostics.begin(), notes.begin(), notes.end());
}

}  // namespace opscope::engine
