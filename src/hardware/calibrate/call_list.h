// The calls that a calibration times, one after the other until its time is over: a text for each device, in
// an order of which every beginning covers what models do. Most calls differ from others in their sizes
// alone, so the file has each form of a call once, and then only numbers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/device.h"

namespace opscope {

// Texts of graph/signature.h's call_text, in the order of the file. Throws Error naming the line.
std::vector<std::string> read_call_list(std::string_view text, const std::string& name);
std::string write_call_list(std::span<const std::string> calls);

// The one that comes with opscope for "cpu" or "cuda".
std::vector<std::string> known_call_list(std::string_view device);

std::span<const EmbeddedFile> embedded_call_lists();

}  // namespace opscope
