// The small files of files/: exported by PyTorch, weights taken out. What each holds is written here as
// formulas.
#include "readers/files/model_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "readers/cost_of.h"
#include "readers/small_zip.h"

namespace opscope {
namespace {

std::string path_of(const std::string& name) { return std::string(OPSCOPE_TEST_FILES) + "/" + name; }
Graph read(const std::string& name, const Dims& dims = {}) { return read_model_file(path_of(name), dims); }

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& op : graph.ops) names.emplace_back(short_op_name(graph.op_name(op)));
  return names;
}

std::string type_of(const Graph& graph, std::string_view path) {
  for (const auto& module : graph.modules)
    if (graph.path(module) == path) return std::string(graph.text(module.type));
  return "";
}

std::string problem(const std::string& name, const Dims& dims = {}) {
  try {
    read(name, dims);
    return "";
  } catch (const Error& error) {
    return error.what() + std::string(" | ") + error.hint();
  }
}

constexpr std::int64_t kConvMacs = 8 * 16 * 16 * 3 * 3 * 3, kHeadMacs = 8 * 4;

TEST(Pt2, HasOpsModulesAndParameters) {
  const auto graph = read("cnn.pt2");
  EXPECT_EQ(op_names(graph), (std::vector<std::string>{"conv2d", "batch_norm", "relu_", "adaptive_avg_pool2d",
                                                       "flatten", "linear"}));
  EXPECT_EQ(macs_of(graph), kConvMacs + kHeadMacs);
  EXPECT_EQ(parameters_of(graph), 3 * 8 * 9 + 8 + 8 + 8 + 8 * 4 + 4);
  EXPECT_EQ(unknown_ops(graph), 0);
  EXPECT_EQ(type_of(graph, ""), "Cnn");
  EXPECT_EQ(type_of(graph, "conv"), "Conv2d");
  EXPECT_EQ(graph.capture.model, "cnn");
  EXPECT_TRUE(graph.capture.source.starts_with("torch.export 2."));
  // relu_ wrote into the norm's result, and flatten is a view.
  const auto storage = [&](std::size_t op) {
    return graph.values[graph.outputs_of(graph.ops[op])[0]].storage;
  };
  EXPECT_EQ(storage(1), storage(2));
  EXPECT_EQ(storage(3), storage(4));
  EXPECT_NE(storage(2), storage(3));
}

TEST(Pt2, AsksForDimensionsAndTakesThem) {
  EXPECT_EQ(problem("dynamic.pt2"),
            "the size of s77 (2 to 64, dimension 0 of x, 4 when it was exported), u0 (depends on the data, 0 "
            "to 512) "
            "is not known | give --dim s77=N --dim u0=N");
  const auto graph = read("dynamic.pt2", {{"s77", 6}, {"u0", 5}});
  EXPECT_EQ(macs_of(graph), 2 * 6 * 8 * 8);
  EXPECT_EQ(parameters_of(graph), 8 * 8 + 8);  // the weight is tied
  EXPECT_EQ(graph.shape(graph.values[graph.outputs[1]])[0], 5);
  ASSERT_EQ(graph.diagnostics.size(), 1u);
  EXPECT_EQ(graph.diagnostics[0].op, "higher_order::cond");
  for (const auto& op : graph.ops)
    EXPECT_EQ(op.bounded, graph.op_name(op) == "aten::index") << graph.op_name(op);
  EXPECT_EQ(problem("dynamic.pt2", {{"s77", 6}, {"u0", 5}, {"s78", 1}}),
            "the model has no dimension of the name s78 | did you mean s77?");
}

// act is called twice: two scopes, one module.
TEST(Pt2, TellsCallsOfAModuleApart) {
  const auto graph = read("dynamic.pt2", {{"s77", 6}, {"u0", 5}});
  int calls = 0;
  for (const auto& scope : graph.scopes) calls += graph.path(graph.modules[scope.module]) == "act" ? 1 : 0;
  EXPECT_EQ(calls, 2);
}

TEST(Pt2, ReadsTheOlderLayout) {
  const std::string file = read_file(path_of("cnn.pt2"));
  const ZipArchive archive(file, "cnn.pt2");
  const auto json = archive.read(*archive.find_ending("models/model.json"));
  const auto old = small_zip({{"serialized_exported_program.json", json}, {"serialized_state_dict.pt", "?"}});
  EXPECT_EQ(macs_of(read_model_bytes(old, "old.pt2", {})), kConvMacs + kHeadMacs);
}

