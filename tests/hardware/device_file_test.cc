// Device files: what is read, what is refused and how it is told, and the devices built in.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "hardware/device.h"
#include "hardware/predict/targets.h"

namespace opscope {
namespace {

constexpr std::string_view kSmall = R"(# a comment
id = "mine"   # and one more
name = "My \"GPU\""
kind = "gpu"
aliases = ["one", "two"]
cores = 4

[memory]
bandwidth = { value = "900 GB/s", source = "page: Memory" }
[memory.size]
value = "24 GB"

[peaks.vector]
float32 = { value = "10 TFLOP/s", source = "page: FP32" }
[sources]
page = "its page"
)";

// The message, place and hint of what reading this throws; "" where it does not.
std::string refusal(const std::string& text) {
  try {
    read_device(text, "mine.toml");
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.where() + " | " + error.hint();
  }
  return "";
}

std::string with(std::string from, std::string to) {
  std::string text(kSmall);
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(PlainToml, TablesInlineTablesAndLists) {
  const auto items =
      read_plain_toml("a = \"1\"\n[t.u]\nb = { c = \"2\", d = [\"3\", \"4\"] }\ne = []\nf = 12\n", "x");
  ASSERT_EQ(items.size(), 5u);
  EXPECT_EQ(items[0].path, "a");
  EXPECT_EQ(items[1].path, "t.u.b.c");
  EXPECT_EQ(items[1].line, 3);
  EXPECT_EQ(items[2].values, (std::vector<std::string>{"3", "4"}));
  EXPECT_TRUE(items[3].is_list && items[3].values.empty());
  EXPECT_EQ(items[4].values.front(), "12");
}

TEST(PlainToml, RefusesWhatItDoesNotRead) {
  const auto message = [](std::string_view text) {
    try {
      read_plain_toml(text, "x.toml");
    } catch (const Error& error) {
      return error.where() + ": " + error.what();
    }
    return std::string();
  };
  EXPECT_EQ(message("a = true"), "x.toml:1: 'true' is not a string");
  EXPECT_EQ(message("\na = \"b"), "x.toml:2: here a '\"' is missing");
  EXPECT_EQ(message("a = \"b\" c"), "x.toml:1: 'c' is too much on this line");
  EXPECT_EQ(message("a = \"1\"\na = \"2\""), "x.toml:2: 'a' is there twice");
  EXPECT_EQ(message("[a]\n[a]"), "x.toml:2: the table [a] is there twice");
  EXPECT_EQ(message("= \"1\""), "x.toml:1: here a key is missing");
  EXPECT_EQ(message("a = \"\"\"b\"\"\""), "x.toml:1: text here is on one line, between one pair of quotes");
  EXPECT_EQ(message("a = \"\\n\""), "x.toml:1: of escapes only \\\" and \\\\ are known here");
  EXPECT_EQ(message("a = \"\xff\""), "x.toml:0: this is not UTF-8 text");
  EXPECT_EQ(message("a = { b = \"1\""), "x.toml:1: here a '}' is missing");
}

TEST(DeviceFile, ReadsEveryKindOfFigure) {
  const Device device = read_device(kSmall, "mine.toml");
  EXPECT_EQ(device.name, "My \"GPU\"");
  EXPECT_EQ(device.aliases.size(), 2u);
  EXPECT_EQ(device.cores, 4u);
  EXPECT_EQ(device.memory_bandwidth.value, 900e9);
  EXPECT_EQ(device.memory_bandwidth.source, "page: Memory");
  EXPECT_EQ(device.memory_size->value, 24e9);
  EXPECT_EQ(device.peak(Units::kVector, "float32")->rate.value, 10e12);
  EXPECT_EQ(device.peak(Units::kMatrix, "float16"), nullptr);
}

TEST(DeviceFile, MistakesAreToldWithTheirLine) {
  EXPECT_EQ(refusal(with("900 GB/s", "900 GB")),
            "'GB' is not a unit of bandwidth | mine.toml:9 | for example 4.8 TB/s (GB/s)");
  EXPECT_EQ(
      refusal(with("10 TFLOP/s", "10")),
      "'10' has no unit | mine.toml:14 | for example 989.5 TFLOP/s (GFLOP/s, PFLOP/s; TOP/s for integers)");
  EXPECT_EQ(refusal(with("10 TFLOP/s", "fast")).substr(0, 38), "'fast' does not begin with a number | ");
  EXPECT_EQ(refusal(with("10 TFLOP/s", "0 TFLOP/s")).substr(0, 27), "'0 TFLOP/s' is not above 0 ");
  EXPECT_EQ(refusal(with("float32 =", "flaot32 =")),
            "no such type of number: 'flaot32' | mine.toml:14 | did you mean float32?");
  EXPECT_EQ(refusal(with("kind = \"gpu\"", "knid = \"gpu\"")),
            "no such key: 'knid' | mine.toml:4 | did you mean kind?");
  EXPECT_NE(refusal(with("bandwidth =", "bandwith =")).find("did you mean memory.bandwidth"),
            std::string::npos);
  EXPECT_EQ(
      refusal(with("\"gpu\"", "\"tpu\"")),
      "the device has no kind, or one that is not known | mine.toml | kind = \"gpu\" or kind = \"cpu\"");
  EXPECT_EQ(refusal(with("float32 =", "float64 =")).substr(0, 47),
            "the peak of vector units in float32 is missing ");
  EXPECT_EQ(refusal("id = \"a\"\nname = \"b\"\nkind = \"cpu\"\n").substr(0, 33),
            "the memory's bandwidth is missing");
  EXPECT_EQ(refusal(with("cores = 4", "cores = \"few\"")),
            "'few' is not a number of cores | mine.toml:6 | for example cores = 64");
  EXPECT_EQ(refusal(std::string(kSmall)), "");
}

// Fewer cores, smaller peaks, in the unit that they were in.
TEST(KnownDevices, PartOfACpu) {
  const Device part = with_cores(*find_device("xeon-8480plus"), 28);
  EXPECT_EQ(part.peak(Units::kMatrix, "int8")->rate.text, "172 TOP/s");
  EXPECT_EQ(part.peak(Units::kVector, "float32")->rate.text, "5.375 TFLOP/s");
  EXPECT_EQ(part.memory_bandwidth.text, "307.2 GB/s");
}

// Every figure of a built-in device says where it is from, by a source that the file names.
TEST(KnownDevices, EveryFigureHasASource) {
  std::set<std::string> ids;
  for (const DevicePointer& device : known_devices()) {
    SCOPED_TRACE(device->id);
    EXPECT_TRUE(ids.insert(device->id).second);
    EXPECT_FALSE(device->sources.empty());
    std::vector<const Figure*> figures{&device->memory_bandwidth};
    for (const Peak& peak : device->peaks) figures.push_back(&peak.rate);
    for (const auto* figure : {&device->memory_size, &device->launch_overhead, &device->power_limit})
      if (*figure) figures.push_back(&**figure);
    for (const DeviceCache& cache : device->caches)
      for (const auto* figure : {&cache.size, &cache.bandwidth})
        if (*figure) figures.push_back(&**figure);
    for (const Figure* figure : figures) {
      const std::string key = figure->source.substr(0, figure->source.find(':'));
      EXPECT_GT(figure->value, 0);
      EXPECT_TRUE(std::ranges::count(device->sources, key, &std::pair<std::string, std::string>::first))
          << figure->text << " is from '" << figure->source << "'";
      EXPECT_GT(figure->source.size(), key.size() + 2) << figure->text;
      // What was reckoned says so: it is in no document.
      const auto says = [&](const char* part) { return figure->source.find(part) != std::string::npos; };
      EXPECT_EQ(says(" x ") || says(" / "), says(": worked out: ")) << figure->source;
    }
  }
  EXPECT_EQ(ids.size(), embedded_devices().size());
  EXPECT_GE(ids.size(), 15u);
}

TEST(KnownDevices, FiguresArePlausible) {
  for (const DevicePointer& device : known_devices()) {
    SCOPED_TRACE(device->id);
    const auto rate = [&](Units units, const char* dtype) {
      const Peak* peak = device->peak(units, dtype);
      return peak == nullptr ? 0 : peak->rate.value;
    };
    const double float32 = rate(Units::kVector, "float32"), half = rate(Units::kMatrix, "float16");
    const double ridge = float32 / device->memory_bandwidth.value;
    EXPECT_GT(ridge, 5);
    EXPECT_LT(ridge, 120);
    if (half > 0) {
      EXPECT_GE(half, 2 * float32 - 1e9);
      EXPECT_LT(half / device->memory_bandwidth.value, 500);
    }
    if (const double tf32 = rate(Units::kMatrix, "tf32"); tf32 > 0) {
      EXPECT_NEAR(half / tf32, 2, 0.05);
    }
    if (const double int8 = rate(Units::kMatrix, "int8"); int8 > 0 && half > 0) {
      EXPECT_GE(int8, 1.9 * half);
    }
    if (const double float64 = rate(Units::kVector, "float64"); float64 > 0) {
      EXPECT_LE(float64, float32 / 1.9);
    }
  }
}

// Published by NVIDIA: the generation decides, and a graphics processor has more processors than a quarter.
TEST(KnownDevices, CudaDevicesSayTheirKind) {
  EXPECT_EQ(find_device("a100")->cuda(), (CudaDevice{8, 0, 108}));
  EXPECT_EQ(find_device("h200")->cuda(), CudaDevice{});
  EXPECT_EQ(find_device("rtx-5090")->cuda(), (CudaDevice{12, 0, 170}));
  EXPECT_EQ(find_device("mi300x")->cuda(), std::nullopt);
  for (const DevicePointer& device : known_devices()) {
    EXPECT_TRUE(!device->compute_capability || device->vendor == "NVIDIA") << device->id;
    if (device->compute_capability) {
      EXPECT_FALSE(device->processors->source.empty());
    }
  }
}

TEST(DeviceFile, ACudaDeviceHasBothFiguresOrNeither) {
  const std::string capability = "compute_capability = { value = \"8.0\" }\n",
                    processors = "processors = { value = \"108\" }\n";
  const auto read = [](const std::string& lines) {
    return read_device(lines + std::string(kSmall), "mine.toml").cuda();
  };
  EXPECT_EQ(read(capability + processors), (CudaDevice{8, 0, 108}));
  EXPECT_EQ(refusal(capability + std::string(kSmall)).substr(0, 55),
            "a CUDA device has both a compute capability and a numbe");
  EXPECT_EQ(refusal("compute_capability = { value = \"eight\" }\n" + std::string(kSmall)),
            "'eight' is no compute capability | mine.toml:1 | for example 8.0");
  EXPECT_EQ(refusal("processors = { value = \"0\" }\n" + std::string(kSmall)),
            "'0' is no number of processors | mine.toml:1 | for example 108");
}

TEST(CudaDeviceText, ComesBackAndRefusesOthers) {
  for (const CudaDevice& device : {CudaDevice{}, CudaDevice{8, 6, 84}, CudaDevice{12, 0, 188}})
    EXPECT_EQ(cuda_device_from(to_text(device)), device);
  for (const char* text :
       {"", "8.0", "8x108", "8.0x", "8.0x0", "8.0x-1", ".0x1", "8.10x1", "a.0x1", "8.0x108x", "108x8.0"})
    EXPECT_EQ(cuda_device_from(text), std::nullopt) << text;
}

TEST(KnownDevices, AreFoundByEveryName) {
  for (const DevicePointer& device : known_devices()) {
    for (const std::string& name : device->aliases) EXPECT_EQ(find_device(name), device) << name;
    for (const std::string& name : device->reported_as) EXPECT_EQ(find_device(name), device) << name;
    EXPECT_EQ(find_device(device->id), device);
    EXPECT_EQ(find_device(device->name), device);
  }
  EXPECT_EQ(find_device("H100_PCIe")->id, "h100-pcie");
  EXPECT_EQ(find_device("NVIDIA H200")->id, "h200");
  EXPECT_EQ(find_device(""), nullptr);
  EXPECT_EQ(find_device("AMD EPYC"), nullptr);
}

TEST(KnownDevices, NearestNamesForATypo) {
  try {
    load_device("h20");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no such device: 'h20'");
    EXPECT_EQ(error.where(), "--hardware");
    EXPECT_NE(error.hint().find("h200"), std::string::npos) << error.hint();
  }
  EXPECT_THROW(load_targets("h200,,l4"), Error);
  EXPECT_THROW(load_targets("h100,h100-sxm"), Error);
  EXPECT_THROW(load_device("no/such/file.toml"), Error);
  EXPECT_EQ(load_targets("h100, l4").size(), 2u);
}

TEST(KnownDevices, MeasuredOn) {
  Environment environment;
  environment.device_name = "NVIDIA H200";
  EXPECT_EQ(measured_device(environment)->id, "h200");
  environment.device_name = "AMD EPYC 9654 96-Core Processor";
  environment.threads = 12;
  const DevicePointer part = measured_device(environment);
  const DevicePointer whole = find_device("epyc-9654");
  EXPECT_EQ(part->name, "AMD EPYC 9654, 12 of 96 cores");
  EXPECT_DOUBLE_EQ(part->peak(Units::kVector, "float32")->rate.value,
                   whole->peak(Units::kVector, "float32")->rate.value * 12 / 96);
  EXPECT_EQ(part->memory_bandwidth.value, whole->memory_bandwidth.value);
  environment.threads = 96;
  EXPECT_EQ(measured_device(environment), whole);
  environment.device_name = "Some other processor";
  EXPECT_EQ(measured_device(environment), nullptr);
}

}  // namespace
}  // namespace opscope
