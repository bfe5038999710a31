// What the file of a command needs: flags that most commands share, and short ways to add its own.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "app/models/models.h"
#include "cli/main/command.h"
#include "cli/output/output.h"

namespace opscope {

// A flag with a value of this type, which its help shows; of several the last holds. A name without dashes is
// an argument.
CLI::Option* add_value(CLI::App& app, const std::string& flag, std::string& value, const std::string& type,
                       const std::string& help);
// The same, that may be given several times.
CLI::Option* add_values(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                        const std::string& type, const std::string& help);
// One that is set by a function: without a type a switch, which sets "true".
void add_setter(CLI::App& app, const std::string& flag, const std::function<void(const std::string&)>& set,
                const std::string& type, const std::string& help);
void add_switch(CLI::App& app, const std::string& flag, bool& on, const std::string& help);

void add_talk_flags(CLI::App& app, TalkFlags& flags);
// `formats`: where they are not those of every report.
void add_output_flags(CLI::App& app, OutputFlags& flags, const std::string& formats = "");
// "Output format: txt, json, csv, md, html" and more.
std::string format_help(std::string_view more);
// What stands last in every help: the output and how much is said; before it --verbose, with what more it
// shows.
void add_result_flags(CLI::App& app, CommandFlags& flags, const std::string& formats = "");
void add_report_flags(CLI::App& app, CommandFlags& flags, const std::string& verbose,
                      const std::string& formats = "");
void add_convention_flag(CLI::App& app, std::string& convention);
// --mode with its help, and --host.
void add_run_flags(CLI::App& app, CostRequest& request, const std::string& mode_help);
void add_routing_flag(CLI::App& app, std::string& routing);

// The number of a flag, where it was given.
template <class T>
void read_number(T& number, const char* flag, const std::string& text, std::int64_t least) {
  if (!text.empty()) number = static_cast<T>(parse_integer(flag, text, least));
}

// The flags of costs, the same on every command that shows them.
void add_cost_flags(CLI::App& app, CostRequest& request);

// `--level module|layer|op|subgraph`: in which pieces a graph is shown.
void add_level_flag(CLI::App& app, std::string& level);

// Flags of the commands whose report is a module tree and a list of layers.
struct TableFlags {
  std::string depth, top, sort;
  bool show_shapes = false, no_fold = false;
};

// `sort` is the key by default; the help of --top says what it lists.
void add_table_flags(CLI::App& app, TableFlags& flags, const std::string& sort, const std::string& top_help);

TextOptions text_options(const TableFlags& flags);

// What every command that takes a model has: which model, how it is built, what it is called with.
struct ModelCommandFlags : CommandFlags {
  WrittenRequest model;
  std::string graph_part;
  CostRequest cost;
};

void add_model_flags(CLI::App& app, WrittenRequest& written);
// All of them but the model itself, for commands that take several.
void add_capture_flags(CLI::App& app, WrittenRequest& written);
// What a GPU runs is captured as a GPU's, unless the model's device was named.
void capture_as_on(const std::vector<ProfileOptions>& targets, WrittenRequest& written);
// With --model, the only positional is what stands behind the model elsewhere.
void settle_positional(WrittenRequest& written, std::string& second);
// Only the Nth of the graphs that a tracer cut the model into.
void add_graph_part_flag(CLI::App& app, std::string& part);

// The flags as a request, checked before anything runs, and then its graph.
class AskedGraph {
 public:
  // `notes` gets what was chosen for the user, and which part it is.
  AskedGraph(const ModelCommandFlags& flags, std::vector<std::string>& notes);

  const CaptureRequest& request() const { return request_; }
  Graph load() const;
  // The whole graph where no part was asked for; throws Error where there is no such part.
  Graph part_of(Graph graph) const;

 private:
  CaptureRequest request_;
  std::int64_t part_ = 0;  // counts from 1; 0: the whole
  TalkFlags talk_;
  std::vector<std::string>& notes_;
};

}  // namespace opscope
