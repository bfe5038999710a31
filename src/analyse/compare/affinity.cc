// Findings are made of shares of roofline time; a share decides from these marks on.
#include "analyse/compare/affinity.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace opscope {
namespace {

constexpr double kMost = 0.65;        // of the time: what limits a model
constexpr double kWorthFusing = 0.9;  // what subgraphs take of it, at most
constexpr std::size_t kTypesNamed = 3;

std::string percent(double part) { return format_percent(part, 1.0); }

std::string limit_finding(const Profile& profile, const Affinity& found) {
  const Device& device = *profile.roofline.device;
  if (found.memory_share >= kMost)
    return fmt::format(
        "{} of the roofline time is memory-bound: bandwidth ({}) is the limit here, not FLOP/s",
        percent(found.memory_share), device.memory_bandwidth.text);
  const Peak& peak = *profile.roofline.peak;
  if (found.compute_share >= kMost)
    return fmt::format(
        "{} of the roofline time is compute-bound: the rate of {} {} units ({}) is the limit here, not "
        "bandwidth",
        percent(found.compute_share), peak.dtype, name(peak.units), peak.rate.text);
  return fmt::format("the roofline time is {} compute-bound and {} memory-bound: both limits matter",
                     percent(found.compute_share), percent(found.memory_share));
}

std::string type_finding(const Profile& profile) {
  std::string text;
  const auto types = types_by_roofline(profile);
  for (std::size_t i = 0; i < std::min(kTypesNamed, types.size()); ++i)
    text += fmt::format("{}{} {}", i ? ", " : "", types[i]->type,
                        format_percent(types[i]->metrics.roofline_time, profile.totals.roofline_time));
  return text.empty() ? text : "the roofline time goes to " + text;
}

// Faster products in half precision, where arithmetic limits; half the bytes, where memory does.
std::string precision_finding(const Profile& profile, const Affinity& found) {
  const Peak& now = *profile.roofline.peak;
  if (now.dtype != "float32" && now.dtype != "tf32") return "";
  const Device& device = *profile.roofline.device;
  const Peak* half = device.peak(Units::kMatrix, "bfloat16");
  if (half == nullptr) half = device.peak(Units::kMatrix, "float16");
  if (found.memory_share >= kMost) return "half precision would halve the bytes, and so nearly the time";
  std::string text;
  const auto add = [&](const Peak* peak, std::string_view how) {
    if (peak == nullptr || peak->rate.value <= now.rate.value) return;
    text += fmt::format("{}in {}{} products run {:.1f} times as fast here", text.empty() ? "" : ", ",
                        peak->dtype, how, peak->rate.value / now.rate.value);
  };
  if (now.dtype == "float32")
    add(device.peak(Units::kMatrix, "tf32"), " (torch.set_float32_matmul_precision(\"high\"))");
  add(half, "");
  return text;
}

std::string launch_finding(const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  const Band& launch = roofline.of(Limit::kLaunch);
  if (!roofline.device->launch_overhead || launch.ops == 0) return "";
  return fmt::format(
      "{} of {} kernels take less than launching them ({}): a larger batch, fusing or CUDA graphs help",
      launch.ops, roofline.kernels, roofline.device->launch_overhead->text);
}

std::string unknown_finding(const Profile& profile) {
  const std::uint64_t unknown = profile.totals.roofline_unknown;
  if (unknown == 0) return "";
  return fmt::format("{} {} not in it: the work or the device's rate for it is not known", unknown,
                     unknown == 1 ? "op is" : "ops are");
}

std::string fit_finding(const Profile& profile, const Affinity& found) {
  if (!found.fits || *found.fits) return "";
  return fmt::format("it does not fit: the predicted peak of {} is more than {}",
                     format_bytes(profile.memory().peak_memory_bytes()),
                     profile.roofline.device->memory_size->text);
}

// "1.4x", "12x"
std::string times_text(double ratio) { return fmt::format("{:.{}f}x", ratio, ratio < 9.95 ? 1 : 0); }

std::string ranking(std::span<const Profile> profiles, std::size_t best) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < profiles.size(); ++i)
    if (i != best) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return profiles[i].totals.predicted_time; });
  const double least = profiles[best].totals.predicted_seconds();
  std::string text;
  for (const std::size_t i : order)
    if (least > 0)
      text += fmt::format("{}{} takes {}", text.empty() ? "" : ", ", profiles[i].roofline.device->id,
                          times_text(profiles[i].totals.predicted_seconds() / least));
  return fmt::format("{} is fastest: {} predicted ({}){}", profiles[best].roofline.device->id,
                     format_time(least), name(profiles[best].predicted.mode),
                     text.empty() ? "" : "; " + text);
}

