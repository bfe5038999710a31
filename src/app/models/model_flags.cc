// Reads the words into a request.
#include "app/models/model_flags.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "app/models/tracers.h"
#include "app/models/values.h"
#include "base/error.h"
#include "base/text.h"
#include "graph/dtype.h"

namespace opscope {
namespace {

constexpr std::string_view kDefaultModel = "resnet18";
constexpr std::array<std::int64_t, 4> kDefaultShape{1, 3, 224, 224};

struct DTypeAlias {
  std::string_view alias, name;
};
constexpr std::array kDTypeAliases{
    DTypeAlias{"bf16", "bfloat16"}, DTypeAlias{"double", "float64"}, DTypeAlias{"float", "float32"},
    DTypeAlias{"fp16", "float16"},  DTypeAlias{"fp32", "float32"},   DTypeAlias{"fp64", "float64"},
    DTypeAlias{"half", "float16"},
};

std::string dtype_name(const char* flag, std::string text) {
  if (text.starts_with("torch.")) text = text.substr(6);
  const auto alias = std::ranges::find(kDTypeAliases, text, &DTypeAlias::alias);
  if (alias != kDTypeAliases.end()) return std::string(alias->name);
  if (text.empty() || (dtype_from_name(text) && text != "undefined")) return text;
  std::vector<std::string_view> names;
  for (const DTypeInfo& row : kDTypes) names.push_back(row.name);
  const std::string near = did_you_mean(text, names);
  throw Error("no dtype called '" + text + "'", flag,
              near.empty() ? "for example float16 or bfloat16" : near);
}

std::string checked_phase(const std::string& text) {
  if (text.empty() || text == "prefill" || text == "decode") return text;
  throw Error("no phase called '" + text + "'", "--phase", "choose prefill or decode");
}

std::string model_of(const ModelFlags& flags) {
  if (!flags.positional.empty() && !flags.model.empty() && flags.positional != flags.model)
    throw Error("two models: '" + flags.positional + "' and --model '" + flags.model + "'", "", "name one");
  return flags.model.empty() ? flags.positional : flags.model;
}

// NAME=REST; throws unless both are there.
std::pair<std::string, std::string> split_name(const char* flag, const std::string& text,
                                               const std::string& example) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    throw Error("'" + text + "' is not NAME=VALUE", flag, "for example " + example);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

NamedInput named_input(const std::string& text) {
  const std::string example = "--input input_ids=1x128:int64, or mask=scalar:bool";
  auto [name, rest] = split_name("--input", text, example);
  const std::size_t colon = rest.find(':');
  NamedInput input{std::move(name), {}, {}};
  if (colon != std::string::npos) input.dtype = dtype_name("--input", rest.substr(colon + 1));
  if (const std::string shape = rest.substr(0, colon); shape != "scalar")
    input.shape = parse_sizes("--input", shape, example);
  return input;
}

CaptureRequest::Sizes named_sizes(const char* flag, const std::vector<std::string>& texts, std::int64_t least,
                                  const std::string& example) {
  CaptureRequest::Sizes sizes;
  for (const std::string& text : texts) {
    const auto [name, size] = split_name(flag, text, example);
    sizes[name] = parse_integer(flag, size, least);
  }
  return sizes;
}

// What the file is called must not depend on where one stands: the cache is shared by all folders.
std::string absolute_if_there(const std::string& model) {
  std::error_code ignored;
  if (model.empty() || !std::filesystem::exists(model, ignored)) return model;
  if (std::filesystem::is_directory(model, ignored) &&
      !std::filesystem::exists(model + "/config.json", ignored))
    return model;
  return std::filesystem::absolute(model).lexically_normal().string();
}

void read_inputs(const ModelFlags& flags, CaptureRequest& request) {
  for (const std::string& shape : flags.input_shape)
    request.input_shapes.push_back(
        parse_sizes("--input-shape", shape, "--input-shape 1 3 224 224, or 1,3,224,224"));
  if (!flags.batch.empty()) request.batch = parse_integer("--batch", flags.batch, 1);
  if (!flags.seq_len.empty()) request.seq_len = parse_integer("--seq-len", flags.seq_len, 1);
  if (!flags.past_len.empty()) request.past_len = parse_integer("--past-len", flags.past_len, 0);
  if (!flags.image_size.empty())
    request.image_size = parse_sizes("--image-size", flags.image_size, "--image-size 384, or 480x640");
  if (request.image_size.size() > 2)
    throw Error("an image has a height and a width: '" + flags.image_size + "'", "--image-size",
                "for example --image-size 384, or 480x640");
  for (const std::string& input : flags.input) request.inputs.push_back(named_input(input));
  request.phase = checked_phase(flags.phase);
}

constexpr std::array<std::string_view, 7> kOptimizers{"sgd",     "sgd-momentum", "adam", "adamw",
                                                      "adagrad", "rmsprop",      "none"};

void read_training(const ModelFlags& flags, CaptureRequest& request) {
  request.training = flags.training;
  request.optimizer = flags.optimizer;
  if (!flags.optimizer.empty() && std::ranges::find(kOptimizers, flags.optimizer) == kOptimizers.end()) {
    const std::string near = did_you_mean(flags.optimizer, kOptimizers);
    throw Error("no optimizer called '" + flags.optimizer + "'", "--optimizer",
                near.empty() ? "for example sgd or adam" : near);
  }
  if (!flags.optimizer.empty() && !flags.training)
    throw Error("an optimizer is a part of training", "--optimizer", "add --training");
  if (!flags.training) return;
  if (request.phase == "decode")
    throw Error("a decode step with a KV cache is not a training step", "--phase",
                "leave it out, or use prefill");
  if (request.tracer != "auto" && request.tracer != "static" && request.tracer != "eager")
    throw Error(request.tracer + " traces a forward pass only", "--training",
                "leave out --tracer: the engine captures training");
}

void choose_default(CaptureRequest& request, std::vector<std::string>* notes) {
  request.model = kDefaultModel;
  if (request.input_shapes.empty())
    request.input_shapes.emplace_back(kDefaultShape.begin(), kDefaultShape.end());
  std::string shape;
  for (const auto size : request.input_shapes.front()) shape += " " + std::to_string(size);
  if (notes) notes->push_back("no model given, so this is " + request.model + " at" + shape);
}

}  // namespace

CaptureRequest request_from(const ModelFlags& flags, std::vector<std::string>* notes) {
  CaptureRequest request;
  request.model = absolute_if_there(model_of(flags));
  read_inputs(flags, request);
  request.task = flags.task;
  request.limits = named_sizes("--limit", flags.limit, 0, "--limit nms=100");
  request.dims = named_sizes("--dim", flags.dim, 1, "--dim batch=8");
  request.dtype = dtype_name("--dtype", flags.dtype);
  request.device = flags.device;
  request.tracer = checked_tracer(flags.tracer);
  request.registry = registry_path(flags.registry);
  request.trust = flags.trust;
  request.download = flags.download;
  request.source_lines = flags.source_lines;
  read_training(flags, request);
  request.use_cache = !flags.no_cache;
  if (request.model.empty()) choose_default(request, notes);
  return request;
}

}  // namespace opscope
