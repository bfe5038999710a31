// Whether a request is one that can be captured. The only place that judges: the command line and Python ask
// here.
#include <algorithm>
#include <array>

#include "app/request/fields.h"
#include "app/request/request.h"
#include "app/request/values.h"
#include "base/error.h"
#include "base/text.h"
#include "graph/dtype.h"

namespace opscope {
namespace {

struct DTypeAlias {
  std::string_view alias, name;
};
constexpr std::array kDTypeAliases{
    DTypeAlias{"bf16", "bfloat16"}, DTypeAlias{"double", "float64"}, DTypeAlias{"float", "float32"},
    DTypeAlias{"fp16", "float16"},  DTypeAlias{"fp32", "float32"},   DTypeAlias{"fp64", "float64"},
    DTypeAlias{"half", "float16"},
};

// "choose prefill or decode"; in Python "prefill, decode".
std::string choices(std::span<const std::string_view> words, Voice voice) {
  std::string text = voice == Voice::kFlags ? "choose " : "";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool last = i + 1 == words.size() && voice == Voice::kFlags;
    text.append(i == 0 ? "" : last ? " or " : ", ").append(words[i]);
  }
  return text;
}

struct Check {
  const CaptureField& field;
  Voice voice;

  std::string where() const { return field.name_for(voice); }

  void operator()(bool&) const {}
  void operator()(std::optional<std::int64_t>& number) const {
    if (!number) return;
    const std::string key(field.key), size = std::to_string(*number),
                                      least = std::to_string(field.rules.least);
    if (voice == Voice::kArguments && *number < field.rules.least)
      throw Error("a " + key + " of " + size + " is no " + (key == "batch" ? key : "length"), key,
                  (key == "batch" ? "a batch" : key) + " is " + least + " or more");
    check_integer(where(), *number, field.rules.least);
  }
  void operator()(CaptureRequest::Sizes& sizes) const {
    for (const auto& [name, size] : sizes) check_integer(where(), size, field.rules.least);
  }
  void operator()(std::string& text) const {
    if (field.key == "dtype") return check_dtype(text);
    const auto& words = field.rules.words;
    if (text.empty() || words.empty() || std::ranges::find(words, text) != words.end()) return;
    const std::string near = did_you_mean(text, words);
    throw Error("no " + std::string(field.key) + " called '" + text + "'", where(),
                near.empty() ? choices(words, voice) : near);
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
    std::string text;
    for (const std::int64_t size : sizes) text += (text.empty() ? "" : between) + std::to_string(size);
    return text;
  }
  void check_dtype(std::string& text) const {
    if (text.starts_with("torch.")) text = text.substr(6);
    const auto alias = std::ranges::find(kDTypeAliases, text, &DTypeAlias::alias);
    if (alias != kDTypeAliases.end()) text = alias->name;
    if (text.empty() || (dtype_from_name(text) && text != "undefined")) return;
    std::vector<std::string_view> names;
    for (const DTypeInfo& row : kDTypes) names.push_back(row.name);
    const std::string near = did_you_mean(text, names);
    throw Error("no dtype called '" + text + "'", where(),
                near.empty() ? "for example float16 or bfloat16" : near);
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
