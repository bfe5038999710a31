// Tracers' names looked up among the paths of one model. A path and every name that a tracer can make of it
// fold to the same key: small letters and digits, one underscore for whatever is between them.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "graph/name_forms.h"
#include "graph/names.h"

namespace opscope {
namespace {

constexpr bool is_small(char letter) { return letter >= 'a' && letter <= 'z'; }
constexpr bool is_capital(char letter) { return letter >= 'A' && letter <= 'Z'; }

enum class Capitals : bool { kLowered, kSplit };  // "myBlock" as "myblock", or as torch.fx: "my_block"

std::string folded(std::string_view name, Capitals capitals = Capitals::kLowered) {
  std::string key;
  key.reserve(name.size());
  bool gap = false;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char letter = name[at];
    if (!is_small(letter) && !is_capital(letter) && !is_digit(letter)) {
      gap = true;
      continue;
    }
    gap = gap || (capitals == Capitals::kSplit && is_capital(letter) && at > 0 && is_small(name[at - 1]));
    if (gap && !key.empty()) key += '_';
    gap = false;
    key += is_capital(letter) ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return key;
}

// A path as Dynamo would write it in the name of an input, were everything in it a module.
std::string marked(std::string_view path) {
  std::string name;
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find('.', at), path.size());
    name.append("_modules_").append(path.substr(at, end - at));
    at = end + 1;
  }
  return name;
}

// The key of such a name: parameters and buffers marked as modules are, for a path does not tell which they
// are. The dot keeps these keys apart from the others.
std::string marked_key(std::string_view name, Capitals capitals = Capitals::kLowered) {
  const auto key = folded(name, capitals);
  std::string out = ".modules_";
  std::string_view text = without_marker(key);
  for (auto marker = next_marker(text, 0); marker != std::string_view::npos; marker = next_marker(text, 0)) {
    out.append(text.substr(0, marker)).append("_modules_");
    text = without_marker(text.substr(marker + 1));
  }
  return out.append(text).append("_");
}

std::string without_duplicate(std::string key) {
  const bool closed = key.ends_with('_');
  const auto end = key.size() - (closed ? 1 : 0);
  const auto last = key.find_last_not_of("0123456789", end == 0 ? 0 : end - 1);
  if (last == std::string::npos || last == 0 || last + 1 == end || key[last] != '_') return {};
  return key.substr(0, last) + (closed ? "_" : "");
}

}  // namespace

TracerNames::TracerNames(std::span<const std::string_view> paths, std::string_view self) : self_(self) {
  for (const auto path : paths) {
    if (path.empty() || !paths_.emplace(path).second) continue;
    for (const auto capitals : {Capitals::kLowered, Capitals::kSplit}) {
      add(folded(path, capitals), path);
      add(marked_key(marked(path), capitals), path);
    }
  }
}

void TracerNames::add(std::string key, std::string_view path) {
  const auto [found, is_new] = by_key_.try_emplace(std::move(key), Candidate{std::string(path)});
  if (!is_new && found->second.path != path) found->second.only = false;
}

const std::string* TracerNames::find(std::string key, const std::string& rule) const {
  auto found = by_key_.find(key);
  if (found == by_key_.end()) found = by_key_.find(without_duplicate(std::move(key)));
  if (found == by_key_.end()) return nullptr;
  if (!found->second.only && paths_.contains(rule)) return &*paths_.find(rule);
  return &found->second.path;
}

std::string TracerNames::readable(std::string_view tracer_name) const {
  const auto parts = name_parts(tracer_name, self_);
  auto rule = readable_name(tracer_name, self_);
  if (parts.form == NameForm::kLocal) return rule;
  if (parts.form == NameForm::kDotted && paths_.contains(std::string(parts.rest)))
    return std::string(parts.rest);
  const std::string* path = nullptr;
  if (parts.form == NameForm::kMarked) path = find(marked_key(parts.rest), rule);
  if (path == nullptr && parts.form == NameForm::kExport) path = find(folded(tracer_name), rule);
  const bool exact = parts.form == NameForm::kSource || parts.form == NameForm::kMarked;
  if (path == nullptr) path = find(folded(exact ? std::string_view(rule) : parts.rest), rule);
  if (path != nullptr) return *path;
  // A global that is no part of the model keeps its name; a module that was imported is no name of anything.
  const bool foreign = parts.form == NameForm::kFlat && parts.global && !parts.root.starts_with("__import_");
  if (foreign && !paths_.empty()) rule.insert(0, std::string(parts.root).append("."));
  return rule;
}

namespace {

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
