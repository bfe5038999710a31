// The program that the build runs to pack data/calibrations: FILE.cc, then the calibrations. What it writes
// is compiled into the library, and used there as it is.
#include <fmt/format.h>

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "hardware/calibrate/measured_list.h"
#include "hardware/predict/known_calibrations.h"
#include "hardware/predict/packed_bytes.h"
#include "hardware/predict/packing.h"

namespace opscope {

// While the library is built it has none.
std::span<const PackedCalibration> packed_calibrations() { return {}; }

namespace {

constexpr std::size_t kBytesInALine = 4096;

// As string literals, which compilers read many times faster than lists of numbers.
void add_bytes(std::string& out, std::span<const char> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % kBytesInALine == 0) out += i == 0 ? "    \"" : "\"\n    \"";
    const char c = bytes[i];
    if (c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?')
      out += c;
    else
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  out += "\"";
}

void run(std::span<char*> arguments) {
  std::string out =
      "// Written by the build from data/calibrations.\n"
      "#include \"hardware/predict/known_calibrations.h\"\n\n"
      "namespace opscope {\nnamespace {\n\n";
  std::string rows;
  std::size_t number = 0;
  for (const char* path : arguments.subspan(1)) {
    const Calibration calibration = read_with_list(path);
    const std::vector<char> bytes = pack(calibration);
    out += fmt::format("alignas({}) constexpr char k{}[] =\n", kPackedAlignment, number);
    add_bytes(out, bytes);
    out += ";\n";
    rows += fmt::format("    {{\"{}\", {{k{}, {}}}}},\n", calibration.device, number++, bytes.size());
  }
  out += "\nconstexpr PackedCalibration kAll[] = {\n" + rows + "};\n\n}  // namespace\n\n";
  out +=
      "std::span<const PackedCalibration> packed_calibrations() { return kAll; }\n\n}  // namespace "
      "opscope\n";
  const std::string path = arguments[0];
  if (!file_stamp(path) || read_file(path) != out) write_file(path, out);  // nothing to compile again
}

}  // namespace
}  // namespace opscope

int main(int count, char** arguments) {
  try {
    if (count < 3) throw opscope::Error("usage: opscope_packer FILE.cc CALIBRATION.toml...");
    opscope::run(std::span(arguments, static_cast<std::size_t>(count)).subspan(1));
    return 0;
  } catch (const opscope::Error& error) {
    std::fprintf(stderr, "opscope_packer: %s: %s\n", error.where().c_str(), error.what());
    return 1;
  }
}
