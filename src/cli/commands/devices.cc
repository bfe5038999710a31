// `opscope devices`: what opscope knows of devices, and where each figure is from.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/flags/flags.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

struct DevicesFlags {
  std::string name;
  OutputFlags output;
  TalkFlags talk;
};

// A device by its name, else those with it in their names.
std::vector<DevicePointer> chosen(const std::string& name) {
  const auto known = known_devices();
  if (name.empty()) return {known.begin(), known.end()};
  if (find_device(name) == nullptr) {
    std::vector<DevicePointer> found;
    for (const DevicePointer& device : known)
      if (contains_text(device->id, name) || contains_text(device->name, name)) found.push_back(device);
    if (!found.empty()) return found;
  }
  return {load_device(name, "")};
}

int run_devices(const DevicesFlags& flags) {
  const Output output(flags.output);
  TextOptions text;
  output.set_style(text);
  output.write(devices_report(chosen(flags.name), output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_devices(CLI::App& app) {
  const auto flags = std::make_shared<DevicesFlags>();
  add_value(app, "NAME", flags->name, "",
            "A device, part of its name, or a .toml file to check. Default: all devices");
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_devices(*flags); };
}

}  // namespace opscope
