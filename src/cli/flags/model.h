// The flags of every command that takes a model: which model, how it is built, what it is called with; and
// the graph that they ask for.
#pragma once

#include "app/models/models.h"
#include "app/request/written.h"
#include "cli/flags/flags.h"
#include "cli/main/command.h"
#include "cli/output/terminal.h"

namespace opscope {

// What every command that takes a model has.
struct ModelCommandFlags : CommandFlags {
  WrittenRequest model;
  std::string graph_part;
  CostRequest cost;
};

void add_model_flags(CLI::App& app, WrittenRequest& written);
// All of them but the model itself, for commands that take several.
void add_capture_flags(CLI::App& app, WrittenRequest& written);
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
