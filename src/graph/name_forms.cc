// Tells the forms of tracers' names apart, by their prefixes. PyTorch makes them from sources such as
// L['self']._modules['0']._parameters['weight'] by putting underscores for what no identifier may hold: one
// for each character in attributes of Dynamo's modules, one for each run of them in inputs of its graphs.
#include "graph/name_forms.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace opscope {
namespace {

constexpr std::array<std::string_view, 3> kMarkers{"modules_", "parameters_", "buffers_"};

std::string_view without_call_number(std::string_view name) {  // "block.act@1": a module's second call
  const auto at = name.rfind('@');
  return at != std::string_view::npos && is_number(name.substr(at + 1)) ? name.substr(0, at) : name;
}

bool begins_with_scope(std::string_view name, std::string_view then) {
  if (name.empty() || !name.substr(1).starts_with(then)) return false;
  return name[0] == 'L' || name[0] == 'l' || name[0] == 'G' || name[0] == 'g';
}

bool is_global(std::string_view name) { return name[0] == 'G' || name[0] == 'g'; }

// "L__self___layer1_0", and export's "L__self__layer1.0".
NameParts flat_parts(std::string_view name) {
  const auto word = name.find_first_not_of('_', 3);
  const auto end = word == std::string_view::npos ? word : name.find("__", word);
  if (end == std::string_view::npos) return {.rest = name};
  auto rest = name.substr(end + 2);
  if (rest.starts_with('_')) rest.remove_prefix(1);
  return {.form = NameForm::kFlat, .global = is_global(name), .root = name.substr(3, end - 3), .rest = rest};
}

// "l_self_modules_..." as "" and "modules_...", "l_x_" as "x_". Underscores around self are lost in these
// names.
NameParts local_parts(std::string_view name, std::string_view self) {
  const auto first = std::min(self.find_first_not_of('_'), self.size());
  self = self.substr(first, self.find_last_not_of('_') + 1 - first);
  auto body = name.substr(2);
  NameParts parts{.form = NameForm::kLocal, .global = is_global(name)};
  const auto marker = next_marker(body, 1);
  parts.of_self = !parts.global && body.starts_with(self) && body.substr(self.size()).starts_with('_');
  if (marker == std::string_view::npos && !parts.of_self && !body.ends_with('_')) return {.rest = name};
  if (parts.of_self) body.remove_prefix(self.size() + 1);
  parts.rest = body;
  if (marker == std::string_view::npos) return parts;
  const auto begin = marker + 1 - (parts.of_self ? self.size() + 1 : 0);
  parts.form = NameForm::kMarked;
  parts.root = body.substr(0, begin == 0 ? 0 : begin - 1);
  parts.rest = body.substr(begin);
  return parts;
}

// One step of a source: ".name", "['key']" or "[0]".
struct Step {
  std::string_view name;
  enum class Kind : std::uint8_t { kAttribute, kKey, kIndex } kind = Kind::kAttribute;
  std::size_t end = 0;
};

Step next_step(std::string_view text) {
  if (text[0] == '[') {
    const bool quoted = text.size() > 1 && (text[1] == '\'' || text[1] == '"');
    const auto close = quoted ? text.find(text[1], 2) : text.find(']');
    const auto from = quoted ? 2U : 1U;
    if (close == std::string_view::npos) return {text.substr(1), Step::Kind::kIndex, text.size()};
    return {text.substr(from, close - from), quoted ? Step::Kind::kKey : Step::Kind::kIndex,
            std::min(close + (quoted ? 2 : 1), text.size())};
  }
  const std::size_t from = text[0] == '.' ? 1 : 0;
  const auto end = std::min(text.find_first_of(".[", from), text.size());
  return {text.substr(from, end - from), Step::Kind::kAttribute, std::max<std::size_t>(end, 1)};
}

bool is_table(const Step& step) {
  return step.kind == Step::Kind::kAttribute &&
         (step.name == "_modules" || step.name == "_parameters" || step.name == "_buffers");
}

void append(std::string& path, const Step& step, bool component) {
  if (component) {
    path.append(path.empty() ? "" : ".").append(step.name);
  } else if (step.kind == Step::Kind::kIndex) {
    path.append("[").append(step.name).append("]");
  } else {
    path.append("['").append(step.name).append("']");
  }
}

}  // namespace

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::string_view without_marker(std::string_view text) {
  for (const auto marker : kMarkers) {
    if (text.starts_with(marker)) return text.substr(marker.size());
  }
  return text;
}

std::size_t next_marker(std::string_view text, std::size_t begin) {
  for (auto at = text.find('_', begin); at != std::string_view::npos; at = text.find('_', at + 1)) {
    const auto after = text.substr(at + 1);
    if (without_marker(after).size() != after.size()) return at;
  }
  return std::string_view::npos;
}

NameParts name_parts(std::string_view name, std::string_view self) {
  name = without_call_number(name);
  if (begins_with_scope(name, "[")) {
    return {.form = NameForm::kSource, .global = is_global(name), .root = {}, .rest = name};
  }
  auto body = name;
  while (body.starts_with("getattr_")) body.remove_prefix(8);
  if (begins_with_scope(body, "__")) return flat_parts(body);
  if (name.find('.') != std::string_view::npos) return {.form = NameForm::kDotted, .rest = name};
  if (begins_with_scope(name, "_")) return local_parts(name, self);
  if (name.starts_with(self) && name.substr(self.size()).starts_with("___")) {
    return {.form = NameForm::kFlat, .root = self, .rest = name.substr(self.size() + 3)};
  }
  if (name.size() > 2 && (name.starts_with("p_") || name.starts_with("b_"))) {
    return {.form = NameForm::kExport, .rest = name.substr(2)};
  }
  if (name.size() > 2 && name.starts_with("c_")) {  // "c___table_0" was "self___table_0"
    return {.form = NameForm::kConst, .rest = name.substr(name.starts_with("c___") ? 4 : 2)};
  }
  return {.rest = name};
}

std::string source_path(std::string_view text, bool global, std::string_view self) {
  text.remove_prefix(1);
  const auto root = next_step(text);
  text.remove_prefix(root.end);
  const bool owns = text.starts_with("._parameters") || text.starts_with("._buffers");
  // **kwargs holds arguments by their own names.
  const bool by_name = !global && root.name == "kwargs" && text.starts_with("['");
  const bool dropped = global ? !text.empty() && !owns : root.name == self || by_name;
  std::string path(dropped ? std::string_view{} : root.name);
  for (bool in_table = by_name; !text.empty();) {
    const auto step = next_step(text);
    text.remove_prefix(step.end);
    const bool table = is_table(step) && text.starts_with('[');
    if (!table) append(path, step, in_table || step.kind == Step::Kind::kAttribute);
    in_table = table;
  }
  return path;
}

}  // namespace opscope
