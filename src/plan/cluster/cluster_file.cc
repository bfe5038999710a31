// Clusters in a file, in the plain TOML of device files.
#include <algorithm>
#include <array>

#include "base/choices.h"
#include "base/files.h"
#include "metrics/unit.h"
#include "plan/cluster/cluster.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 6> kKeys{"device", "count", "memory",
                                                "link",   "power", "price_per_hour"};

class ClusterReader {
 public:
  ClusterReader(std::string_view text, const std::string& name)
      : name_(name), items_(read_plain_toml(text, name)) {}

  Cluster read() {
    Cluster cluster;
    for (const TomlItem& item : items_) {
      const auto parts = split_by(item.path, '.');
      if (parts.size() != 3 || parts[0] != "devices")
        throw Error("'" + item.path + "' says nothing of a cluster", at(item),
                    "a table for each group of devices: [devices.edge]");
      if (std::ranges::find(kKeys, parts[2]) == kKeys.end())
        throw Error("'" + std::string(parts[2]) + "' says nothing of a group of devices", at(item),
                    did_you_mean(parts[2], kKeys, "known: " + one_of(kKeys)));
      if (std::ranges::find(cluster.groups, parts[1], &ClusterGroup::name) == cluster.groups.end())
        cluster.groups.push_back(read_group(std::string(parts[1]), item));
    }
    if (cluster.groups.empty())
      throw Error("it has no devices", name_, "[devices.edge] begins a group of them");
    return cluster;
  }

 private:
  std::string at(const TomlItem& item) const { return name_ + ":" + std::to_string(item.line); }

  const TomlItem* find(const std::string& group, std::string_view key) const {
    const auto found =
        std::ranges::find(items_, "devices." + group + "." + std::string(key), &TomlItem::path);
    return found == items_.end() ? nullptr : &*found;
  }
  static std::string text_of(const TomlItem& item) { return join(item.values, ","); }

  ClusterGroup read_group(const std::string& name, const TomlItem& first) const {
    const TomlItem* device = find(name, "device");
    if (!device)
      throw Error("group '" + name + "' names no device", at(first), "device = \"h200\": `opscope devices`");
    ClusterGroup group = group_of(text_of(*device), at(*device));
    group.name = name;
    if (const TomlItem* count = find(name, "count")) {
      const auto number = number_from<std::size_t>(text_of(*count));
      constexpr std::size_t kMost = 100'000;
      if (!number || *number == 0 || *number > kMost)
        throw Error("'" + text_of(*count) + "' is no number of devices", at(*count));
      group.count = *number;
    }
    if (const TomlItem* memory = find(name, "memory"))
      group.memory_bytes = static_cast<double>(parse_bytes(at(*memory), text_of(*memory)));
    if (const TomlItem* link = find(name, "link")) group.link = link_from_text(text_of(*link), at(*link));
    if (const TomlItem* power = find(name, "power"))
      group.watts = parse_figure(Unit::kPower, text_of(*power), at(*power));
    if (const TomlItem* price = find(name, "price_per_hour")) {
      const auto amount = number_from<double>(text_of(*price));
      if (!amount || !(*amount >= 0)) throw Error("'" + text_of(*price) + "' is no price", at(*price));
      group.price_per_hour = amount;
    }
    return group;
  }

  const std::string& name_;
  std::vector<TomlItem> items_;
};

}  // namespace

Cluster read_cluster(std::string_view text, const std::string& name) {
  return ClusterReader(text, name).read();
}

Cluster cluster_from(const std::string& text_or_file, const std::string& where) {
  if (text_or_file.empty())
    throw Error("no devices are named", where, "for example --devices 4xh200 --link 450GB/s,5us");
  if (text_or_file.ends_with(".toml") && file_stamp(text_or_file)) {
    const std::string text = read_file(text_or_file);
    if (text.starts_with("[devices.") || text.find("\n[devices.") != std::string::npos)
      return read_cluster(text, text_or_file);
  }
  return {.groups = groups_from_text(text_or_file, where)};
}

}  // namespace opscope
