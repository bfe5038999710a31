// How a tracer's name is built, before its parts are turned into a path: for names.cc only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace opscope {

enum class NameForm : std::uint8_t {
  kSource,  // L['self']._modules['layer1']._modules['0']
  kMarked,  // l_self_modules_layer1_modules_0_parameters_weight_: Dynamo's inputs
  kLocal,   // l_x_, l_self_scales_0_: an argument of forward, or what hangs on self and is no module
  kFlat,    // L__self___layer1_0, g__model___model_0, self___table_0: attributes of Dynamo's own modules
  kExport,  // p_layer1_0_weight, b_bn_running_mean: torch.export's parameters and buffers
  kConst,   // c_lifted_tensor_0
  kDotted,  // layer1.0.conv1
  kBare,    // layer1_0_conv1: the name of a node
};

struct NameParts {
  NameForm form = NameForm::kBare;
  bool global = false;      // G['model'] rather than L['self']
  bool of_self = false;     // kMarked, kLocal: begins with self, which is not in root
  std::string_view root{};  // "model", "self": what the path hangs on
  std::string_view rest{};  // after the prefix and the root; the whole text for kSource
};

NameParts name_parts(std::string_view name, std::string_view self);
// Where the next "_modules_", "_parameters_" or "_buffers_" begins, from `begin` on; npos where there is
// none.
std::size_t next_marker(std::string_view text, std::size_t begin);
// The text after "modules_", "parameters_" or "buffers_" at its beginning; the whole text where there is
// none.
std::string_view without_marker(std::string_view text);
// The path that a source names: "layer1.0.weight", "x", "batch['image']".
std::string source_path(std::string_view source, bool global, std::string_view self);

constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_number(std::string_view text);

}  // namespace opscope
