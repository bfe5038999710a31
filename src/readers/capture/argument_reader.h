// The parts of a capture that end in the graph's pools: lists, names, and the arguments of an op.
#pragma once

#include <array>
#include <vector>

#include "graph/graph.h"
#include "readers/json/access.h"

namespace opscope {

class ArgumentReader {
 public:
  ArgumentReader(Graph& graph, json::Place& place) : graph_(graph), place_(place) {}

  StringId string(json::value item) { return graph_.intern(json::text(place_, item)); }
  DType dtype(json::value item);
  StringId device(json::value item);
  // Takers of fields. Ids are there for people; they are the index or the file is not ours.
  auto check_id(std::size_t index) const {
    return [this, index](json::value item) { expect_id(item, index); };
  }
  auto to_string(StringId& to) {
    return [this, &to](json::value item) { to = string(item); };
  }

  Range integers(json::value list);
  Range references(json::value list);
  Range node_references(json::value list);
  // {"input":{"tensor":0},"stride":{"ints":[2,2]},"bias":null}
  Range arguments(json::value object);

 private:
  void expect_id(json::value item, std::size_t index) const;
  Range reals(json::value list);
  Range booleans(json::value list);
  Range optional_references(json::value list);
  StringId argument_name(std::string_view word);
  void read(Argument& argument, json::value item);
  void read_number(Argument& argument, json::value item);
  void read_tagged(Argument& argument, json::value item);

  template <class T>
  Range since(std::size_t begin, const std::vector<T>& pool) const {
    if (pool.size() >= kNone) json::fail(place_, "more than 2^32 - 2 items of one kind");
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(pool.size() - begin)};
  }

  // A list's items, each read by `one`, at the end of a pool.
  template <class T, class Read>
  Range collect(json::value list, std::vector<T>& pool, Read one) {
    const auto begin = pool.size();
    json::each(place_, list, [&](json::value item) { pool.push_back(one(place_, item)); });
    return since(begin, pool);
  }

  Graph& graph_;
  json::Place& place_;
  DType last_dtype_ = DType::kUndefined;
  StringId last_device_ = 0;
  std::array<StringId, 256> recent_names_{};
};

}  // namespace opscope
