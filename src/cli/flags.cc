// The shared flags, and reading their values.
#include "cli/flags.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>

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

std::string dtype_name(std::string text) {
  if (text.starts_with("torch.")) text = text.substr(6);
  const auto alias = std::ranges::find(kDTypeAliases, text, &DTypeAlias::alias);
  if (alias != kDTypeAliases.end()) return std::string(alias->name);
  if (text.empty() || (dtype_from_name(text) && text != "undefined")) return text;
  std::vector<std::string_view> names;
  for (const DTypeInfo& row : kDTypes) names.push_back(row.name);
  const std::string near = did_you_mean(text, names);
  throw Error("no dtype called '" + text + "'", "--dtype",
              near.empty() ? "for example float16 or bfloat16" : near);
}

std::string checked_tracer(const std::string& text) {
  if (text == "auto" || text == "static" || text == "eager") return text;
  throw Error("no tracer called '" + text + "'", "--tracer", "choose auto, static or eager");
}

bool is_separator(char c) { return c == ',' || c == 'x' || c == 'X' || c == '*' || c == ' '; }

[[noreturn]] void bad_shape(const std::string& what) {
  throw Error(what, "--input-shape", "for example --input-shape 1 3 224 224, or 1,3,224,224");
}

std::string model_of(const ModelFlags& flags) {
  if (!flags.positional.empty() && !flags.model.empty() && flags.positional != flags.model)
    throw Error("two models: '" + flags.positional + "' and --model '" + flags.model + "'", "", "name one");
  return flags.model.empty() ? flags.positional : flags.model;
}

}  // namespace

void add_talk_flags(CLI::App& app, TalkFlags& flags) {
  app.add_flag("-q,--quiet", flags.quiet, "No progress and no remarks on stderr");
  app.add_flag("--debug", flags.debug, "Show Python's own output and tracebacks");
}

void add_output_flags(CLI::App& app, OutputFlags& flags) {
  app.add_option("-o,--output", flags.output, "Write to a file; its extension is the format")
      ->type_name("FILE");
  app.add_option("--format", flags.format, "json, csv, md, txt or html")->type_name("FORMAT");
  app.add_option("--color", flags.color, "auto, always or never; NO_COLOR is respected")->type_name("WHEN");
  app.add_option("--width", flags.width, "Columns of text; the terminal's, or 100")->type_name("N");
}

void add_registry_flags(CLI::App& app, std::string& registry, bool& no_cache) {
  app.add_option("--registry", registry,
                 "Python file that calls opscope.register_model; or $OPSCOPE_REGISTRY")
      ->type_name("FILE");
  app.add_flag("--no-cache", no_cache, "Neither read nor write the cache");
}

void add_convention_flag(CLI::App& app, std::string& convention) {
  app.add_option("--convention", convention, "How FLOPs are counted: opscope, macs, torch or fvcore")
      ->type_name("NAME");
}

void add_model_flags(CLI::App& app, ModelFlags& flags) {
  app.add_option(
      "MODEL", flags.positional,
      "A torchvision or registered name, file.py:callable, package.module:attr, or a saved capture");
  app.add_option("--model", flags.model, "The same, as a flag")->type_name("MODEL");
  app.add_option("--input-shape", flags.input_shape, "1 3 224 224 or 1,3,224,224; repeat it for each input")
      ->type_name("SIZES")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--batch", flags.batch, "Batch size of the model's own input shape")->type_name("N");
  app.add_option("--dtype", flags.dtype, "Weights and inputs in this type: float16, bfloat16, ...")
      ->type_name("DTYPE");
  app.add_option("--device", flags.device, "Device to load the model on: cpu, cuda, ...")
      ->type_name("DEVICE");
  app.add_option("--tracer", flags.tracer, "auto, static (no data) or eager (a real run)")
      ->type_name("TRACER");
  app.add_flag("--source-lines", flags.source_lines, "Record the line of the model that ran each op");
  add_registry_flags(app, flags.registry, flags.no_cache);
}

std::vector<std::int64_t> parse_shape(const std::string& text) {
  std::vector<std::int64_t> shape;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && !is_separator(text[end])) ++end;
    const std::string part = text.substr(at, end - at);
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (part.empty()) bad_shape("a size is missing in '" + text + "'");
    if (error != std::errc{} || stop != part.data() + part.size()) bad_shape("'" + part + "' is not a size");
    if (size < 1) bad_shape("size " + part + " is not possible: sizes are 1 or more");
    shape.push_back(size);
    if (end + 1 == text.size()) bad_shape("a size is missing in '" + text + "'");
    at = end + 1;
  }
  if (shape.empty()) bad_shape("no sizes given");
  return shape;
}

std::int64_t parse_integer(const char* flag, const std::string& text, std::int64_t least) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && stop == text.data() + text.size() && number >= least && number <= 1'000'000'000)
    return number;
  throw Error("'" + text + "' is not a whole number of " + std::to_string(least) + " or more", flag,
              std::string("for example ") + flag + (least > 1 ? " 120" : " 8"));
}

double parse_number(const char* flag, const std::string& text) {
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && stop == text.data() + text.size() && std::isfinite(number) && number >= 0)
    return number;
  throw Error("'" + text + "' is not a number of 0 or more", flag,
              std::string("for example ") + flag + " 12.5");
}

std::string registry_path(const std::string& flag) {
  const char* variable = std::getenv("OPSCOPE_REGISTRY");
  const std::string path = !flag.empty() ? flag : variable ? variable : "";
  if (path.empty()) return "";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw Error("no such file", path,
                flag.empty() ? "it is named by $OPSCOPE_REGISTRY" : "it is named by --registry");
  return std::filesystem::absolute(path).lexically_normal().string();
}

CaptureRequest request_from(const ModelFlags& flags, std::vector<std::string>* notes) {
  CaptureRequest request;
  request.model = model_of(flags);
  for (const std::string& shape : flags.input_shape) request.input_shapes.push_back(parse_shape(shape));
  if (!flags.batch.empty()) request.batch = parse_integer("--batch", flags.batch, 1);
  request.dtype = dtype_name(flags.dtype);
  request.device = flags.device;
  request.tracer = checked_tracer(flags.tracer);
  request.registry = registry_path(flags.registry);
  request.source_lines = flags.source_lines;
  request.use_cache = !flags.no_cache;
  if (request.model.empty()) {
    request.model = kDefaultModel;
    if (request.input_shapes.empty())
      request.input_shapes.emplace_back(kDefaultShape.begin(), kDefaultShape.end());
    std::string shape;
    for (const auto size : request.input_shapes.front()) shape += " " + std::to_string(size);
    if (notes) notes->push_back("no model given, so this is " + request.model + " at" + shape);
  }
  return request;
}

}  // namespace opscope
