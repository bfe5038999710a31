// Devices in reports: what one could do for a model, several side by side, and the devices themselves.
#pragma once

#include <span>
#include <string>

#include "analyse/compare/affinity.h"
#include "report/profile/sections.h"

namespace opscope {

// "12.3 us"; "≥12.3 us" where ops of it are not known, "?" where all are not, "-" for nothing.
std::string roofline_text(const Metrics& metrics);
// "compute", "memory", "-": what takes most of its roofline time.
std::string_view bound_word(const Metrics& metrics);
Cell bound_cell(const Metrics& metrics);
// The columns of a device for programs; nothing where the roofline is not known.
Columns<Metrics> roofline_columns(const std::string& before = {});

// The section of a profile with a device: its figures, the totals at the roof, and what follows.
Section hardware_section(const Profile& profile);

// An object "hardware": the device, its ridge, totals and findings.
void write_hardware(JsonWriter& json, const Profile& profile);

// The same model on several devices.
std::string compare_hardware(std::span<const Profile> profiles, Format format, const TextOptions& options);

// Several devices in a table; one with every figure and its source.
std::string devices_report(std::span<const DevicePointer> devices, Format format, const TextOptions& options);

}  // namespace opscope
