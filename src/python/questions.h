// The use cases of src/app for Python: keyword arguments in, answers with their formats out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/cases/question.h"
#include "python/bindings.h"

namespace opscope::python {

// Keyword arguments that many functions take: of TextOptions by the names of its members, and of CostRequest.
TextOptions text_options(const py::kwargs& given, TextOptions options = {});
ProfileOptions profile_options(const py::kwargs& given);
// One for each device: the first is what the models are profiled for.
std::vector<ProfileOptions> options_by_device(const py::kwargs& given);

// What is not as in `base`, by the fields' keys.
py::dict changes(const CaptureRequest& base, const CaptureRequest& request);

// A file in the format of its extension; `draw` gives its bytes.
void write_picture(const std::string& path, const std::function<std::string(PictureFormat format)>& draw);

}  // namespace opscope::python
