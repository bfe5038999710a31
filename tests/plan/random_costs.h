// Random graphs of costs, small enough that every plan of them can be tried.
#pragma once

#include <random>
#include <string>

#include "plan/costs/cost_graph.h"

namespace opscope::testing {

inline CostGraph random_costs(std::mt19937& random, std::size_t most_nodes) {
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  const auto chance = [&](std::size_t one_in) { return below(one_in) == 0; };
  const auto amount = [&] { return chance(6) ? 0.0 : (1 + below(64)) / 8.0; };
  CostGraph graph;
  graph.overlap = chance(4);
  const bool small_memory = chance(2);
  for (std::uint32_t c = 0; c < 1 + below(3); ++c) {
    DeviceClass one{.name = "c" + std::to_string(c), .count = 1 + below(3)};
    if (small_memory && !chance(4)) one.memory_bytes = 20 + below(60);
    one.transfers_free = chance(5);
    one.watts = 1 + below(9), one.price_per_hour = 1 + below(9);
    graph.classes.push_back(one);
  }
  graph.shared_bytes = {5, 9};
  const std::size_t nodes = 1 + below(most_nodes), density = 1 + below(4);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    CostNode node{.id = std::int64_t{i}, .seconds = {}};
    const bool is_free = chance(5);
    for (std::size_t c = 0; c < graph.classes.size(); ++c)
      node.seconds.push_back(c > 0 && chance(8) ? kCannotRun : is_free ? 0 : amount());
    node.bytes = is_free && chance(2) ? 0 : below(12);
    node.peak_bytes = chance(2) ? below(8) : 0;
    if (chance(6)) node.shared.push_back(below(2));
    if (chance(6)) node.colocate = "g" + std::to_string(below(2));
    graph.nodes.push_back(node);
  }
  for (std::uint32_t i = 0; i < nodes; ++i) {
    CostTensor tensor{.producer = i};
    for (std::uint32_t to = i + 1; to < nodes; ++to)
      if (chance(1 + density * (to - i))) tensor.consumers.push_back(to);
    const double seconds = amount() / 4;
    for (std::size_t c = 0; c < graph.classes.size(); ++c)
      tensor.seconds.push_back(chance(4) ? amount() / 4 : seconds);
    if (chance(3)) tensor.bytes = below(6);
    if (!tensor.consumers.empty()) graph.tensors.push_back(tensor);
  }
  return graph;
}

}  // namespace opscope::testing
