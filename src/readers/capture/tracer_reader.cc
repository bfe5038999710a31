// The inverse of what graph/writer.cc writes for a tracer. Ids are checked with all others, by Graph::verify.
#include "readers/capture/tracer_reader.h"

namespace opscope {
namespace {

using json::kAll;
using json::Keys;

constexpr Keys<6> kRung{{"tracer", "outcome", "reason", "hint", "detail", "seconds"}, 0b000011};
constexpr Keys<2> kPart{{"name", "calls"}, kAll};
constexpr Keys<4> kBreak{{"reason", "detail", "source", "after"}, 0b0001};
constexpr Keys<9> kNode{{"id", "kind", "name", "target", "source", "part", "module", "inputs", "outputs"},
                        0b000000111};

}  // namespace

void TracerReader::rung(json::value item) {
  auto& rung = graph_.capture.rungs.emplace_back();
  std::string* const words[] = {&rung.tracer, &rung.outcome, &rung.reason, &rung.hint, &rung.detail};
  json::each_field(place_, item, kRung, [&](std::size_t key, json::value it) {
    if (key < std::size(words))
      *words[key] = json::text(place_, it);
    else
      rung.seconds = json::real(place_, it);
  });
}

void TracerReader::part(json::value item) {
  auto& part = graph_.parts.emplace_back();
  json::each_field(place_, item, kPart, [&](std::size_t key, json::value it) {
    if (key == 0)
      part.name = json::text(place_, it);
    else
      part.calls = json::id(place_, it);
  });
}

void TracerReader::graph_break(json::value item) {
  auto& broken = graph_.breaks.emplace_back();
  std::string* const words[] = {&broken.reason, &broken.detail, &broken.source};
  json::each_field(place_, item, kBreak, [&](std::size_t key, json::value it) {
    if (key < std::size(words))
      *words[key] = json::text(place_, it);
    else
      broken.after = json::id(place_, it);
  });
}

void TracerReader::node(json::value item) {
  Node node;
  json::each_field(place_, item, kNode, [&](std::size_t key, json::value it) {
    switch (key) {
      case 0:
        pools_.check_id(it, graph_.nodes.size());
        break;
      case 1:
        node.kind = node_kind(json::text(place_, it));
        break;
      case 2:
        node.name = pools_.string(it);
        break;
      case 3:
        node.target = pools_.string(it);
        break;
      case 4:
        node.source = pools_.string(it);
        break;
      case 5:
        node.part = json::id(place_, it);
        break;
      case 6:
        node.module = json::id(place_, it);
        break;
      case 7:
        node.inputs = pools_.node_references(it);
        break;
      default:
        node.outputs = pools_.references(it);
    }
  });
  graph_.nodes.push_back(node);
}

NodeKind TracerReader::node_kind(std::string_view word) const {
  for (auto kind = NodeKind::kPlaceholder; kind <= NodeKind::kOutput;
       kind = static_cast<NodeKind>(static_cast<int>(kind) + 1))
    if (name(kind) == word) return kind;
  json::fail(place_, "expected placeholder, get_attr, call_module, call_function, call_method or output");
}

}  // namespace opscope
