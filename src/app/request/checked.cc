// Judges whether a request is one that can be captured: the only place that does, for the command line and
// for Python.
#include <algorithm>
#include <array>

#include "app/request/fields.h"
#include "app/request/training.h"
#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"
#include "cost/quantise/schemes.h"
#include "graph/cuda_device.h"
#include "graph/dtype.h"
#include "hardware/device.h"

namespace opscope {
namespace {

constexpr std::string_view kPublishedDType = "published";

struct DTypeAlias {
  std::string_view alias, name;
};
constexpr std::array kDTypeAliases{
    DTypeAlias{"bf16", "bfloat16"}, DTypeAlias{"double", "float64"}, DTypeAlias{"float", "float32"},
    DTypeAlias{"fp16", "float16"},  DTypeAlias{"fp32", "float32"},   DTypeAlias{"fp64", "float64"},
    DTypeAlias{"half", "float16"},
};

// A dtype that weights are stored in, and nothing computes in: the quantisation that says it.
std::string_view storage_for(std::string_view dtype) {
  if (dtype.starts_with("float8")) return "fp8";
  if (dtype.starts_with("float4")) return "mxfp4";
  if (dtype.find("int4") != std::string_view::npos) return "int4";
  if (dtype.find("int8") != std::string_view::npos) return "int8";
  return {};
}

struct Check {
  const CaptureField& field;
  Voice voice;

  std::string where() const { return field.name_for(voice); }

  void operator()(bool&) const {}
  void operator()(std::optional<std::int64_t>& number) const {
    if (!number || *number >= field.rules.least) return;
    const std::string key(field.key), what = key == "batch" ? "a batch" : key;
    throw Error("a " + key + " of " + std::to_string(*number) + " is no " +
                    (key == "batch"     ? key
                     : key == "max_ops" ? "limit"
                                        : "length"),
                key, what + " is " + std::to_string(field.rules.least) + " or more");
  }
  void operator()(CaptureRequest::Sizes& sizes) const {
    for (const auto& [name, size] : sizes)
      if (size < field.rules.least) parse_integer(where(), std::to_string(size), field.rules.least);
  }
  void operator()(CaptureRequest::Answers& answers) const {
    for (const auto& [line, answer] : answers)
      if (const std::size_t colon = line.rfind(':');
          colon == 0 || colon == std::string::npos || !number_from<std::uint32_t>(line.substr(colon + 1)))
        throw Error("'" + line + "' is no line of a file", where(), "for example model.py:42");
  }
  void operator()(std::string& text) const {
    if (text == "none" && (field.key == "autocast" || field.key == "checkpoint")) return text.clear();
    if (field.key == "gpu" && !text.empty()) return static_cast<void>(text = cuda_text(text));
    if (field.key == "autocast") return check_dtype(text);
    if (field.key == "dtype") return check_dtype(text), check_computes(text);
    if (field.key == "quantize" && !text.empty() && text != "none" && text != "published")
      return static_cast<void>(text = storage_choice(text, where()).text());
    const auto& words = field.rules.words;
    if (field.key == "kv_dtype") {
      use_usual_name(text);
      if (text == "float8_e4m3fn") text = "fp8";
    }
    if (text.empty() || words.empty() || std::ranges::find(words, text) != words.end()) return;
    const std::string all = voice == Voice::kFlags ? "choose " + one_of(words) : join(words);
    throw Error("no " + std::string(field.key) + " called '" + text + "'", where(),
                did_you_mean(text, words, all));
  }
  void operator()(std::vector<NamedInput>& inputs) const {
    for (NamedInput& input : inputs) check_dtype(input.dtype);
  }
  void operator()(std::vector<CaptureRequest::Shape>& shapes) const {
    for (const auto& shape : shapes)
      if (std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; }))
        throw Error("a shape has no negative sizes: " + join_numbers(shape, " "), where(),
                    "a shape is whole numbers: 1 3 224 224");
  }
  void operator()(CaptureRequest::Shape& sides) const {
    if (sides.size() <= 2 && std::ranges::all_of(sides, [](std::int64_t side) { return side > 0; })) return;
    if (voice == Voice::kFlags)
      throw Error("an image has a height and a width: '" + join_numbers(sides, "x") + "'", where(),
                  "for example --image-size 384, or 480x640");
    throw Error("(" + join_numbers(sides, ", ") + ") is not an image size", where(),
                "a side, 224, or height and width, (480, 640)");
  }

