// Flags that most commands share, and short ways to add a command's own.
#pragma once

#include <string>
#include <vector>

#include "app/request/values.h"
#include "cli/main/cli11.h"

namespace opscope {

struct OutputFlags {
  std::string output, format, color = "auto", width;
};
// How much is said on stderr.
struct TalkFlags {
  bool quiet = false, verbose = false, debug = false;
};

// A flag with a value of this type, which its help shows; of several the last holds. A name without dashes is
// an argument.
CLI::Option* add_value(CLI::App& app, const std::string& flag, std::string& value, const std::string& type,
                       const std::string& help);
// The same, that may be given several times.
CLI::Option* add_values(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                        const std::string& type, const std::string& help);
void add_switch(CLI::App& app, const std::string& flag, bool& on, const std::string& help);

void add_talk_flags(CLI::App& app, TalkFlags& flags);
// `formats`: where they are not those of every report.
void add_output_flags(CLI::App& app, OutputFlags& flags, const std::string& formats = "");
// What stands last in every help: --verbose, with what more it shows, the output and how much is said.
void add_report_flags(CLI::App& app, OutputFlags& output, TalkFlags& talk, const std::string& verbose,
                      const std::string& formats = "");
void add_registry_flags(CLI::App& app, std::string& registry, bool& no_cache);
void add_convention_flag(CLI::App& app, std::string& convention);

}  // namespace opscope
