// The devices that a model is split over: which, how many, with how much memory, and the links between them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/predict/targets.h"

namespace opscope {

// Of one device into the network that it shares with the others.
struct DeviceLink {
  double bytes_per_second = 0, latency_seconds = 0;
  friend bool operator==(const DeviceLink&, const DeviceLink&) = default;
};

// Devices that are alike and have links that are alike.
struct ClusterGroup {
  CalibratedDevice target;
  std::string device;  // as it was written: a name, a file, "this"
  std::string name;    // "cloud", or the device's id where no group was named
  std::size_t count = 1;
  std::optional<double> memory_bytes{};  // of each; none: not known
  std::optional<DeviceLink> link{};
  std::optional<double> watts{}, price_per_hour{};
};

// Who runs what reads the model's inputs, or gives its results.
struct ClusterPin {
  bool is_output = false;
  std::string group;
};

struct Cluster {
  std::vector<ClusterGroup> groups;
  std::vector<ClusterPin> pins{};

  std::size_t devices() const;
};

// "50Mbit/s,2ms": bits or bytes a second, and seconds. Throws Error at `where`.
DeviceLink link_from_text(std::string_view text, const std::string& where);

// As people write it on one line: "12xjetson-agx-orin-64gb,1xrtx-3090@cloud", with ":48GB" behind a name for
// another memory than the device's own. `where`: the flag, for errors.
std::vector<ClusterGroup> groups_from_text(std::string_view text, const std::string& where);

// What --devices takes: a list on one line, or the file of a cluster, which also has its links.
Cluster cluster_from(const std::string& text_or_file, const std::string& where);
// A file of tables, one for each group: [devices.edge]. `name`: the file, for errors.
Cluster read_cluster(std::string_view text, const std::string& name);

// "50Mbit/s,2ms" for all, "cloud=1Mbit/s,20ms" for one group. `where`: the flag.
void set_links(Cluster& cluster, const std::vector<std::string>& links, const std::string& where);

// "input=cloud", "output=jetson-agx-orin-64gb".
void set_pins(Cluster& cluster, const std::vector<std::string>& pins, const std::string& where);

// A group from its device, filled with what is known of that.
ClusterGroup group_of(const std::string& device, const std::string& where);

// Throws Error for a group whose memory is not known, and for several devices without a link.
void check(const Cluster& cluster, const std::string& devices, const std::string& links);

}  // namespace opscope