 private:
  // By name or by figures.
  std::string cuda_text(const std::string& text) const {
    if (const auto device = cuda_device_from(text)) return to_text(*device);
    const DevicePointer device = load_device(text, where());
    if (const auto cuda = device->cuda()) return to_text(*cuda);
    throw Error("nothing is known of " + device->name + " as a CUDA device", where(),
                "name one that has a compute capability, or write it with its processors: 8.0x108");
  }
  static void use_usual_name(std::string& text) {
    if (text.starts_with("torch.")) text = text.substr(6);
    const auto alias = std::ranges::find(kDTypeAliases, text, &DTypeAlias::alias);
    if (alias != kDTypeAliases.end()) text = alias->name;
  }
  void check_dtype(std::string& text) const {
    use_usual_name(text);
    const auto schemes = storage_schemes();
    if (field.key == "dtype" && std::ranges::find(schemes, text, &StorageScheme::name) != schemes.end())
      fail_storage(text, text);
    const auto is_torchs = [](DType dtype) { return dtype != DType::kUndefined && dtype <= DType::kBits8; };
    if (text == kPublishedDType) return;
    if (const auto known = dtype_from_name(text); text.empty() || (known && is_torchs(*known))) return;
    std::vector<std::string_view> names;
    for (const DTypeInfo& row : kDTypes)
      if (is_torchs(row.dtype)) names.push_back(row.name);
    throw Error("no dtype called '" + text + "'", where(),
                did_you_mean(text, names, "for example float16 or bfloat16"));
  }
  // Of the model's own: parameters are floats, and what multiplies them takes no smaller ones.
  void check_computes(const std::string& text) const {
    const auto dtype = dtype_from_name(text);
    if (!dtype) return;
    const DTypeInfo& row = info(*dtype);
    const bool is_small = row.is_float && storage_for(text) == "fp8";
    if ((row.is_float && !is_small) || row.is_complex) return;
    fail_storage(text, storage_for(text));
  }
  [[noreturn]] void fail_storage(const std::string& text, std::string_view scheme) const {
    const std::string quantize = capture_field("quantize").name_for(voice);
    const std::string floats = "float16, bfloat16, float32 or float64";
    throw Error(text + " is not a dtype that a model computes in", where(),
                scheme.empty()           ? "it computes in " + floats
                : voice == Voice::kFlags ? "for weights stored so: " + quantize + " " + std::string(scheme) +
                                               "; it computes in " + floats
                                         : "for weights stored so: " + quantize + "='" + std::string(scheme) +
                                               "'; it computes in " + floats);
  }
};

void check_kv_cache(const CaptureRequest& request, Voice voice) {
  for (const std::string_view key : {"kv_cache", "kv_capacity", "kv_dtype", "kv_block"})
    if (const CaptureField& field = capture_field(key); field.is_given(request) && request.phase != "decode")
      throw Error(std::string(key) + " is for the decode phase", field.name_for(voice), "add --phase decode");
  const auto where = [&](std::string_view key) { return capture_field(key).name_for(voice); };
  const bool flags = voice == Voice::kFlags, is_static = request.kv_cache == "static";
  if (request.kv_capacity && !is_static)
    throw Error("only a static KV cache is allocated for a length", where("kv_capacity"),
                flags ? "add --kv-cache static" : "add kv_cache=\"static\"");
  if (!is_static) return;
  const std::string hint = flags ? "leave out --kv-cache" : "leave out kv_cache";
  if (request.kv_block)
    throw Error("a static KV cache is in one piece, not in blocks", where("kv_block"), hint);
  if (!request.kv_dtype.empty())
    throw Error("a static KV cache is in the model's dtype", where("kv_dtype"), hint);
}

}  // namespace

CaptureRequest checked(CaptureRequest request, Voice voice) {
  for (const CaptureField& field : capture_fields())
    std::visit([&](auto member) { Check{field, voice}(request.*member); }, field.member);
  if (request.past_len && request.phase != "decode")
    throw Error("past_len is for the decode phase", capture_field("past_len").name_for(voice),
                "add --phase decode");
  check_kv_cache(request, voice);
  const bool has_device = !request.device.empty() || voice == Voice::kFlags;  // an object may lie on one
  if (!request.gpu.empty() && has_device && !request.device.starts_with("cuda"))
    throw Error("a CUDA device is named for a capture that is not of one",
                capture_field("gpu").name_for(voice),
                voice == Voice::kFlags ? "add --device cuda" : "add device='cuda'");
  check_training(request, voice);
  if (!request.quantize_only.empty() && (request.quantize.empty() || request.quantize == "none"))
    throw Error("which quantisation?", capture_field("quantize_only").name_for(voice),
                voice == Voice::kFlags ? "add --quantize int4" : "add quantize='int4'");
  if (!request.quantize_only.empty() && request.quantize == "published")
    throw Error("the config says which modules are quantised", capture_field("quantize_only").name_for(voice),
                "name a scheme, or leave it out");
  return request;
}

}  // namespace opscope
