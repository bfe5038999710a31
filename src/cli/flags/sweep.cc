// Lists of sizes and dtypes -> axes, and places on them -> requests.
#include "cli/flags/sweep.h"

#include <algorithm>
#include <tuple>

#include "analyse/sweep/values.h"
#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

// As request_from reads one of them, so that names and mistakes are the same.
SweepAxis dtype_axis(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& each : axis_from_text("dtype", "--dtype", text).texts) {
    ModelFlags one;
    one.positional = "x", one.dtype = each;
    const std::string name = request_from(one).dtype;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return worded_axis("dtype", std::move(names));
}

void add_dims(const ModelFlags& flags, SweepRequest& request) {
  for (const std::string& text : flags.dim) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      throw Error("'" + text + "' is not NAME=VALUES", "--dim", "for example --dim batch=1,2,4");
    request.axes.push_back(
        numeric_axis(text.substr(0, equals), parse_value_list("--dim", text.substr(equals + 1))));
    request.is_dim.push_back(true);
  }
}

}  // namespace

SweepRequest sweep_request(const ModelFlags& flags, std::vector<std::string>* notes) {
  SweepRequest request;
  ModelFlags fixed = flags;
  const auto add = [&](SweepAxis axis) {
    request.axes.push_back(std::move(axis));
    request.is_dim.push_back(false);
  };
  if (!flags.dtype.empty()) add(dtype_axis(flags.dtype));
  const std::tuple<const char*, const char*, std::string*> lists[] = {
      {"batch", "--batch", &fixed.batch},
      {"seq_len", "--seq-len", &fixed.seq_len},
      {"past_len", "--past-len", &fixed.past_len},
      {"image_size", "--image-size", &fixed.image_size}};
  for (const auto& [name, flag, text] : lists) {
    if (!text->empty()) add(axis_from_text(name, flag, *text));
    text->clear();
  }
  fixed.dtype.clear();
  add_dims(flags, request);
  fixed.dim.clear();
  request.model = request_from(fixed, notes);
  if (std::ranges::any_of(request.axes, [](const SweepAxis& axis) { return axis.name == "past_len"; }) &&
      request.model.phase.empty())
    request.model.phase = "decode";
  return request;
}

CaptureRequest SweepRequest::at(const SweepPlace& place) const {
  CaptureRequest request = model;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const SweepAxis& axis = axes[a];
    if (is_dim[a])
      request.dims[axis.name] = place[a];
    else if (axis.name == "batch")
      request.batch = place[a];
    else if (axis.name == "seq_len")
      request.seq_len = place[a];
    else if (axis.name == "past_len")
      request.past_len = place[a];
    else if (axis.name == "dtype")
      request.dtype = axis.texts[static_cast<std::size_t>(place[a])];
    else if (axis.numeric)
      request.image_size = {place[a]};
    else
      request.image_size = sides_of(axis.texts[static_cast<std::size_t>(place[a])]);
  }
  return request;
}

SweepCapture sweep_capture(const SweepRequest& request, CaptureServer& server) {
  return [&](std::span<const SweepPlace> places, const SweepGiven& give) {
    std::vector<CaptureRequest> requests;
    for (const SweepPlace& place : places) requests.push_back(request.at(place));
    server.capture(requests, give);
  };
}

}  // namespace opscope
