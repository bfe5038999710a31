// `--graph-part N`: one of the graphs that a tracer cut the model into, on its own.
#pragma once

#include <string>
#include <vector>

#include "cli/main/cli11.h"
#include "graph/graph.h"

namespace opscope {

void add_graph_part_flag(CLI::App& app, std::string& part);
// Throws Error where it can be no graph's number, before anything runs; "" is none.
void check_graph_part(const std::string& part);

// The whole graph where no part was asked for; throws Error where there is no such part. `notes` gets which
// one it is.
Graph chosen_part(Graph graph, const std::string& part, std::vector<std::string>& notes);

}  // namespace opscope
