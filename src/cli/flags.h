// Flags that most commands share. Values arrive as text and are read here, so that every mistake is told
// in the same voice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/cli11.h"

namespace opscope {

struct TalkFlags {
  bool quiet = false, verbose = false, debug = false;
};

struct OutputFlags {
  std::string output, format, color = "auto", width;
};

void add_talk_flags(CLI::App& app, TalkFlags& flags);
void add_output_flags(CLI::App& app, OutputFlags& flags);
void add_registry_flags(CLI::App& app, std::string& registry, bool& no_cache);
void add_convention_flag(CLI::App& app, std::string& convention);
// A flag that may be given several times, one value each.
CLI::Option* repeatable(CLI::Option* option);

// "1 3 224 224", "1,3,224,224" or "1x3x224x224".
std::vector<std::int64_t> parse_sizes(const char* flag, const std::string& text, const std::string& example);
// `example`: a value that would do, for the hint; "": one that fits `least`.
std::int64_t parse_integer(const char* flag, const std::string& text, std::int64_t least,
                           const std::string& example = "");
double parse_number(const char* flag, const std::string& text);
// The registry file that applies, absolute; "" for none.
std::string registry_path(const std::string& flag);

}  // namespace opscope
