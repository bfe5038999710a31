// The rows, their JSON, and how words are read by them; judges whether a request is one that can be captured:
// the only place that does, for the command line and for Python.
#include "app/request/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/choices.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace opscope {
namespace {

using Request = CaptureRequest;

constexpr std::array<std::string_view, 2> kPhases{"prefill", "decode"};
constexpr std::array<std::string_view, 2> kKvCaches{"dynamic", "static"};
constexpr std::array<std::string_view, 9> kKvDTypes{
    "fp8", "int8", "int4", "int8:hqq", "int4:hqq", "int4:quanto", "bfloat16", "float16", "float32"};

constexpr CaptureField row(std::string_view key, std::string_view flag, CaptureField::Member member,
                           std::string_view type, std::string_view help, CaptureField::Rules rules = {}) {
  return {key, flag, member, type, help, rules};
}

// In the order of the help.
constexpr std::array kFields{
    row("input_shape", "--input-shape", &Request::input_shape, "SIZES",
        "Shape of an input: 1 3 224 224 or 1,3,224,224. Repeat the flag for each input",
        {.example = "1 3 224 224, or 1,3,224,224"}),
    row("batch", "--batch", &Request::batch, "N", "Batch size of the inputs that opscope makes",
        {.list_help = "Batch sizes: 1,2,4 or 1,2,4,..,256 or 1:256:x2 or 8:64:+8"}),
    row("seq_len", "--seq-len", &Request::seq_len, "N", "Sequence length in tokens, default 128",
        {.list_help = "Sequence lengths, in the same forms: 128:4096:x2"}),
    row("image_size", "--image-size", &Request::image_size, "SIZE",
        "Image size: side length, or HEIGHTxWIDTH",
        {.example = "384, or 480x640",
         .list_help = "Image sizes, side or HEIGHTxWIDTH: 224,384 or 224:512:+32"}),
    row("inputs", "--input", &Request::inputs, "NAME=SHAPE[:DTYPE]",
        "One input by its name, for example input_ids=1x128:int64. Repeatable",
        {.example = "input_ids=1x128:int64, or mask=scalar:bool"}),
    row("phase", "--phase", &Request::phase, "PHASE",
        "prefill (the whole prompt) or decode (one new token with a KV cache of --past-len tokens)",
        {.words = kPhases}),
    row("past_len", "--past-len", &Request::past_len, "N",
        "Tokens in the KV cache, for --phase decode, default 128",
        {.list_help = "Tokens in the KV cache, for --phase decode"}),
    row("kv_cache", "--kv-cache", &Request::kv_cache, "KIND",
        "KV cache of --phase decode: dynamic (it grows; the default) or static (allocated once)",
        {.words = kKvCaches}),
    row("kv_capacity", "--kv-capacity", &Request::kv_capacity, "N",
        "Tokens that a static KV cache has room for, default those in it and the next"),
    row("kv_dtype", "--kv-dtype", &Request::kv_dtype, "DTYPE",
        "Dtype that the KV cache is stored in: fp8, int8, int4, bfloat16, ...; int4:hqq, int8:hqq or "
        "int4:quanto: "
        "as that library does, which must be installed",
        {.words = kKvDTypes}),
    row("kv_block", "--kv-block", &Request::kv_block, "N",
        "Tokens that the KV cache is allocated in, as servers page it, for example 16"),
    row("last_logits", "--last-logits", &Request::last_logits, "",
        "Compute the logits of the last token only, as generation does after its prompt"),
    row("limits", "--limit", &Request::limits, "NAME=N",
        "Upper bound of a data-dependent size, for example nms=100. Repeatable",
        {.example = "nms=100", .least = 0}),
    row("assume", "--assume", &Request::assume, "FILE:LINE=BOOL",
        "Outcome of a condition on data, for example model.py:42=false. Repeatable",
        {.example = "model.py:42=true"}),
    row("max_ops", "--max-ops", &Request::max_ops, "N",
        "Stop a capture that has N ops, default 1000000: a loop that depends on data may never end"),
    row("dims", "--dim", &Request::dims, "NAME=N",
        "Size of a dynamic dimension of a .pt2 or ONNX file, for example batch=8. Repeatable",
        {.example = "batch=8",
         .list_help = "Sizes of a dynamic dimension of a .pt2 or ONNX file: batch=1,2,4. Repeatable"}),
    row("task", "--task", &Request::task, "TASK",
        "Task of a transformers or YOLO model, which decides its head: text-generation, segment, ..."),
    row("dtype", "--dtype", &Request::dtype, "DTYPE",
        "Dtype of weights and inputs: float16, bfloat16, ...; published: the one that the weights were "
        "published in",
        {.list_help = "Dtypes of weights and inputs: fp32,bf16"}),
    row("quantize", "--quantize", &Request::quantize, "SCHEME",
        "Price the weights of linears as stored by int8, int4, fp8, nf4, mxfp4, fp4, gptq or awq, with "
        "options "
        "(int4:group=64), as published (the default where a config says how), or none",
        {.list_help = "Schemes of quantisation: none,int8,int4,int4:group=64",
         .changes_capture = false,
         .is_edit = true}),
    row("quantize_only", "--quantize-only", &Request::quantize_only, "NAMES",
        "Only linears of modules with this path or part of one, for --quantize: layers.*.mlp, or "
        "self_attn,lm_head",
        {.changes_capture = false, .is_edit = true}),
    row("device", "--device", &Request::device, "DEVICE", "Device to load the model on: cpu, cuda, ..."),
    row("gpu", "--gpu", &Request::gpu, "DEVICE",
        "CUDA device that --device cuda stands for: a name from `opscope devices`, or compute capability and "
        "processors, 8.0x108. Default: that of --hardware, else the one at hand, else an H100 or H200",
        {.example = "a100, or 8.0x108"}),
    row("trust", "--trust", &Request::trust, "",
        "Allow pickles (.pt, .pth), TorchScript and other code that comes with a model. All can do harm",
        {.changes_capture = false}),
    row("download", "--download", &Request::download, "",
        "Allow downloads of configs and weights that are not on this machine", {.changes_capture = false}),
    row("tracer", "--tracer", &Request::tracer, "TRACER",
        "How the graph is captured: auto, static (tensors without data), eager (a real run), PyTorch's fx, "
        "dynamo or export, or hybrid (the first of PyTorch's that works)",
        {.words = kTracers}),
    row("training", "--training", &Request::training, "",
        "A whole training step: forward, backward and optimizer"),
    row("optimizer", "--optimizer", &Request::optimizer, "NAME",
        "Optimizer for --training: sgd (default), sgd-momentum, adam, adamw, adagrad, rmsprop, adafactor, "
        "muon "
        "or none, each with :foreach, :fused, :loop or :8bit where it has one, for example adamw:fused",
        {.list_help = "Optimizers for --training: adamw,adamw:8bit,adafactor"}),
    row("autocast", "--autocast", &Request::autocast, "DTYPE",
        "Forward under torch.autocast: bfloat16 or float16. A training step in float16 has a GradScaler",
        {.list_help = "Dtypes of torch.autocast: none,bfloat16"}),
    row("accumulate", "--accumulate", &Request::accumulate, "N",
        "Gradient accumulation: N forward and backward passes before the step of the optimizer"),
    row("checkpoint", "--checkpoint", &Request::checkpoint, "WHICH",
        "Activation checkpointing, in training: layers (each repeated block), selective (layers, but results "
        "of "
        "matrix products and attention are kept) or paths of modules, for example 'encoder.layer.*'",
        {.example = "'encoder.layer.*'",
         .list_help = "Activation checkpointing, in training: none,layers,selective"}),
    row("freeze", "--freeze", &Request::freeze, "PATTERN",
        "Parameters that are not trained, by module or by name, for example 'embeddings,encoder.layer.0.*'; "
        "'!classifier*' freezes all others",
        {.example = "'encoder.*'"}),
    row("lora", "--lora", &Request::lora, "r=N,targets=NAMES",
        "Low-rank adapters on the linear layers of these names, the model's own weights frozen: "
        "r=16,targets=q_proj,v_proj. alpha=N too; targets=all-linear: all but the output embeddings",
        {.example = "r=16,targets=q_proj,v_proj"}),
    row("master_weights", "--master-weights", &Request::master_weights, "",
        "The optimizer of a model in bfloat16 or float16 holds a float32 copy of the weights"),
    row("channels_last", "--channels-last", &Request::channels_last, "",
        "Images and the weights of convolutions in torch.channels_last"),
    row("source_lines", "--source-lines", &Request::source_lines, "", "Record the source line of each op",
        {.changes_capture = false}),
    row("registry", "--registry", &Request::registry, "FILE",
        "Python file that calls opscope.register_model. Default: $OPSCOPE_REGISTRY",
        {.changes_capture = false}),
};

void write_value(JsonWriter& json, bool on) { json.value(on); }
void write_value(JsonWriter& json, const std::string& text) { text.empty() ? json.null() : json.value(text); }
void write_value(JsonWriter& json, const std::optional<std::int64_t>& number) { json.value(number); }
void write_value(JsonWriter& json, const Request::Shape& sides) {
  sides.empty() ? json.null() : json.list(sides);
}
void write_value(JsonWriter& json, const std::vector<Request::Shape>& shapes) {
  if (shapes.empty()) return json.null();
  json.begin_array(kInline);
  for (const auto& shape : shapes) json.list(shape);
  json.end_array();
}
void write_value(JsonWriter& json, const std::vector<NamedInput>& inputs) {
  json.begin_object(kInline);
  for (const NamedInput& input : inputs) {
    json.key(input.name);
    json.begin_object(kInline);
    json.list("shape", input.shape);
    json.key("dtype");
    write_value(json, input.dtype);
    json.end_object();
  }
  json.end_object();
}
void write_value(JsonWriter& json, const Request::Sizes& sizes) {
  json.begin_object(kInline);
  for (const auto& [name, size] : sizes) json.field(name, size);
  json.end_object();
}

void write_value(JsonWriter& json, const Request::Answers& answers) {
  json.begin_object(kInline);
  for (const auto& [where, answer] : answers) json.field(where, answer);
  json.end_object();
}

bool is_same(const CaptureField& field, const Request& a, const Request& b) {
  return std::visit([&](auto member) { return a.*member == b.*member; }, field.member);
}

constexpr std::int64_t kLargest = 1'000'000'000;  // on a command line: more is a slip

[[noreturn]] void fail_integer(const std::string& where, const std::string& text, std::int64_t least,
                               bool too_large, const std::string& example) {
  if (too_large && least <= kLargest)
    throw Error("'" + text + "' is too large", where, "the limit is " + std::to_string(kLargest));
  throw Error("'" + text + "' is not a whole number of " + std::to_string(least) + " or more", where,
              "for example " + where + (where.starts_with('-') ? " " : "=") +
                  (!example.empty() ? example
                   : least > 1      ? "120"
                                    : "8"));
}

// "1 3 224 224", "1,3,224,224" or "1x3x224x224".
Request::Shape parse_sizes(const std::string& flag, const std::string& text, const std::string& example) {
  const auto bad = [&](const std::string& what) { throw Error(what, flag, "for example " + example); };
  const auto is_separator = [](char c) { return c == 'x' || c == 'X' || c == '*' || c == ' '; };
  if (text.empty()) bad("no sizes given");
  std::string listed = text;
  std::ranges::replace_if(listed, is_separator, ',');
  Request::Shape sizes;
  for (const std::string_view part : split_by(listed, ',')) {
    const auto size = number_from<std::int64_t>(part);
    if (part.empty()) bad("a size is missing in '" + text + "'");
    if (!size) bad("'" + std::string(part) + "' is not a size");
    if (*size < 1) bad("size " + std::string(part) + " is not possible: sizes are 1 or more");
    sizes.push_back(*size);
  }
  return sizes;
}

constexpr std::string_view kDefaultModel = "resnet18";

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
  void operator()(CaptureRequest::Answers& answers) const {
    for (const std::string& text : texts) {
      const auto [where, answer] = split_name(text);
      if (answer != "true" && answer != "false")
        throw Error("'" + answer + "' is neither true nor false", flag(), "for example " + example());
      answers[where] = answer == "true";
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
  // NAME=REST; throws unless both are there. A path may have the sign in it.
  std::pair<std::string, std::string> split_name(const std::string& text) const {
    const std::size_t equals = field.key == "assume" ? text.rfind('=') : text.find('=');
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
  if (request.input_shape.empty()) request.input_shape.push_back({1, 3, 224, 224});
  if (notes)
    notes->push_back("no model given, so this is " + request.model + " at " +
                     join_numbers(request.input_shape.front(), " "));
}

}  // namespace

std::span<const CaptureField> capture_fields() { return kFields; }

const CaptureField& capture_field(std::string_view key) {
  const auto found = std::ranges::find(kFields, key, &CaptureField::key);
  OPSCOPE_CHECK(found != kFields.end());
  return *found;
}

std::string CaptureField::name_for(Voice voice) const {
  return std::string(voice == Voice::kFlags ? flag : key == "inputs" ? "named_inputs" : key);
}

std::string CaptureField::budget_key() const {
  std::string name(flag.substr(2));
  std::ranges::replace(name, '-', '_');
  return name;
}

bool CaptureField::is_given(const Request& request) const { return !is_same(*this, request, Request()); }

void CaptureField::write(JsonWriter& json, const Request& request) const {
  json.key(key);
  std::visit([&](auto value) { write_value(json, request.*value); }, member);
}

std::string to_json(const Request& request, std::string_view command, const WriteMore& more) {
  std::string out;
  JsonWriter json(out);
  json.begin_object(kInline);
  json.field("command", command);
  json.key("model");
  write_value(json, request.model);
  for (const CaptureField& field : kFields)
    if (!field.rules.is_edit && (field.key != "dims" || field.is_given(request)))  // Python gets no files
      field.write(json, request);
  if (more) more(json);
  json.end_object();
  return out;
}

void write_changes(JsonWriter& json, const Request& base, const Request& request) {
  for (const CaptureField& field : kFields)
    if (!is_same(field, base, request)) field.write(json, request);
}

std::int64_t parse_integer(const std::string& flag, const std::string& text, std::int64_t least,
                           const std::string& example) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = stop == text.data() + text.size() && error != std::errc::invalid_argument;
  if (is_whole && error == std::errc{} && number >= least && number <= kLargest) return number;
  fail_integer(flag, text, least, is_whole && !text.starts_with('-') && (error != std::errc{} || number > 0),
               example);
}

double parse_number(const char* flag, const std::string& text) {
  if (const auto number = number_from<double>(text); number && std::isfinite(*number) && *number >= 0)
    return *number;
  throw Error("'" + text + "' is not a number of 0 or more", flag,
              std::string("for example ") + flag + " 12.5");
}

std::string registry_path(const std::string& flag) {
  const std::string path = !flag.empty() ? flag : environment_variable("OPSCOPE_REGISTRY");
  if (path.empty()) return "";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw Error("no such file", path,
                flag.empty() ? "it is named by $OPSCOPE_REGISTRY" : "it is named by --registry");
  return std::filesystem::absolute(path).lexically_normal().string();
}

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

}  // namespace opscope
