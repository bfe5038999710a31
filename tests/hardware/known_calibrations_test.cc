// The calibrations that come with opscope, and what the build packs of them: the files say the same.
#include "hardware/predict/known_calibrations.h"

#include <gtest/gtest.h>

#include <array>
#include <tuple>

#include "base/files.h"
#include "graph/signature.h"
#include "hardware/calibrate/measured_list.h"
#include "hardware/device.h"
#include "hardware/predict/fit.h"
#include "hardware/predict/neighbours.h"
#include "hardware/predict/packing.h"
#include "hardware/predict/predictor.h"

namespace opscope {
namespace {

// As the file in data/calibrations says.
CalibrationPointer read_known(const std::string& device) {
  const std::string path = OPSCOPE_DATA "/calibrations/" + device + ".toml";
  return std::make_shared<const Calibration>(read_with_list(path));
}

std::vector<MeasuredCall> every(std::size_t step, const std::vector<MeasuredCall>& calls) {
  std::vector<MeasuredCall> some;
  for (std::size_t i = 0; i < calls.size(); i += step) some.push_back(calls[i]);
  return some;
}

// All that a calibration says but its trees and calls.
std::string head_of(const Calibration& calibration) {
  std::string text = write_calibration(calibration, {});
  const auto trees = text.find("\n[forests]\n");
  return trees == std::string::npos ? text : text.erase(trees, text.find("\n[measured]\n") - trees);
}

// Sizes that were not measured, near those that were.
OpFeatures moved(OpFeatures op, std::size_t by) {
  for (std::size_t i = 0; i < op.size_count; ++i)
    op.sizes[i] += static_cast<float>((by * 7 + i * 5) % 11) / 8 - 0.6f;
  if (by % 3 == 0) op.kind ^= 1u << by % OpFeatures::kKinds;
  if (by % 5 == 0) op.op ^= 1;
  return op;
}

TEST(KnownCalibrations, HaveTheFeaturesOfToday) {
  ASSERT_FALSE(known_calibrations().empty());
  for (const CalibrationPointer& each : known_calibrations()) {
    EXPECT_NE(find_device(each->device), nullptr) << each->device;
    EXPECT_TRUE(each->is_measured || each->measured_calls() == 0) << each->device;
    EXPECT_EQ(known_calibration(each->device), each);
    const CalibrationPointer file = read_known(each->device);
    for (std::size_t f = 0; f < kFamilies; ++f) {
      const std::vector<MeasuredCall> some = every(7, file->calls(static_cast<OpFamily>(f)));
      std::vector<MeasuredCall> fresh = some;
      add_features(fresh);
      for (std::size_t i = 0; i < some.size(); ++i) {
        const OpFeatures &before = some[i].features, &now = fresh[i].features;
        EXPECT_EQ(
            std::tuple(before.op, before.family, before.group, before.dtype, before.kind, before.size_count),
            std::tuple(now.op, now.family, now.group, now.dtype, now.kind, now.size_count))
            << some[i].text;
        for (std::size_t k = 0; k < now.size_count; ++k)
          EXPECT_NEAR(before.sizes[k], now.sizes[k], 0.01 + 0.001 * now.sizes[k]) << some[i].text;
      }
    }
  }
}

TEST(KnownCalibrations, SayWhatTheirFilesSay) {
  for (const CalibrationPointer& each : known_calibrations()) {
    const CalibrationPointer file = read_known(each->device);
    EXPECT_EQ(head_of(*each), head_of(*file));
    EXPECT_EQ(each->measured_calls(), file->measured_calls());
    for (std::size_t f = 0; f < kFamilies; ++f) {
      const PackedCalls packed = pack_family(*file, static_cast<OpFamily>(f));
      EXPECT_TRUE(packed.family().ops == each->packed[f].ops) << name(static_cast<OpFamily>(f));
      EXPECT_TRUE(packed.family().trees == each->packed[f].trees) << name(static_cast<OpFamily>(f));
    }
  }
}

// Every measured call is found, and one that is only like it is told as by the file.
TEST(KnownCalibrations, PredictAsTheirFilesDo) {
  for (const CalibrationPointer& each : known_calibrations()) {
    const CalibrationPointer file = read_known(each->device);
    const DevicePointer device = find_device(each->device);
    const PredictorPointer packed = predictor_for(device), parsed = predictor_for(device, file);
    for (std::size_t f = 0; f < kFamilies; ++f) {
      const std::vector<MeasuredCall> calls = every(11, file->calls(static_cast<OpFamily>(f)));
      std::vector<std::string> texts;
      for (const MeasuredCall& call : calls) texts.push_back(call.text);
      const Graph graph = graph_of_calls(texts);
      const std::vector<OpCost> costs = estimate(graph, Convention::kOpscope);
      OpCall call(graph);
      for (OpId i = 0; i < graph.ops.size(); ++i) {
        call.reset(graph.ops[i]);
        const DType dtype = product_dtype(graph, graph.ops[i]);
        for (const Float32 float32 : {Float32::kTorch, Float32::kIeee}) {
          const PredictedOp a = packed->predict(call, graph.ops[i], costs[i], dtype, float32);
          const PredictedOp b = parsed->predict(call, graph.ops[i], costs[i], dtype, float32);
          EXPECT_EQ(std::tuple(a.seconds, a.deviation, a.host_seconds, a.source, a.limit),
                    std::tuple(b.seconds, b.deviation, b.host_seconds, b.source, b.limit))
              << texts[i];
          EXPECT_TRUE(a.source == TimeSource::kMeasured || float32 != Float32::kTorch) << texts[i];
        }
      }
    }
  }
}

// The search finds what looking at every call does, to the last bit.
TEST(MeasuredOps, AreSearchedAsIfAllWereLookedAt) {
  const CalibrationPointer known = known_calibration("h200"), file = read_known("h200");
  for (std::size_t f = 0; f < kFamilies; ++f) {
    const auto family = static_cast<OpFamily>(f);
    const Likeness* likeness = file->likeness(family);
    if (likeness == nullptr) continue;
    const std::vector<Neighbour> all = neighbours_of(file->calls(family), *file);
    const MeasuredOps ops(known->packed[f].ops);
    ASSERT_EQ(ops.sizes.size(), all.size());
    for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 50) {
      const OpFeatures asked = moved(all[i].features, i);
      const Miss a = miss_of(ops, *likeness, asked), b = miss_of(all, *likeness, asked);
      EXPECT_EQ(std::tuple(a.mean, a.deviation, a.nearest), std::tuple(b.mean, b.deviation, b.nearest))
          << name(family) << " " << i;
    }
  }
}

}  // namespace
}  // namespace opscope
