// Runs single ops of a graph over and over, each alone, and tells what one run of it takes.
//
// An op is called through the dispatcher with no gradients and no autocast, as in the model: the same
// arguments, and tensors of the same sizes, strides and alignment. Activations are where the op before would
// have left them, in the caches as far as they fit. Weights, and what a backward pass reads of the forward
// pass, are read from other memory at each call, past the last cache, as in a model that is larger than it.
// On a device the repetitions are queued behind other work before the first of them begins, so that the time
// to launch them is not counted; on the host they are called one after the other.
#pragma once

#include <c10/core/Event.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/measurement.h"
#include "torch/timing/replay_inputs.h"

namespace opscope::engine {

struct ReplayOptions {
  std::size_t cache_bytes = 0;  // of the device's last cache; 0: what the host says of its own
  double min_seconds = 0.02;    // of repetitions, at least
  // On the host: before each repetition other memory goes through the caches, and then what the op before
  // would have left. Its code, its weights and the memory of its results are then where they are in a model.
  bool as_in_model = false;
};

// Other memory that goes through the caches of all threads, a part of it at each turn.
class CacheTraffic {
 public:
  explicit CacheTraffic(std::size_t cache_bytes);
  void run();

 private:
  std::vector<std::uint64_t> memory_;
  std::size_t at_ = 0;
};

class Replayer {
 public:
  explicit Replayer(const ReplayOptions& options);
  ~Replayer();
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  // Throws Error with the reason where it cannot be run, or does another thing than in the model.
  OpTime replay(const Graph& graph, const Op& op);
  // As before each repetition where options say as_in_model.
  void disturb_caches();

 private:
  class Randomness;
  class Hold;
  void check_results(const Graph& graph, const Op& op, const PreparedCall& call, const Stack& results) const;
  OpTime time_on_host(const PreparedCall& call) const;
  OpTime time_as_in_model(const Graph& graph, const Op& op, const PreparedCall& call);
  OpTime time_on_device(const PreparedCall& call, c10::Device device);

  ReplayOptions options_;
  WeightPool pool_;
  std::unique_ptr<Hold> hold_;
  std::unique_ptr<CacheTraffic> traffic_;
};

// Switches of torch that choose between kernels, where they are not as they come: "cudnn benchmark,
// deterministic".
std::string kernel_settings();

}  // namespace opscope::engine
