// What another tool said of a model when it was run on it: its number, and the parts of it at the finest
// grain that the tool gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace opscope {

// One count of a tool, as it names things: an aten op in a module, or a module of a class.
struct PeerCount {
  std::string module;                  // "layer1.0.conv1"; "" for the root
  std::string op;                      // "aten::conv2d", "conv", "Conv2d"
  std::optional<std::uint64_t> count;  // in the tool's unit; nullopt: it was seen, and there is no formula
  std::uint64_t calls = 1;
};

// What one of the tool's counts stands for.
enum class PeerUnit : std::uint8_t {
  kFlops,  // two for a multiply-accumulate
  kMacs,   // one for a multiply-accumulate, and one for other arithmetic where it counts any
};

struct PeerAnswer {
  std::string tool, version;  // "fvcore", "0.1.5"
  PeerUnit unit = PeerUnit::kFlops;
  std::uint64_t total = 0;
  std::optional<std::uint64_t> params;  // nullopt: the tool does not count them
  bool inclusive = false;               // a module's counts hold those of the modules below it
  std::uint64_t divided_by = 1;         // the total is for one sample of so many
  std::vector<PeerCount> counts;
  std::vector<std::string> free_ops;    // that the tool takes as costing nothing
  std::vector<std::string> not_called;  // modules
  std::vector<std::string> notes;       // how it had to be called
  std::string error, hint;              // "": it ran
};

// All that was asked about one model.
struct PeerRun {
  std::vector<PeerAnswer> answers;
  std::uint64_t weight_bytes = 0;  // that were made so that the tools could run it
  std::string error, hint;         // the model could not be had at all
};

}  // namespace opscope
