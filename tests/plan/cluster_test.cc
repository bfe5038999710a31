// Clusters on one line and in files.
#include "plan/cluster/cluster.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace opscope {
namespace {

TEST(Cluster, IsReadFromOneLine) {
  Cluster cluster = cluster_from("12xjetson-agx-orin-64gb, 1xrtx-3090@cloud,2xl4:20GB", "--devices");
  set_links(cluster, {"cloud=1Mbit/s,20ms", "50Mbit/s,2ms"}, "--link");
  set_pins(cluster, {"input=jetson-agx-orin-64gb0"}, "--pin");
  check(cluster, "--devices", "--link");
  ASSERT_EQ(cluster.groups.size(), 3u);
  EXPECT_EQ(cluster.devices(), 15u);
  EXPECT_EQ(cluster.groups[0].name, "jetson-agx-orin-64gb");
  EXPECT_EQ(cluster.groups[0].link, (DeviceLink{50e6 / 8, 2e-3}));
  EXPECT_EQ(cluster.groups[1].name, "cloud");
  EXPECT_EQ(cluster.groups[1].link, (DeviceLink{1e6 / 8, 20e-3}));
  EXPECT_EQ(cluster.groups[2].memory_bytes, 20e9);
  EXPECT_EQ(cluster.pins.front().group, "jetson-agx-orin-64gb");
}

TEST(Cluster, IsReadFromAFile) {
  const Cluster cluster = read_cluster(R"(
[devices.edge]
device = "jetson-agx-orin-64gb"
count = 12
memory = "32 GB"
link = "50Mbit/s, 2ms"
power = "60 W"

[devices.cloud]
device = "rtx-3090"
link = ["1Mbit/s", "20ms"]
price_per_hour = 0.5
)",
                                       "cluster.toml");
  ASSERT_EQ(cluster.groups.size(), 2u);
  EXPECT_EQ(cluster.groups[0].count, 12u);
  EXPECT_EQ(cluster.groups[0].memory_bytes, 32e9);
  EXPECT_EQ(cluster.groups[0].watts, 60);
  EXPECT_EQ(cluster.groups[1].price_per_hour, 0.5);
  EXPECT_EQ(cluster.groups[1].link, (DeviceLink{1e6 / 8, 20e-3}));
}

void expect_error(const std::function<void()>& call, const std::string& what) {
  try {
    call();
    ADD_FAILURE() << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), what);
  }
}

TEST(Cluster, SaysWhatIsWrong) {
  const auto file = [](const char* text) { return [text] { read_cluster(text, "c.toml"); }; };
  expect_error(file("[devices.edge]\ncount = 2\n"), "group 'edge' names no device");
  expect_error(file("[devices.edge]\ndevice = \"l4\"\nspeed = 2\n"),
               "'speed' says nothing of a group of devices");
  expect_error(file("[devices.edge]\ndevice = \"l4\"\ncount = 0\n"), "'0' is no number of devices");
  expect_error(file("[links]\nedge = \"1GB/s\"\n"), "'links.edge' says nothing of a cluster");
  expect_error([] { cluster_from("0xl4", "--devices"); }, "'0xl4' is no number of devices");
  expect_error([] { cluster_from("4x", "--devices"); }, "'4x' names no device");
  expect_error([] { link_from_text("50Mbit/s", "--link"); }, "'50Mbit/s' is no link");
}

TEST(Cluster, FilesOfDevicesHaveACountToo) {
  const std::string file = std::string(OPSCOPE_DATA) + "/hardware/l4.toml";
  const Cluster several = cluster_from("3x" + file + ":20GB@edge", "--devices");
  ASSERT_EQ(several.groups.size(), 1u);
  EXPECT_EQ(several.groups[0].count, 3u);
  EXPECT_EQ(several.groups[0].name, "edge");
  EXPECT_EQ(several.groups[0].memory_bytes, 20e9);
  EXPECT_EQ(cluster_from("3x" + file, "--devices").groups[0].count, 3u);
  EXPECT_EQ(cluster_from(file, "--devices").groups[0].count, 1u);
}

TEST(Cluster, BitsAndBytes) {
  EXPECT_EQ(link_from_text("1Gbit/s,1ms", "").bytes_per_second, 125e6);
  EXPECT_EQ(link_from_text("1Gbps,1ms", "").bytes_per_second, 125e6);
  EXPECT_EQ(link_from_text("450GB/s,5us", "").bytes_per_second, 450e9);
}

}  // namespace
}  // namespace opscope
