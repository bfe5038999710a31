#include "hardware/calibrate/machine.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace opscope {
namespace {

namespace fs = std::filesystem;

std::string text_of_system(const fs::path& path) {
  try {
    return read_file(path.string());
  } catch (const Error&) {
    return "";
  }
}

// One space between words.
std::string plain_words(std::string_view text) {
  std::string words;
  for (const char byte : text)
    if (byte != ' ' && byte != '\t')
      words += byte;
    else if (!words.empty() && words.back() != ' ')
      words += ' ';
  while (words.ends_with(' ')) words.pop_back();
  return words;
}

// "model name : AMD EPYC"
std::string value_of(const std::string& text, std::initializer_list<std::string_view> keys) {
  for (const std::string_view line : split_by(text, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string key = plain_words(line.substr(0, colon)), value = plain_words(line.substr(colon + 1));
    if (!value.empty() && std::ranges::find(keys, key) != keys.end()) return value;
  }
  return "";
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.processor = value_of(text_of_system("/proc/cpuinfo"), {"model name", "Model", "cpu model"});
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", ignored))
    if (std::string name = value_of(text_of_system(entry.path() / "information"), {"Model"}); !name.empty())
      machine.gpus.push_back(std::move(name));
  machine.knows_gpus =
      !machine.gpus.empty() || !(fs::exists("/dev/kfd", ignored) || fs::exists("/dev/dxg", ignored) ||
                                 fs::exists("/dev/nvidiactl", ignored));
  return machine;
}

std::string not_of(const Machine& machine, const std::string& kind, const std::string& device_name) {
  if (kind == "cpu") {
    if (machine.processor.empty() || machine.processor == device_name) return "";
    return "this is " + machine.processor;
  }
  if (!machine.knows_gpus || std::ranges::find(machine.gpus, device_name) != machine.gpus.end()) return "";
  return machine.gpus.empty() ? "this machine has no GPU" : "this machine has " + machine.gpus.front();
}

}  // namespace opscope
