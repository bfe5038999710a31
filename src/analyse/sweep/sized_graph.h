// A model's graph at sizes that were not captured: every shape, stride and whole-number argument of its ops
// as a polynomial of the sizes. For what depends on shapes in other ways than a polynomial can tell, such as
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyse/sweep/polynomial.h"
#include "graph/graph.h"

namespace opscope {

class SizedGraph {
 public:
  // `graphs`: at every point of the grid, the last variable fastest. nullopt where they differ in more than
  // sizes, or a number is below 0 and not the same in all.
  static std::optional<SizedGraph> fit(const Grid& grid, std::span<const Graph* const> graphs);

  // Every number is what the capture has.
  bool agrees(std::span<const std::int64_t> x, const Graph& captured) const;
  // The graph there, until the next call: not for several threads. nullptr where a number would not be whole.
  const Graph* at(std::span<const std::int64_t> x) const;
  void promise_within(std::span<const std::int64_t> farthest);

 private:
  struct Varying {
    std::uint32_t number = 0, polynomial = 0;
  };

  std::shared_ptr<Graph> graph_;         // filled in for each place
  std::vector<Varying> varying_;         // all other numbers are the same everywhere
  std::vector<Polynomial> polynomials_;  // each once
};

}  // namespace opscope
