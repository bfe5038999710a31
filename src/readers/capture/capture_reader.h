// The capture's JSON form -> Graph. Strict: what schema/capture.schema.json does not allow is an Error.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace opscope {

// where: the file's name, for errors. The graph is verified.
Graph read_capture(std::string_view json, const std::string& where);
// Text with kReadPadding bytes of capacity behind it, as read_file gives it, is read without a copy.
Graph read_padded_capture(const std::string& json, const std::string& where);

// True for text that begins as write_json's does, whatever follows; reads a few bytes only.
bool looks_like_capture(std::string_view text);
// The same for opscope's reports: a profile, most likely. Both are JSON with a schema_version.
bool looks_like_profile(std::string_view text);

}  // namespace opscope
