// Predicted time in reports: cells and columns for tables, what a run is made of, and the report of
// `opscope predict`.
#pragma once

#include <span>
#include <string>

#include "report/profile/sections.h"

namespace opscope {

inline bool is_predicted(const Profile& profile) { return profile.predicted.predictor != nullptr; }

// "12.3 us"; "≥12.3 us" where ops of it are not predicted, "?" where none is, "-" for nothing.
std::string predicted_text(const Metrics& metrics);
// "11.2 to 13.5 us": p10 and p90.
std::string predicted_range_text(const Profile& profile, const Metrics& metrics);
// What its predicted time goes into: "host" where most of it is the device waiting for the host, else "compute" or
// "memory".
Cell predicted_bound_cell(const Metrics& metrics);

// Seconds with p10 and p90, for programs; nothing where nothing is predicted.
Columns<Metrics> predicted_columns(const Profile& profile, const std::string& before = {});

// "eager: 61% host-bound, 30% memory-bound, 9% compute-bound"
std::string prediction_limits_text(const PredictedRun& run);
// "measured calls 12%, interpolated 80%, family rates 8%; h200, 2026-11-02, torch 2.11"
std::string prediction_sources_text(const PredictedRun& run);
// The run as a whole: time, where it goes, how it is known.
Section prediction_section(const Profile& profile);
// An object "prediction".
void write_prediction(JsonWriter& json, const Profile& profile);

// One device: the run, and the tables of a profile led by predicted time. Several: side by side.
std::string prediction_report(std::span<const Profile> profiles, Format format, const TextOptions& options);

// The run in the Trace Event Format: modules with their ops inside, and the device's lane.
std::string predicted_trace(const Profile& profile);

}  // namespace opscope
