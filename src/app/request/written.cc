// Reads the words by the fields' own rows.
#include "app/request/written.h"

#include <filesystem>

#include "app/request/values.h"
#include "base/error.h"

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

}  // namespace opscope
