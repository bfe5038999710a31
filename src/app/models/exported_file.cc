// What an exported file holds, counted in the file itself: opscope's reader may split an operator into
// several.
#include "app/models/exported_file.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <unordered_set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "readers/files/model_file.h"
#include "readers/onnx/proto_wire.h"

namespace opscope {
namespace {

// torch.export's graph has a placeholder for every parameter and buffer, and calls of functions only.
std::vector<KindRow> pt2_kinds(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::unordered_set<ValueId> owned;
  for (const Owned& each : graph.owned) owned.insert(each.value);
  return {{.kind = NodeKind::kPlaceholder, .count = owned.size() + graph.inputs.size()},
          {.kind = NodeKind::kCallFunction, .count = graph.ops.size(), .metrics = profile.totals},
          {.kind = NodeKind::kOutput, .count = 1}};
}

// ModelProto.graph is field 7, GraphProto.node field 1.
std::uint64_t count_onnx_nodes(std::string_view bytes) {
  std::uint64_t count = 0;
  for (ProtoReader model(bytes); model.next();) {
    if (model.field != 7 || model.wire != ProtoReader::kBytes) continue;
    for (ProtoReader graph(model.bytes); graph.next();)
      if (graph.field == 1 && graph.wire == ProtoReader::kBytes) ++count;
  }
  return count;
}

TracerRow graph_row(const std::string& path, std::string_view kind) {
  const Graph graph = read_model_file(path, {}, onnx_inference());
  const Profile profile = make_profile(graph);
  TracerRow row = tracer_row("", profile);
  row.kinds = kind == "pt2" ? pt2_kinds(profile) : std::vector<KindRow>{};
  row.nodes = kind == "pt2" ? 0 : count_onnx_nodes(read_file(path));
  for (const KindRow& each : row.kinds) *row.nodes += each.count;
  return row;
}

TracerRow mlir_row(const std::string& path) {
  TracerRow row;
  row.nodes = count_mlir_operations(read_file(path));
  row.graphs = 1;
  return row;
}

// "stablehlo.add" of "%1 = stablehlo.add %0, %0 : ...", quoted or not; "" where the line begins no operation.
std::string_view operation_of(std::string_view line) {
  const auto skip_spaces = [&line] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_spaces();
  if (line.starts_with('%')) {
    const auto equals = line.find(" = ");
    if (equals == std::string_view::npos) return "";
    line.remove_prefix(equals + 3);
    skip_spaces();
  }
  if (line.starts_with('"')) line.remove_prefix(1);
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  const auto end = std::ranges::find_if_not(line, is_name);
  const std::string_view name = line.substr(0, static_cast<std::size_t>(end - line.begin()));
  const auto dot = name.find('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : name;
}

constexpr std::array<std::string_view, 5> kHolders{"builtin.module", "func.func", "func.return",
                                                   "stablehlo.return", "torch.initialize.global_slots"};

using Infer = void (*)(const std::string& bytes, std::string& result);

// Installed under lib/ beside the program's bin/; in a build folder, beside the program itself.
Infer load() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return nullptr;
  for (const char* place : {"../lib/opscope/" OPSCOPE_ONNX_PLUGIN, OPSCOPE_ONNX_PLUGIN}) {
    const std::string path = self.parent_path() / place;
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return reinterpret_cast<Infer>(::dlsym(library, "opscope_infer_onnx_shapes"));
  }
  return nullptr;
}

std::string infer(const std::string& bytes) {
  static const Infer function = load();
  std::string result;
  if (function) function(bytes, result);
  return result;
}

}  // namespace

std::uint64_t count_mlir_operations(std::string_view text) {
  const auto counts = [](std::string_view line) {
    const std::string_view name = operation_of(line);
    return !name.empty() && std::ranges::find(kHolders, name) == kHolders.end();
  };
  return static_cast<std::uint64_t>(std::ranges::count_if(split_by(text, '\n'), counts));
}

TracerRow exported_row(const SavedFile& file) {
  TracerRow row;
  try {
    if (file.failure.reason.empty())
      row = file.kind == "mlir" ? mlir_row(file.path) : graph_row(file.path, file.kind);
    else
      row.failure = file.failure;
  } catch (const Error& error) {
    row = {};
    row.failure = {.reason = std::string("the file was written, but cannot be read back: ") + error.what(),
                   .where = {},
                   .hint = error.hint()};
  }
  row.tracer = std::filesystem::path(file.path).filename().string();
  row.seconds = file.seconds;
  return row;
}

OnnxInference onnx_inference() { return infer; }

}  // namespace opscope
