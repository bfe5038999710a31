// Words for what a partition is made of.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "partition/dataflow.h"
#include "partition/partition.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 3> kStrategyNames{"none", "layer", "fused"};
static_assert(kStrategyNames.size() == static_cast<std::size_t>(Strategy::kFused) + 1);

struct BorderWords {
  std::string_view name, explanation;
};

constexpr std::array kBorders{
    BorderWords{"input", "it reads inputs and weights of the model"},
    BorderWords{"output", "its result is an output of the model"},
    BorderWords{"anchor", "the consumer (matmul, conv or attention) needs its own kernel"},
    BorderWords{"barrier", "the op on the other side cannot be fused"},
    BorderWords{"fork", "several consumers; fused with another one, or with none"},
    BorderWords{"join", "joins several branches; fused with another one"},
    BorderWords{"shape_change", "the consumer iterates over another shape"},
    BorderWords{"reduction", "the consumer needs the whole result before it can start"},
    BorderWords{"size_limit", "the fused kernel would be too large"},
    BorderWords{"cycle", "fusing would create a cycle between kernels"},
    BorderWords{"strategy", "--partition ends the subgraph here"},
    BorderWords{"unread", "nothing reads its result"},
    BorderWords{"phase", "the consumer is in another phase of the training step"},
};
static_assert(kBorders.size() == static_cast<std::size_t>(Border::kPhase) + 1);

}  // namespace

std::string_view name(Strategy strategy) { return kStrategyNames[static_cast<std::size_t>(strategy)]; }

Strategy strategy_from_name(std::string_view text) {
  const auto found = std::ranges::find(kStrategyNames, text);
  if (found != kStrategyNames.end()) return static_cast<Strategy>(found - kStrategyNames.begin());
  const std::string near = did_you_mean(text, kStrategyNames);
  throw Error(
      "no partition strategy called '" + std::string(text) + "'", "",
      near.empty() ? "none (one op each), layer (a leaf module each) or fused (one kernel each)" : near);
}

std::string_view name(Border border) { return kBorders[static_cast<std::size_t>(border)].name; }
std::string_view explanation(Border border) { return kBorders[static_cast<std::size_t>(border)].explanation; }

std::string_view why_not_partitioned(const Graph& graph, std::span<const OpCost> costs, OpId op) {
  const OpRule* rule = costs[op].rule;
  if (does_work(costs[op])) return "";
  if (rule == nullptr) return "it is declared to cost nothing";
  if (rule->category == Category::kMetadata) return "it reads sizes only";
  if (rule->fusion == Fusion::kView) return "a view: nothing is computed or moved";
  if (rule->category == Category::kCreate) return "it only sets memory aside";
  if (graph.outputs_of(graph.ops[op]).empty()) return "it gives no tensor";
  return "it returns its argument as it is, or works on no elements";
}

}  // namespace opscope
