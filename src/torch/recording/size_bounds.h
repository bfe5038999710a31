// The account of sizes that depend on data: which limits apply, which values have such a size because they
// were computed from one, and what is said of them at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "torch/recording/scopes.h"

namespace opscope::engine {

// Names that the user can limit: "nms", "nonzero".
std::span<const std::string_view> limit_names();

class SizeBounds {
 public:
  SizeBounds(Graph& graph, const Scopes& scopes) : graph_(graph), scopes_(scopes) {}

  std::map<std::string, std::int64_t, std::less<>> limits;  // that the user set, by name

  std::optional<std::int64_t> limit(std::string_view name) const;
  // The size to take for one that is at most `largest`; what comes out is flagged.
  std::int64_t bound(std::string_view op, std::string_view limit, std::int64_t largest);
  void add_number(std::int64_t number) { numbers_.insert(number); }  // that Python code read
  bool any() const { return !uses_.empty(); }

  bool has(ValueId value) const { return value < bounded_.size() && bounded_[value]; }
  bool has(const Argument& argument, bool creates) const;
  bool has_size(
      std::span<const Argument> arguments) const;  // of a tensor that is created: zeros(len(boxes), 4)
  void add(ValueId value);
  // One line for each op and limit, before the other notes: how much of the report rests on them.
  void note();

 private:
  // Calls of one op whose sizes depend on data.
  struct Use {
    std::string module;  // of the first
    std::uint32_t calls = 0;
    std::int64_t largest = 0;
  };

  Graph& graph_;
  const Scopes& scopes_;
  std::vector<bool> bounded_;                 // by value: its size is the largest possible
  std::unordered_set<std::int64_t> numbers_;  // read by Python code
  std::unordered_set<std::int64_t> sizes_;    // first dimensions, of which Python makes new tensors
  std::map<std::pair<std::string, std::string>, Use> uses_;  // by op and limit
};

// Per thread: sizes taken at their largest so far.
inline thread_local std::uint32_t bounds_made = 0;

}  // namespace opscope::engine
