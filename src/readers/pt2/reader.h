// torch.export's .pt2 files -> Graph, without torch: the zip's model.json has every op with its arguments,
// the shape of every value and the modules they ran in. The weights are never looked at.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "readers/files/zip_archive.h"
#include "readers/pt2/symbols.h"

namespace opscope {

// The member that holds the graph; nullptr where this is no exported program.
const ZipMember* find_exported_program(const ZipArchive& archive);

// where: the file's name, for errors. model: for the report. The graph is verified.
Graph read_pt2(const ZipArchive& archive, const std::string& where, std::string_view model, const Dims& dims);

}  // namespace opscope
