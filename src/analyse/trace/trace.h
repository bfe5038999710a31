// What a tracer made of a model, in a form in which tracers can be compared: its nodes by kind and target,
// and how far its totals are from the engine's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/profile/profile.h"

namespace opscope {

inline constexpr std::array kNodeKinds{NodeKind::kPlaceholder,  NodeKind::kGetAttr,    NodeKind::kCallModule,
                                       NodeKind::kCallFunction, NodeKind::kCallMethod, NodeKind::kOutput};

// A node of a tracer's graph. The engine's own graph has its layers instead: what symbolic_trace would have
// drawn, for models that it cannot trace. Text is the graph's or the profile's.
struct GraphNode {
  NodeKind kind = NodeKind::kCallFunction;
  std::string_view label{};   // what a person reads
  std::string_view name{};    // the tracer's own
  std::string_view target{};  // "layer1.0.conv1", "torch.flatten", "aten.conv2d.default"
  std::string_view module{};  // the path of the module that runs it
  std::string_view type{};    // what it is counted under: a called module's class, otherwise the target
  std::string_view source{};
  PartId part = 0;
  std::uint32_t calls = 1;
  bool is_weight = false;  // hands in a parameter or buffer
  ValueId output = kNone;  // the first of its results
  Metrics metrics{};
};
std::vector<GraphNode> graph_nodes(const Profile& profile);

struct KindRow {
  NodeKind kind = NodeKind::kCallFunction;
  std::uint64_t count = 0;
  Metrics metrics{};
};
// Of the kinds that there are, in their order.
std::vector<KindRow> count_kinds(const std::vector<GraphNode>& nodes);

struct TargetRow : KindRow {
  std::string_view target{};  // "Conv2d", "torch.flatten"
};
// Of the nodes that call something: by FLOPs, then bytes, then count, then name.
std::vector<TargetRow> count_targets(const std::vector<GraphNode>& nodes);

// Why a tracer has no graph of a model.
struct TraceFailure {
  std::string reason{};  // one line; "" where nothing failed
  std::string where{};   // may be empty
  std::string hint{};    // what to do, may be empty
  std::string detail{};  // all that PyTorch says
};

// One tracer, or one exported file, in the comparison.
struct TracerRow {
  std::string tracer;  // "fx", or the file's name
  double seconds = 0;  // of tracing and of running the graph
  TraceFailure failure{};
  std::optional<std::uint64_t> nodes{};
  std::vector<KindRow> kinds{};  // empty where a file does not tell
  std::uint64_t graphs = 0;
  std::vector<Break> breaks{};
  std::vector<Rung> rungs{};
  std::optional<Metrics> totals{};  // none where the costs of a file are not known
  Parameters parameters{};
  std::optional<std::int64_t> macs_difference{};  // to the engine; none for the engine, or without it
  bool is_engine = false;
  bool engine_is_bound = false;  // what it is compared with

  bool works() const { return failure.reason.empty(); }
};
TracerRow tracer_row(std::string tracer, const Profile& profile);
// Sets the difference of each of `others` to the engine's row, where there is one among `rows` that works.
void compare_to_engine(const std::vector<TracerRow>& rows, std::vector<TracerRow>& others);

// A file that was asked for.
struct SavedFile {
  std::string path;
  std::string kind;  // "python", "capture", "pt2", "onnx", "mlir"
  double seconds = 0;
  std::vector<std::string> notes{};
  TraceFailure failure{};
};

struct TraceComparison {
  const Graph* graph = nullptr;  // of one that works, for the model's name and inputs; not owned
  std::vector<TracerRow> rows{};
  std::vector<SavedFile> files{};
};

// One tracer's graph in full.
struct TraceDetail {
  const Profile* profile = nullptr;  // not owned
  TracerRow row{};
  std::vector<TracerRow> exports{};  // of files, to compare with it
  std::vector<SavedFile> files{};
};

}  // namespace opscope
