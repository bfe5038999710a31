// Predicted time in tables and JSON: cells, columns, and sentences of what a run is made of.
#pragma once

#include <string>

#include "analyse/profile/profile.h"
#include "report/core/document.h"

namespace opscope {

inline bool is_predicted(const Profile& profile) { return profile.predicted.predictor != nullptr; }

// "12.3 us"; "≥12.3 us" where ops of it are not predicted, "?" where none is, "-" for nothing.
std::string predicted_text(const Metrics& metrics);
// "11.2 to 13.5 us": p10 and p90.
std::string predicted_range_text(const Profile& profile, const Metrics& metrics);

// Seconds with p10 and p90, for programs; nothing where nothing is predicted.
Columns<Metrics> predicted_columns(const Profile& profile, const std::string& before = {});

// "61% host-bound, 30% memory-bound, 9% compute-bound"
std::string prediction_limits_text(const PredictedRun& run);
// "51.9% measured, 48.1% interpolated"
std::string prediction_sources_text(const PredictedRun& run);
// "h200, 2026-11-02, torch 2.11": whose figures they are, and of when.
std::string calibration_text(const PredictedRun& run);
// How it runs, what limits it, where it is known from.
void add_prediction(Facts& section, const Profile& profile);
// By phase of a training step: "forward", and what its ops take; nothing where there is one phase.
std::vector<std::pair<std::string_view, Metrics>> predicted_phases(const Profile& profile);
// An object "prediction".
void write_prediction(JsonWriter& json, const Profile& profile);

}  // namespace opscope