TEST(Onnx, SameMacsAsThePt2) {
  for (const std::string name : {"cnn.onnx", "cnn_torchscript.onnx"}) {
    const auto graph = read(name);
    EXPECT_EQ(macs_of(graph), kConvMacs + kHeadMacs) << name;
    EXPECT_EQ(unknown_ops(graph), 0) << name;
    EXPECT_EQ(parameters_of(graph), 3 * 8 * 9 + 8 + 8 * 4 + 4) << name;  // the norm's are folded
    ASSERT_EQ(graph.diagnostics.size(), 1u) << name;
    EXPECT_EQ(graph.diagnostics[0].message,
              "the exporter folded 1 batch norm into a convolution: its parameters and its work are not in "
              "the file");
  }
}

TEST(Onnx, ModulesComeFromWhatTheExporterNotes) {
  const auto graph = read("cnn.onnx");
  EXPECT_EQ(type_of(graph, ""), "Cnn");
  EXPECT_EQ(type_of(graph, "conv"), "Conv2d");
  EXPECT_EQ(type_of(graph, "head"), "Linear");
  const auto named = read("cnn_torchscript.onnx");
  const auto& scope = named.scopes[named.ops[0].scope];
  EXPECT_EQ(named.path(named.modules[scope.module]), "conv");
}

TEST(Onnx, BindsNamedDimensions) {
  EXPECT_EQ(problem("cnn_dynamic.onnx"),
            "the size of batch (dimension 0 of x) is not known | give --dim batch=N");
  EXPECT_EQ(macs_of(read("cnn_dynamic.onnx", {{"batch", 5}})), 5 * (kConvMacs + kHeadMacs));
}

TEST(Onnx, CountsRecurrencesAndAttention) {
  const auto recurrent = read("recurrent.onnx");
  EXPECT_EQ(macs_of(recurrent), 2 * 2 * 7 * (4 * 5 * 6 + 4 * 5 * 5));  // directions, batch, steps
  EXPECT_EQ(unknown_ops(recurrent), 0);
  const auto attention = read("attention.onnx");
  EXPECT_EQ(macs_of(attention), 2 * 10 * 16 * 48 + 2 * (2 * 4 * 10 * 10 * 4));
  EXPECT_EQ(unknown_ops(attention), 0);
}

TEST(ModelFile, ClassifiesByContent) {
  EXPECT_EQ(classify_file(path_of("cnn.pt2")), FileKind::kPt2);
  EXPECT_EQ(classify_file(path_of("cnn.onnx")), FileKind::kOnnx);
  EXPECT_EQ(classify_file(path_of("cnn_torchscript.onnx")), FileKind::kOnnx);
  EXPECT_EQ(classify_file(path_of("")), FileKind::kOther);
  EXPECT_EQ(classify_file(path_of("not there")), FileKind::kOther);
  EXPECT_EQ(classify_bytes("{\"schema_version\": 1}"), FileKind::kCapture);
  EXPECT_EQ(classify_bytes(small_zip({{"net/constants.pkl", ""}, {"net/code/__torch__.py", ""}})),
            FileKind::kTorchScript);
  EXPECT_EQ(classify_bytes(small_zip({{"net/data.pkl", ""}, {"net/version", ""}})), FileKind::kPickle);
  EXPECT_EQ(classify_bytes(std::string("\x80\x02}q\0", 5)), FileKind::kPickle);
  EXPECT_EQ(classify_bytes("just some text, no model"), FileKind::kOther);
  EXPECT_EQ(classify_bytes(""), FileKind::kOther);
  EXPECT_EQ(classify_bytes(small_zip({{"notes.txt", "hello"}})), FileKind::kOther);
}

// Every file cut off anywhere: an Error, or what is left is still a whole model.
TEST(ModelFile, SurvivesEveryCut) {
  for (const std::string name : {"cnn.pt2", "cnn.onnx", "dynamic.pt2", "attention.onnx"}) {
    const auto bytes = read_file(path_of(name));
    for (std::size_t size = 0; size < bytes.size(); size += 7) {
      try {
        static_cast<void>(read_model_bytes(std::string_view(bytes).substr(0, size), name, {}));
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace opscope
