// Any bytes -> the reader of device files, and the small reader of TOML behind it -> the device's own report.
#include "fuzz/accepted.h"
#include "hardware/device.h"
#include "report/hardware/hardware.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opscope;
  const auto device = accepted([&] { return read_device(text_of(data, size), "fuzz"); });
  if (!device) return 0;
  const DevicePointer devices[] = {std::make_shared<const Device>(*device)};
  for (const Format format : all_formats()) require(!devices_report(devices, format, {}).empty());
  return 0;
}
