// The commands: one row each, from which parsing, help, suggestions and shell completion come.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "cli/main/cli11.h"

namespace opscope {

using Action = std::function<int()>;  // runs the command once its flags are parsed; returns the exit code

struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;
  Action (*define)(CLI::App& app);  // adds the command's flags
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);

Action define_profile(CLI::App& app);
Action define_fuse(CLI::App& app);
Action define_explore(CLI::App& app);
Action define_memory(CLI::App& app);
Action define_measure(CLI::App& app);
Action define_read_trace(CLI::App& app);
Action define_devices(CLI::App& app);
Action define_compare(CLI::App& app);
Action define_reconcile(CLI::App& app);
Action define_sweep(CLI::App& app);
Action define_fit(CLI::App& app);
Action define_diff(CLI::App& app);
Action define_check(CLI::App& app);
Action define_draw(CLI::App& app);
Action define_plot(CLI::App& app);
Action define_trace(CLI::App& app);
Action define_capture(CLI::App& app);
Action define_explain(CLI::App& app);
Action define_ops(CLI::App& app);
Action define_list(CLI::App& app);
Action define_cache(CLI::App& app);
Action define_completion(CLI::App& app);

}  // namespace opscope
