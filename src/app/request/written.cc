// Reads the words by the fields' own rows, and judges whether a request is one that can be captured: the only
// place that does, for the command line and for Python.
#include "app/request/written.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <ranges>

#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"
#include "graph/dtype.h"

namespace opscope {
namespace {

constexpr std::string_view kDefaultModel = "resnet18";
const CaptureRequest::Shape kDefaultShape{1, 3, 224, 224};

// One field's texts into its member.
struct Reader {
  const CaptureField& field;
  const std::vector<std::string>& texts;

  std::string flag() const { return std::string(field.flag); }
  std::string example() const { return flag() + " " + std::string(field.rules.example); }

  void operator()(bool& on) const { on = texts.back() == "true"; }
  void operator()(std::string& text) const { text = texts.back(); }
  void operator()(std::optional<std::int64_t>& number) const {
    number = parse_integer(flag(), texts.back(), field.rules.least);
  }
  void operator()(CaptureRequest::Shape& sides) const {
    sides = parse_sizes(flag(), texts.back(), example());
  }
  void operator()(std::vector<CaptureRequest::Shape>& shapes) const {
    for (const std::string& text : texts) shapes.push_back(parse_sizes(flag(), text, example()));
  }
  void operator()(CaptureRequest::Sizes& sizes) const {
    for (const std::string& text : texts) {
      const auto [name, size] = split_name(text);
      sizes[name] = parse_integer(flag(), size, field.rules.least);
    }
  }
  void operator()(std::vector<NamedInput>& inputs) const {
    for (const std::string& text : texts) {
      auto [name, rest] = split_name(text);
      const std::size_t colon = rest.find(':');
      NamedInput input{std::move(name), {}, colon == std::string::npos ? "" : rest.substr(colon + 1)};
      if (const std::string shape = rest.substr(0, colon); shape != "scalar")
        input.shape = parse_sizes(flag(), shape, example());
      inputs.push_back(std::move(input));
    }
  }

 private:
  // NAME=REST; throws unless both are there.
  std::pair<std::string, std::string> split_name(const std::string& text) const {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      throw Error("'" + text + "' is not NAME=VALUE", flag(), "for example " + example());
    return {text.substr(0, equals), text.substr(equals + 1)};
  }
};

std::string model_of(const WrittenRequest& written) {
  const auto& [positional, model] = std::tie(written.positional, written.model);
  if (positional && model && *positional != *model)
    throw Error("two models: '" + *positional + "' and --model '" + *model + "'", "", "name one");
  const std::string name = written.named();
  if (name.empty() && (positional || model))
    throw Error("the model's name is empty", "", "opscope list shows the names; without one it is resnet18");
  return name;
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

void choose_default(CaptureRequest& request, std::vector<std::string>* notes) {
  request.model = kDefaultModel;
  if (request.input_shape.empty()) request.input_shape.push_back(kDefaultShape);
  std::string shape;
  for (const auto size : request.input_shape.front()) shape += " " + std::to_string(size);
  if (notes) notes->push_back("no model given, so this is " + request.model + " at" + shape);
}

struct DTypeAlias {
  std::string_view alias, name;
};
constexpr std::array kDTypeAliases{
    DTypeAlias{"bf16", "bfloat16"}, DTypeAlias{"double", "float64"}, DTypeAlias{"float", "float32"},
    DTypeAlias{"fp16", "float16"},  DTypeAlias{"fp32", "float32"},   DTypeAlias{"fp64", "float64"},
    DTypeAlias{"half", "float16"},
};

struct Check {
  const CaptureField& field;
  Voice voice;

  std::string where() const { return field.name_for(voice); }

  void operator()(bool&) const {}
  void operator()(std::optional<std::int64_t>& number) const {
    if (!number || *number >= field.rules.least) return;
    const std::string key(field.key), what = key == "batch" ? "a batch" : key;
    throw Error("a " + key + " of " + std::to_string(*number) + " is no " + (key == "batch" ? key : "length"),
                key, what + " is " + std::to_string(field.rules.least) + " or more");
  }
  void operator()(CaptureRequest::Sizes& sizes) const {
    for (const auto& [name, size] : sizes) check_integer(where(), size, field.rules.least);
  }
  void operator()(std::string& text) const {
    if (field.key == "dtype") return check_dtype(text);
    const auto& words = field.rules.words;
    if (text.empty() || words.empty() || std::ranges::find(words, text) != words.end()) return;
    const std::string all = voice == Voice::kFlags ? "choose " + listed(words) : join(words);
    throw Error("no " + std::string(field.key) + " called '" + text + "'", where(),
                did_you_mean(text, words, all));
  }
  void operator()(std::vector<NamedInput>& inputs) const {
    for (NamedInput& input : inputs) check_dtype(input.dtype);
  }
  void operator()(std::vector<CaptureRequest::Shape>& shapes) const {
    for (const auto& shape : shapes)
      if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; }))
        throw Error("a shape has no negative sizes: " + joined(shape, " "), where(),
                    "a shape is whole numbers: 1 3 224 224");
  }
  void operator()(CaptureRequest::Shape& sides) const {
    if (sides.size() <= 2 && std::ranges::all_of(sides, [](std::int64_t side) { return side > 0; })) return;
    if (voice == Voice::kFlags)
      throw Error("an image has a height and a width: '" + joined(sides, "x") + "'", where(),
                  "for example --image-size 384, or 480x640");
    throw Error("(" + joined(sides, ", ") + ") is not an image size", where(),
                "a side, 224, or height and width, (480, 640)");
  }

