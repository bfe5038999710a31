// A language model as it is served: what it holds, what its prefill and its decode step cost, how many
// sequences and how long ones fit a device, and how fast that can be.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyse/llm/served.h"
#include "analyse/memory/need.h"
#include "analyse/profile/profile.h"

namespace opscope {

struct LlmQuestion {
  std::int64_t prompt = 2048, generate = 256;
  bool prompt_is_given = false;  // else a model with fewer positions gets a shorter prompt
  std::vector<std::int64_t> batches{1, 8, 32};
  std::vector<ProfileOptions> devices{};  // one with hardware for each device; without: sizes alone
  std::string reserve{};
  Routing routing{};  // of mixtures of experts
  bool plot = false;  // the points of the picture too

  std::int64_t context() const { return prompt + generate; }
  // The step in the middle of what is generated stands for all: bytes and FLOPs grow evenly with the context.
  std::int64_t middle() const { return prompt + generate / 2; }
};

// Layers whose caches are alike.
struct LlmCacheGroup {
  std::uint32_t layers = 0;
  std::string form{};       // "2 x 8 heads x 128", "latent 512 + 64"
  Count token_bytes{};      // of one layer and one more token
  std::int64_t window = 0;  // tokens that it holds at most; 0: all
  Count sequence_bytes{};   // of one layer where it does not grow: of a full window, of a state
};

struct LlmModel {
  std::string name, source;
  Parameters parameters{};
  Count active{};                                   // parameters that one token uses
  std::optional<Count> active_without_embedding{};  // as some papers count
  bool has_experts = false;
  struct Experts {
    std::uint64_t layers = 0, experts = 0, chosen = 0;
  };
  std::vector<Experts> experts{};  // of layers that are alike
  std::string weight_dtypes;       // "bfloat16", "float8_e4m3fn + bfloat16"
  std::string cache_dtype{};
  std::vector<LlmCacheGroup> cache{};
  std::int64_t positions = 0;  // 0: no limit is known
  std::string published_dtype;

  Count cache_token_bytes() const;     // of all layers, for one more token of a long sequence
  Count cache_sequence_bytes() const;  // of those that do not grow
};

struct StepTime {
  double seconds = 0, compute_seconds = 0;  // compute: of kernels that arithmetic limits
  bool known = true;                        // false: there is work whose rate nobody says
  bool is_predicted = false;                // else the roofline's, the least that it can take
  TimeRange range{};                        // p10 and p90 of what is predicted
  bool is_compute_bound() const { return compute_seconds * 2 > seconds; }
};
// On so many of the device, which share all work and bytes evenly; what they say to each other is not in it.
StepTime predicted_time(const PredictedStep& step, std::int64_t devices);
// By the roofline.
StepTime step_time(const StepCosts& step, const ProfileOptions& options, std::int64_t devices);

// A batch on a device.
struct LlmRow {
  std::int64_t batch = 1;
  StepTime prefill{}, decode{};  // by the roofline
  StepTime predicted_prefill{}, predicted_decode{};
  MemorySplit memory{};  // at the peak, with the cache of prompt and answer
  MemoryNeed need{};
  bool fits = false;
  std::int64_t devices = 1;               // that its memory needs
  std::optional<std::int64_t> longest{};  // context; nullopt: not even one token fits
  bool longest_is_positions = false;      // the model ends it, not the memory

  double first_token() const { return predicted_prefill.seconds; }
  double next_token() const { return predicted_decode.seconds; }
  double user_rate() const { return next_token() > 0 ? 1 / next_token() : 0; }
  double rate() const { return user_rate() * static_cast<double>(batch); }
};

struct LlmDevice {
  ProfileOptions options;
  std::size_t number = 0;    // in the question's devices, and so in ServedStep::predicted
  std::int64_t devices = 1;  // as many as the smallest batch needs
  Count memory{};            // of them all
  Reserve reserve{};         // of them all
  double ridge = 0;
  std::vector<LlmRow> rows{};
  std::optional<std::int64_t> largest{};  // batch at the question's context
  std::optional<MemorySplit> largest_memory{};

  const Device& device() const { return *options.hardware; }
};

// For the picture: tokens a second over batches, at a few contexts, on the first device.
struct LlmPoint {
  std::int64_t batch = 1, context = 0;
  double rate = 0, user_rate = 0;
  Count memory{};
  bool fits = true;
};

struct LlmAnswer {
  LlmQuestion question;
  LlmModel model;
  std::vector<ServedStep> prefills, decodes;  // by batch
  std::vector<MemorySplit> memory;            // by batch, at the question's context
  std::vector<LlmDevice> devices;
  std::vector<LlmPoint> points;
  std::vector<std::string> notes;
  std::vector<std::string> time_notes;  // what predicted times rest on
  std::size_t captures = 0;
};

// Captures a step: the graph, or nullptr and why not. tokens: of the prompt, or in the cache before the step.
using LlmGive = std::function<void(const Graph* graph, const std::string& problem)>;
using LlmCapture =
    std::function<void(LlmPhase phase, std::int64_t batch, std::int64_t tokens, const LlmGive& give)>;

// Throws Error where the model has no such steps or is asked for more than its positions allow; nullopt where
// the first capture failed.
std::optional<LlmAnswer> ask_llm(const LlmQuestion& question, const LlmCapture& capture);

// What the graph of a decode step says of its model; exposed for tests.
LlmModel llm_model(const Graph& decode, std::int64_t batch, std::int64_t past, const Routing& routing = {});

}  // namespace opscope
