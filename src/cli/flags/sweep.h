// What a sweep varies, as flags: lists of values in place of one.
#pragma once

#include <string>
#include <vector>

#include "analyse/sweep/sweep.h"
#include "app/models/request.h"
#include "app/worker/capture_server.h"
#include "cli/flags/model.h"
#include "cli/main/cli11.h"

namespace opscope {

// The axes of a sweep, and the captures that its places are.
struct SweepRequest {
  CaptureRequest model;  // what does not vary
  std::vector<SweepAxis> axes;
  std::vector<bool> is_dim;  // by axis: of the model's file

  CaptureRequest at(const SweepPlace& place) const;
};

// Takes the flags that hold lists; throws Error for lists that are none, or where nothing varies.
SweepRequest sweep_request(const ModelFlags& flags, std::vector<std::string>* notes);

// For Sweep and find_fit: captures places, telling the server what they are.
SweepCapture sweep_capture(const SweepRequest& request, CaptureServer& server);

}  // namespace opscope
