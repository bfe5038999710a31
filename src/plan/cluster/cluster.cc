// Clusters on one line.
#include "plan/cluster/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/choices.h"
#include "metrics/unit.h"

namespace opscope {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// "50Mbit/s" and "1Gb/s" are bits; "450GB/s" bytes.
double bandwidth_from_text(std::string_view text, const std::string& where) {
  const std::string lower = lower_case(text);
  for (const std::string_view ending : {"bit/s", "bps"}) {
    if (!lower.ends_with(ending)) continue;
    const std::string bytes(text.substr(0, text.size() - ending.size()));
    return parse_figure(Unit::kBandwidth, bytes + "B/s", where) / 8;
  }
  return parse_figure(Unit::kBandwidth, text, where);
}

ClusterGroup& group_called(Cluster& cluster, std::string_view name, const std::string& where) {
  std::vector<std::string_view> names;
  for (ClusterGroup& group : cluster.groups) {
    names.push_back(group.name);
    // "edge0": which of devices that are alike makes no difference.
    std::string_view plain = name;
    while (plain != group.name && !plain.empty() && plain.back() >= '0' && plain.back() <= '9')
      plain.remove_suffix(1);
    if (plain == group.name) return group;
  }
  throw Error("no devices are called '" + std::string(name) + "'", where,
              did_you_mean(name, names, "choose " + one_of(names)));
}

ClusterGroup group_from_text(std::string_view text, const std::string& where) {
  const auto fail = [&](const std::string& what) {
    throw Error(what, where, "for example 4xh200, or 12xjetson-agx-orin-64gb,1xrtx-3090@cloud");
  };
  const std::string_view all = text;
  ClusterGroup group{.target = {}, .device = {}, .name = {}};
  const auto x = text.find('x');
  if (x != std::string_view::npos && x > 0)
    if (const auto count = number_from<std::size_t>(text.substr(0, x))) {
      constexpr std::size_t kMost = 100'000;
      if (*count == 0 || *count > kMost) fail("'" + std::string(all) + "' is no number of devices");
      group.count = *count, text.remove_prefix(x + 1);
    }
  std::string name;
  if (const auto at = text.rfind('@'); at != std::string_view::npos)
    name = text.substr(at + 1), text = text.substr(0, at);
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    group.memory_bytes = static_cast<double>(parse_bytes(where, text.substr(colon + 1)));
    text = text.substr(0, colon);
  }
  if (text.empty()) fail("'" + std::string(all) + "' names no device");
  ClusterGroup known = group_of(std::string(text), where);
  known.count = group.count;
  if (group.memory_bytes) known.memory_bytes = group.memory_bytes;
  if (!name.empty()) known.name = name;
  return known;
}

}  // namespace

std::size_t Cluster::devices() const {
  std::size_t all = 0;
  for (const ClusterGroup& group : groups) all += group.count;
  return all;
}

ClusterGroup group_of(const std::string& device, const std::string& where) {
  ClusterGroup group{.target = load_targets(device, where).front(), .device = device, .name = {}};
  const Device& known = *group.target.device;
  group.name = known.id;
  if (known.memory_size) group.memory_bytes = known.memory_size->value;
  if (known.power_limit) group.watts = known.power_limit->value;
  return group;
}

DeviceLink link_from_text(std::string_view text, const std::string& where) {
  const auto parts = split_by(text, ',');
  if (parts.size() != 2)
    throw Error("'" + std::string(text) + "' is no link", where,
                "bandwidth and latency, for example 50Mbit/s,2ms or 450GB/s,5us");
  return {bandwidth_from_text(trimmed(parts[0]), where),
          parse_figure(Unit::kSeconds, trimmed(parts[1]), where)};
}

std::vector<ClusterGroup> groups_from_text(std::string_view text, const std::string& where) {
  std::vector<ClusterGroup> groups;
  for (const std::string_view each : split_by(text, ',')) {
    groups.push_back(group_from_text(trimmed(each), where));
    const auto same = [&](const ClusterGroup& other) { return other.name == groups.back().name; };
    if (std::any_of(groups.begin(), groups.end() - 1, same))
      throw Error("two groups of devices are called '" + groups.back().name + "'", where,
                  "a name behind @ tells them apart: 2xl4@edge");
  }
  return groups;
}

void set_links(Cluster& cluster, const std::vector<std::string>& links, const std::string& where) {
  std::vector<bool> is_own(cluster.groups.size(), false);
  for (const std::string& text : links) {
    const auto equals = text.find('=');
    const DeviceLink link =
        link_from_text(equals == std::string::npos ? text : text.substr(equals + 1), where);
    if (equals != std::string::npos) {
      ClusterGroup& group = group_called(cluster, text.substr(0, equals), where);
      group.link = link, is_own[static_cast<std::size_t>(&group - cluster.groups.data())] = true;
      continue;
    }
    for (std::size_t i = 0; i < cluster.groups.size(); ++i)
      if (!is_own[i]) cluster.groups[i].link = link;
  }
}

void set_pins(Cluster& cluster, const std::vector<std::string>& pins, const std::string& where) {
  for (const std::string& text : pins) {
    const auto equals = text.find('=');
    const std::string what = text.substr(0, equals);
    if (equals == std::string::npos || (what != "input" && what != "output"))
      throw Error("'" + text + "' pins nothing", where, "for example input=cloud or output=cloud");
    const ClusterGroup& group = group_called(cluster, text.substr(equals + 1), where);
    cluster.pins.push_back({what == "output", group.name});
  }
}

void check(const Cluster& cluster, const std::string& devices, const std::string& links) {
  for (const ClusterGroup& group : cluster.groups) {
    const std::string& id = group.target.device->id;
    if (!group.memory_bytes)
      throw Error("how much memory '" + id + "' has is not known", devices,
                  "say it behind the name: " + id + ":64GB");
    if (!group.link && cluster.devices() > 1)
      throw Error("the link of '" + group.name + "' is not given", links,
                  "bandwidth and latency: --link 50Mbit/s,2ms for all, --link " + group.name +
                      "=50Mbit/s,2ms for these");
  }
}

}  // namespace opscope
