// How long an op takes on a device, and how that is known: it was measured there, ops like it were, its
// family's rates are known, those of a related device are, or the roofline is all there is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "hardware/predict/calibration.h"
#include "hardware/predict/features.h"
#include "hardware/predict/forest.h"
#include "hardware/predict/measured_ops.h"
#include "hardware/predict/packing.h"
#include "hardware/predict/predicted_run.h"
#include "hardware/roofline.h"

namespace opscope {

struct PredictedOp {
  double seconds = 0;       // on the device; on a CPU that of the call
  double deviation = 0;     // of its logarithm, its own; what all ops have in common is run_spread's
  double gap = 0;           // of its seconds: less in a CUDA graph
  double host_seconds = 0;  // of the device's host, to call it
  TimeSource source = TimeSource::kUnknown;
  Limit limit = Limit::kNothing;
  OpGroup group = OpGroup::kPlain;
  bool is_idle = false;     // the device does nothing: a view
  bool is_on_host = false;  // all its tensors are the host's, though the run is a GPU's
};

// Safe to be asked by several threads. Measured calls of a file are read when the first op of their family is
// asked for.
class Predictor {
 public:
  // `calibration`: of the device, of a related one, or nullptr. `host`: whose host calls the ops; nullptr:
  // that of the calibration.
  Predictor(DevicePointer device, CalibrationPointer calibration, DevicePointer calibrated,
            CalibrationPointer host = nullptr);

  const Device& device() const { return *device_; }
  const Calibration* calibration() const { return calibration_.get(); }
  bool is_borrowed() const { return calibrated_ != nullptr && calibrated_->id != device_->id; }
  const Device& calibrated() const { return *calibrated_; }  // where it is borrowed from
  // Whose host calls the ops; nullptr: nothing is known of any.
  const Calibration* host() const { return host_of_.get(); }
  bool host_is_borrowed() const { return host_of_ != calibration_; }
  bool is_host() const { return device_->kind == "cpu"; }  // ops run where they are called
  // Standard deviation of the logarithm of whole runs.
  double run_spread() const;

  PredictedOp predict(const OpCall& call, const Op& op, const OpCost& cost, DType dtype,
                      Float32 float32) const;
  // A kernel that no op of the graph is: by the rates of its family. `work`: FLOPs.
  PredictedOp kernel(OpFamily family, DType dtype, double work, Count bytes) const;
  // A kernel that a compiler makes of ops that took so long one by one.
  double generated_kernel_seconds(Count bytes, double one_by_one) const;

 private:
  struct FamilyOps {
    std::once_flag read;
    PackedCalls packed;  // of a file; of what comes with opscope it lies in the program
    MeasuredOps ops;
    Forest trees;
  };
  const FamilyOps& measured(OpFamily family) const;
  // On this device; nullopt where nothing is known of the family.
  std::optional<FamilyRates> rates_for(OpFamily family, DType dtype, OpGroup group) const;
  double host_seconds(std::string_view op, const OpFeatures& features) const;
  void launch_steps(PredictedOp& op, const OpFeatures& features) const;

  DevicePointer device_, calibrated_;
  CalibrationPointer calibration_, host_of_;
  mutable std::array<FamilyOps, kFamilies> families_;
  std::vector<std::pair<std::uint64_t, double>> host_;  // by hash of host_ops: to call it
};

// By the calibration that is given, else the one that opscope has of it, else that of the nearest related
// device. Made once for each.
PredictorPointer predictor_for(const DevicePointer& device, const CalibrationPointer& own = nullptr);

}  // namespace opscope