 private:
  static std::string joined(const CaptureRequest::Shape& sizes, const char* between) {
    return join(std::views::transform(sizes, [](std::int64_t size) { return std::to_string(size); }),
                between);
  }
  void check_dtype(std::string& text) const {
    if (text.starts_with("torch.")) text = text.substr(6);
    const auto alias = std::ranges::find(kDTypeAliases, text, &DTypeAlias::alias);
    if (alias != kDTypeAliases.end()) text = alias->name;
    if (text.empty() || (dtype_from_name(text) && text != "undefined")) return;
    std::vector<std::string_view> names;
    for (const DTypeInfo& row : kDTypes) names.push_back(row.name);
    throw Error("no dtype called '" + text + "'", where(),
                did_you_mean(text, names, "for example float16 or bfloat16"));
  }
};

void check_training(const CaptureRequest& request, Voice voice) {
  const auto where = [&](std::string_view key) { return capture_field(key).name_for(voice); };
  const bool flags = voice == Voice::kFlags;
  if (!request.optimizer.empty() && !request.training)
    throw Error("an optimizer is a part of training", where("optimizer"),
                flags ? "add --training" : "ask for training too: training=True, --training");
  if (!request.training) return;
  if (request.phase == "decode")
    throw Error("a decode step with a KV cache is not a training step", where("phase"),
                flags ? "leave it out, or use prefill" : "leave --phase out, or use prefill");
  if (request.is_traced())
    throw Error(request.tracer + " traces a forward pass only", where("training"),
                flags ? "leave out --tracer: the engine captures training"
                      : "leave out the tracer: the engine captures training");
}

}  // namespace

std::string WrittenRequest::text(std::string_view key) const {
  const auto found = texts.find(key);
  return found == texts.end() || found->second.empty() ? "" : found->second.back();
}

WrittenRequest WrittenRequest::for_model(const std::string& spec) const {
  WrittenRequest written = *this;
  written.positional = spec, written.model.reset();
  return written;
}

CaptureRequest request_from(const WrittenRequest& written, std::vector<std::string>* notes) {
  CaptureRequest request;
  request.model = absolute_if_there(model_of(written));
  for (const CaptureField& field : capture_fields())
    if (const auto found = written.texts.find(field.key);
        found != written.texts.end() && !found->second.empty() && !found->second.back().empty())
      std::visit([&](auto member) { Reader{field, found->second}(request.*member); }, field.member);
  request.registry = registry_path(request.registry);
  request.use_cache = !written.no_cache;
  request = checked(std::move(request), Voice::kFlags);
  if (request.model.empty()) choose_default(request, notes);
  return request;
}

bool CaptureRequest::is_traced() const { return tracer != "auto" && !is_engine(tracer); }

CaptureRequest checked(CaptureRequest request, Voice voice) {
  for (const CaptureField& field : capture_fields())
    std::visit([&](auto member) { Check{field, voice}(request.*member); }, field.member);
  if (request.past_len && request.phase != "decode")
    throw Error("past_len is for the decode phase", capture_field("past_len").name_for(voice),
                "add --phase decode");
  check_training(request, voice);
  return request;
}

}  // namespace opscope