// What sets the best apart from the next, by what limits the model there.
std::string reason(std::span<const Profile> profiles, const AffinityComparison& found) {
  std::string memory, compute;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    std::string& list = found.devices[i].memory_share >= found.devices[i].compute_share ? memory : compute;
    list.append(list.empty() ? "" : ", ").append(profiles[i].roofline.device->id);
  }
  if (compute.empty()) return "memory-bound on all of them: compare their bandwidths";
  if (memory.empty()) return "compute-bound on all of them: compare their peak FLOP/s";
  return "memory limits it on " + memory + "; arithmetic on " + compute;
}

// Energy at the power limit, where it is known of all.
std::string energy(std::span<const Profile> profiles, std::size_t best) {
  std::size_t least = best;
  const auto joules = [&](std::size_t i) {
    return profiles[i].totals.predicted_seconds() * profiles[i].roofline.device->power_limit->value;
  };
  for (const Profile& profile : profiles)
    if (!profile.roofline.device->power_limit) return "";
  for (std::size_t i = 0; i < profiles.size(); ++i)
    if (joules(i) < joules(least)) least = i;
  if (least == best || !(joules(best) > 0)) return "";
  return fmt::format("at its power limit {} takes the least energy, {} of what {} takes",
                     profiles[least].roofline.device->id, percent(joules(least) / joules(best)),
                     profiles[best].roofline.device->id);
}

void add(std::vector<std::string>& findings, std::string text) {
  if (!text.empty()) findings.push_back(std::move(text));
}

}  // namespace

std::vector<const TypeRow*> types_by_roofline(const Profile& profile) {
  std::vector<const TypeRow*> types;
  for (const TypeRow& row : profile.types())
    if (row.metrics.roofline_time) types.push_back(&row);
  std::ranges::stable_sort(types, std::ranges::greater{},
                           [](const TypeRow* row) { return row->metrics.roofline_time; });
  return types;
}

Affinity affinity(const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  const Metrics& totals = profile.totals;
  Affinity found;
  if (totals.roofline_time) {
    found.compute_share = ratio(totals.compute_bound_time, totals.roofline_time);
    found.memory_share = 1 - found.compute_share;
    const FusedRoofline& fused = profile.fused_roofline();
    if (fused.unknown == 0) found.fused_share = ratio(fused.time, totals.roofline_time);
  }
  if (roofline.device->memory_size)
    found.fits =
        static_cast<double>(profile.memory().peak_memory_bytes()) <= roofline.device->memory_size->value;
  add(found.findings, fit_finding(profile, found));
  if (totals.roofline_time) {
    found.findings.push_back(limit_finding(profile, found));
    add(found.findings, type_finding(profile));
    add(found.findings, precision_finding(profile, found));
    if (found.fused_share <= kWorthFusing)
      found.findings.push_back("with fused subgraphs it takes " + percent(1 - found.fused_share) + " less");
  }
  add(found.findings, launch_finding(profile));
  add(found.findings, unknown_finding(profile));
  return found;
}

AffinityComparison compare_affinity(std::span<const Profile> profiles) {
  AffinityComparison found;
  for (const Profile& profile : profiles) found.devices.push_back(affinity(profile));
  const auto standing = [&](std::size_t i) {
    return std::pair(found.devices[i].fits == false, profiles[i].totals.predicted_time);
  };
  for (std::size_t i = 0; i < profiles.size(); ++i)
    if (standing(i) < standing(found.best)) found.best = i;
  found.findings.push_back(ranking(profiles, found.best));
  found.findings.push_back(reason(profiles, found));
  add(found.findings, energy(profiles, found.best));
  for (std::size_t i = 0; i < profiles.size(); ++i)
    if (found.devices[i].fits == false)
      found.findings.push_back(profiles[i].roofline.device->id + ": " +
                               fit_finding(profiles[i], found.devices[i]));
  add(found.findings, unknown_finding(profiles[found.best]));
  return found;
}

}  // namespace opscope
