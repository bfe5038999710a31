// Values that arrive as text, read in one place so that every mistake is told in the same voice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace opscope {

// "1 3 224 224", "1,3,224,224" or "1x3x224x224".
std::vector<std::int64_t> parse_sizes(const std::string& flag, const std::string& text,
                                      const std::string& example);
// `example`: a value that would do, for the hint; "": one that fits `least`.
std::int64_t parse_integer(const std::string& flag, const std::string& text, std::int64_t least,
                           const std::string& example = "");
void check_integer(const std::string& where, std::int64_t number, std::int64_t least);
double parse_number(const char* flag, const std::string& text);
// The registry file that applies, absolute; "" for none.
std::string registry_path(const std::string& flag);

}  // namespace opscope
