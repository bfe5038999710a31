// Measured times in the profile's JSON. Everything here is absent from a profile without a measurement.
#pragma once

#include "analyse/times/times.h"
#include "base/json_writer.h"

namespace opscope {

// "time_seconds" and the rates that follow from it; "peak_share" where a device is known.
void write_time(JsonWriter& json, const Profile& profile, const Metrics& metrics);
// "time_statistics": {"samples": 9, "median_seconds": ...}; null where nothing was measured.
void write_statistics(JsonWriter& json, std::string_view key, const Statistics& statistics);
// "measurement": where and how, whole runs, how far ops account for them, phases, memory, what to look at.
void write_measurement(JsonWriter& json, const Profile& profile, const OpTimes& times);

}  // namespace opscope
