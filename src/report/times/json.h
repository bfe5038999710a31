// Measured times in the profile's JSON. Everything here is absent from a profile without a measurement.
#pragma once

#include "analyse/times/times.h"
#include "base/json_writer.h"

namespace opscope {

// "measurement": where and how, whole runs, how far ops account for them, phases, memory, what to look at.
void write_measurement(JsonWriter& json, const Profile& profile, const OpTimes& times);

}  // namespace opscope
