#include "graph/either_way.h"

#include <unordered_map>

#include "graph/alignment.h"
#include "graph/signature.h"

namespace opscope {
namespace {

using Ids = std::unordered_map<std::string, Id>;

// The same number for the same work in the same module.
std::vector<Id> numbered(const Graph& graph, Ids& ids) {
  std::vector<Id> numbers;
  for (const Op& op : graph.ops) {
    std::string text = signature_of(graph, op) + " in ";
    text += graph.path(graph.module_of(op));
    numbers.push_back(ids.try_emplace(std::move(text), static_cast<Id>(ids.size())).first->second);
  }
  return numbers;
}

}  // namespace

void bound_by(Graph& graph, const Graph& other) {
  Ids ids;
  const auto theirs = numbered(other, ids), ours = numbered(graph, ids);
  const auto partners = align(theirs, ours);
  for (std::size_t op = 0; op < partners.size(); ++op)
    if (partners[op] == kNone) graph.ops[op].bounded = true;
}

}  // namespace opscope
