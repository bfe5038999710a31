#include "app/request/training.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <vector>

#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

// An optimiser, and the forms of its step besides the one that PyTorch takes by itself.
struct Optimizer {
  std::string_view name, variants;
};
constexpr std::array kOptimizers{
    Optimizer{"sgd", "foreach fused loop"},
    Optimizer{"sgd-momentum", "foreach fused loop 8bit"},
    Optimizer{"adam", "foreach fused loop 8bit"},
    Optimizer{"adamw", "foreach fused loop 8bit"},
    Optimizer{"adagrad", "foreach fused loop"},
    Optimizer{"rmsprop", "foreach loop"},
    Optimizer{"adafactor", "foreach loop"},
    Optimizer{"muon", ""},
    Optimizer{"none", ""},
};

constexpr std::int64_t kLargestRank = 65536;

class Checks {
 public:
  Checks(CaptureRequest& request, Voice voice) : request_(request), voice_(voice) {}

  void check() {
    if (!request_.training) check_without();
    check_optimizer(request_.optimizer);
    check_autocast();
    if (!request_.lora.empty()) check_lora(request_.lora);
    check_patterns("checkpoint", request_.checkpoint);
    check_patterns("freeze", request_.freeze);
    if (!request_.training) return;
    if (request_.phase == "decode")
      throw Error("a decode step with a KV cache is not a training step", where("phase"),
                  said("leave it out, or use prefill", "leave --phase out, or use prefill"));
    if (request_.is_traced())
      throw Error(request_.tracer + " traces a forward pass only", where("training"),
                  said("leave out --tracer: the engine captures training",
                       "leave out the tracer: the engine captures training"));
    if (request_.master_weights && request_.optimizer == "none")
      throw Error("master weights are held by an optimizer, and there is none", where("master_weights"),
                  said("name an optimizer: --optimizer adamw", "name an optimizer: optimizer='adamw'"));
  }

 private:
  std::string where(std::string_view key) const { return capture_field(key).name_for(voice_); }
  std::string said(std::string flags, std::string arguments) const {
    return voice_ == Voice::kFlags ? flags : arguments;
  }

  void check_without() const {
    struct Part {
      std::string_view key, what;
      bool is_given;
    };
    for (const auto& [key, what, is_given] :
         {Part{"optimizer", "an optimizer is", !request_.optimizer.empty()},
          Part{"accumulate", "gradient accumulation is", request_.accumulate.has_value()},
          Part{"checkpoint", "activation checkpointing is", !request_.checkpoint.empty()},
          Part{"freeze", "parameters that are not trained are", !request_.freeze.empty()},
          Part{"master_weights", "master weights are", request_.master_weights}})
      if (is_given)
        throw Error(std::string(what) + " a part of training", where(key),
                    said("add --training", "ask for training too: training=True, --training"));
  }

  void check_optimizer(const std::string& text) const {
    if (text.empty()) return;
    const auto colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const auto found = std::ranges::find(kOptimizers, name, &Optimizer::name);
    if (found == kOptimizers.end()) {
      std::vector<std::string_view> names;
      for (const Optimizer& row : kOptimizers) names.push_back(row.name);
      throw Error("no optimizer called '" + name + "'", where("optimizer"),
                  did_you_mean(name, names, said("choose " + one_of(names), join(names))));
    }
    if (colon == std::string::npos) return;
    const std::string variant = text.substr(colon + 1);
    const bool any = !found->variants.empty();
    const auto known = any ? split_by(found->variants, ' ') : std::vector<std::string_view>();
    if (std::ranges::find(known, variant) != known.end()) return;
    throw Error(name + " has no variant '" + variant + "'", where("optimizer"),
                any ? did_you_mean(variant, known, name + " has " + one_of(known)) : "write " + name);
  }

  void check_autocast() const {
    const std::string& dtype = request_.autocast;
    if (dtype.empty()) return;
    if (dtype != "bfloat16" && dtype != "float16")
      throw Error("autocast to " + dtype + " is none", where("autocast"), "choose bfloat16 or float16");
    if (request_.is_traced())
      throw Error(
          request_.tracer + " is not run under autocast", where("autocast"),
          said("leave out --tracer: the engine captures it", "leave out the tracer: the engine captures it"));
  }

  // Into "r=16,alpha=16,dropout=0,targets=q_proj,v_proj".
  void check_lora(std::string& text) const {
    std::string rank, alpha, dropout = "0", targets;
    std::string* part = nullptr;
    for (const std::string_view item : split_by(text, ',')) {
      const auto equals = item.find('=');
      const std::string_view key = item.substr(0, equals);
      if (equals == std::string_view::npos) {
        if (part != &targets || item.empty()) fail_lora("'" + std::string(item) + "' is not NAME=VALUE");
        targets.append(",").append(item);
        continue;
      }
      part = key == "r"         ? &rank
             : key == "alpha"   ? &alpha
             : key == "dropout" ? &dropout
             : key == "targets" ? &targets
                                : nullptr;
      if (!part)
        fail_lora("'" + std::string(key) +
                  "' is no setting of an adapter: these are r, alpha, dropout and targets");
      *part = item.substr(equals + 1);
    }
    if (rank.empty()) fail_lora("the adapters have no rank");
    check_number("r", rank);
    if (alpha.empty()) alpha = rank;
    check_number("alpha", alpha);
    const auto rate = number_from<double>(dropout);
    if (!rate || !(*rate >= 0 && *rate < 1))
      fail_lora("dropout=" + dropout + " is not a number from 0 to below 1");
    if (targets.empty()) targets = "all-linear";
    text = "r=" + rank + ",alpha=" + alpha + ",dropout=" + dropout + ",targets=" + targets;
  }
  void check_number(const std::string& key, const std::string& text) const {
    const auto number = number_from<std::int64_t>(text);
    if (!number || *number < 1 || *number > kLargestRank)
      fail_lora(key + "=" + text + " is not a whole number of 1 or more");
  }
  [[noreturn]] void fail_lora(const std::string& what) const {
    throw Error(
        what, where("lora"),
        "for example " + said("--lora r=16,targets=q_proj,v_proj", "lora='r=16,targets=q_proj,v_proj'"));
  }

  void check_patterns(std::string_view key, const std::string& text) const {
    if (text.empty()) return;
    for (const std::string_view pattern : split_by(text, ','))
      if (pattern.empty() || pattern == "!")
        throw Error("'" + text + "' has an empty pattern", where(key),
                    "for example " + std::string(capture_field(key).rules.example));
  }

  CaptureRequest& request_;
  Voice voice_;
};

}  // namespace

void check_training(CaptureRequest& request, Voice voice) { Checks(request, voice).check(); }

std::string optimizer_words() { return join(std::views::transform(kOptimizers, &Optimizer::name), " "); }

}  // namespace opscope
