// The use cases of src/app for Python: keyword arguments in, answers with their formats out.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "app/cases/question.h"

namespace opscope::python {

void bind_request(pybind11::module_& m);    // CaptureRequest: what to capture, checked by C++
void bind_questions(pybind11::module_& m);  // compare, diff, check
void bind_sweep(pybind11::module_& m);      // sweep, fit
void bind_reconcile(pybind11::module_& m);

// What Python hands over: models to be held beside others, and how to profile them.

// What the user called it, "" for nothing; its graph, or the path of a profile's JSON.
using Handed = std::tuple<std::string, std::shared_ptr<Graph>, std::string>;

// Labelled as the user called it, else by its own name.
LoadedModel loaded(const Handed& handed, const ProfileOptions& options);

// `hardware`: a device, or "" for none.
ProfileOptions profile_options(const std::string& convention, std::optional<double> ridge,
                               const std::string& hardware, const std::string& float32);
// One for each device: the first is what the models are profiled for.
std::vector<ProfileOptions> options_by_device(const std::string& convention, std::optional<double> ridge,
                                              const std::string& hardware, const std::string& float32);

}  // namespace opscope::python
