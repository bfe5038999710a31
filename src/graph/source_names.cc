// Dynamo's sources, which say how a value is reached from the arguments of forward and from globals:
// L['self']._modules['layer1']._modules['0']._parameters['weight'].
#include <algorithm>
#include <cstdint>

#include "graph/name_forms.h"

namespace opscope {
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
