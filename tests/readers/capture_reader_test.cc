// What the reader refuses, and the words it does it with. Each row changes one thing in a good capture.
#include "readers/capture/capture_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "graph/builder.h"
#include "graph/graph.h"

namespace opscope {
namespace {

std::string good() {
  GraphBuilder b("net");
  auto x = b.input({1, 8});
  b.begin_part("forward");
  const NodeId input = b.node(NodeKind::kPlaceholder, "x", "x", {}, {x});
  {
    const auto node = b.node(NodeKind::kCallModule, "fc", "fc", {input});
    const auto fc = b.call("fc", "Linear");
    const auto weight = b.parameter("weight", {4, 8});
    x = b.op("aten::linear",
             {{"input", x}, {"weight", weight}, {"bias", nullptr}, {"beta", 0.5}, {"flags", bools{true}}},
             {{1, 4}});
    b.source("net.py:3");
  }
  b.declare_cost(32, std::nullopt, std::nullopt);
  b.graph().diagnostics.push_back({"assumption", "aten::linear", "fc", "m"});
  b.graph().capture.slow_path.push_back({"aten::linear", 1});
  b.graph().breaks.push_back({.reason = "print", .detail = "all of it", .source = "net.py:4", .after = 0});
  b.graph().capture.rungs.push_back({"fx", "failed", "control flow", "--tracer export", "all of it", 0.5});
  b.graph().capture.dependencies.push_back({"net.py", 10, 20});
  return write_json(b.finish({x}));
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  if (at == std::string::npos)
    ADD_FAILURE() << "no " << from << " in the capture";
  else
    text.replace(at, from.size(), to);
  return text;
}

struct Case {
  const char* from;
  const char* to;
  const char* message;
};

const Case kCases[] = {
    // Not this format.
    {"\"schema_version\": 1", "\"schema_version\": 2", "written by a newer opscope (schema 2)"},
    {"\"schema_version\": 1", "\"schema_version\": 0", "there is no schema 0"},
    {"\"schema_version\": 1", "\"schema_version\": \"1\"", "schema_version: expected a whole number"},
    {"\"schema_version\": 1,", "", "schema_version is not the first key"},
    {"\"declared\": [", "\"extra\": [], \"declared\": [", "unknown key 'extra'"},
    {"\"declared\": [", "\"declared\": [], \"declared\": [", "declared: the key is there twice"},
    {"\"outputs\": [2],", "", "missing key 'outputs'"},
    // Wrong types.
    {"\"modules\": [", "\"modules\": 5, \"x\": [", "modules: expected an array"},
    {"\"model\": \"net\"", "\"model\": 5", "capture.model: expected a string"},
    {"\"seconds\": 0.0", "\"seconds\": \"long\"", "capture.seconds: expected a number"},
    {"\"count\":1", "\"count\":-1", "capture.slow_path[0].count: expected a whole number, not negative"},
    {"\"modified_ns\":20", "\"modified_ns\":2.5",
     "capture.dependencies[0].modified_ns: expected a whole number"},
    {"\"type\":\"Linear\"", "\"type\":null", "modules[1].type: expected a string"},
    {"\"module\":1}", "\"module\":true}", "scopes[1].module: expected a whole number"},
    {"\"trainable\":true", "\"trainable\":1", "values[1].trainable: expected true or false"},
    {"\"shape\":[1,8]", "\"shape\":[1,8.5]", "values[0].shape: expected a whole number"},
    {"\"shape\":[1,8]", "\"shape\":{}", "values[0].shape: expected an array"},
    {"\"arguments\":{", "\"arguments\":[{", "ops[0].arguments: expected an object"},
    {"{\"tensor\":0}", "{\"tensor\":null}", "ops[0].tensor: expected a whole number"},
    {"{\"tensor\":0}", "{\"tensor\":0,\"ints\":[]}", "an argument has one kind only"},
    {"{\"tensor\":0}", "{}", "an argument without a kind"},
    {"{\"tensor\":0}", "[0]", "a list that does not say of what"},
    {"{\"tensor\":0}", "{\"floats\":[\"x\"]}", "ops[0].floats: expected a number"},
    {"{\"tensor\":0}", "{\"dtype\":\"float33\"}", "not a dtype that opscope knows"},
    {"{\"bools\":[true]}", "{\"bools\":[1]}", "ops[0].bools: expected true or false"},
    // Missing and unknown keys, wrong words, wrong ids.
    {"\"dtype\":\"float32\",", "", "values[0]: missing key 'dtype'"},
    {"\"kind\":\"input\"", "\"kind\":\"thing\"", "values[0].kind: expected input, parameter"},
    {"\"id\":1,\"kind\"", "\"id\":7,\"kind\"", "values[1].id: expected 1"},
    {"\"name\":\"weight\"}", "\"name\":\"weight\",\"more\\n\":1}", "owned[0]: unknown key 'more '"},
    {"\"op\":0,\"macs\":32", "\"macs\":32", "declared[0]: missing key 'op'"},
    {"\"message\":\"m\"", "\"note\":\"m\"", "diagnostics[0]: unknown key 'note'"},
    // What a tracer adds.
    {"\"calls\":1", "\"calls\":-1", "parts[0].calls: expected a whole number, not negative"},
    {"\"calls\":1", "\"runs\":1", "parts[0]: unknown key 'runs'"},
    {"\"reason\":\"print\",", "", "breaks[0]: missing key 'reason'"},
    {"\"after\":0", "\"after\":1", "break 0 comes after part 1, which is not there"},
    {"\"kind\":\"call_module\"", "\"kind\":\"call\"", "nodes[1].kind: expected placeholder, get_attr,"},
    {"{\"id\":1,\"kind\":\"call", "{\"id\":2,\"kind\":\"call", "nodes[1].id: expected 1"},
    {"\"target\":\"fc\"", "\"target\":\"fc\",\"part\":1", "node 1 has no part 1"},
    {"\"target\":\"fc\"", "\"target\":\"fc\",\"module\":2", "node 1 has no module 2"},
    {"\"target\":\"fc\",\"inputs\":[0]", "\"target\":\"fc\",\"inputs\":[1]",
     "node 1 takes node 1, which does not come before it"},
    {"\"target\":\"fc\",\"inputs\":[0]", "\"target\":\"fc\",\"inputs\":[null]",
     "nodes[1].inputs: expected a whole number"},
    {"\"target\":\"x\",\"outputs\":[0]", "\"target\":\"x\",\"outputs\":[3]", "node 0 gives value 3"},
    {"\"node\":1", "\"node\":2", "op 0 has no node 2"},
    {"\"node\":1", "\"node\":null", "ops[0].node: expected a whole number"},
    {"\"outcome\":\"failed\",", "", "capture.rungs[0]: missing key 'outcome'"},
    {"\"seconds\":0.5", "\"seconds\":\"x\"", "capture.rungs[0].seconds: expected a number"},
    // Numbers too large.
    {"\"storages\": [32", "\"storages\": [18446744073709551616", "storages[0]: "},
    {"\"storages\": [32", "\"storages\": [1e400", "storages[0]: "},
    {"\"scope\":1", "\"scope\":4294967295", "ops[0].scope: number out of range"},
    {"\"beta\":0.5", "\"beta\":9223372036854775808", "ops[0].arguments: number out of range"},
    {"\"beta\":0.5", "\"beta\":1e999", "ops[0].arguments: "},
    {"\"shape\":[1,8]", "\"shape\":[1,99999999999999999999]", "values[0].shape: "},
    // Not JSON.
    {"\"beta\":0.5", "\"beta\":0.5x", "ops[0].arguments: "},
    {"\"beta\":0.5", "\"beta\":nul", "ops[0].arguments: "},
    {"\"beta\":0.5", "\"beta\":\"\\u12\"", "a string with a bad escape"},
    {"\"shape\":[1,8]", "\"shape\":[1,,8]", "values[0].shape: "},
    {"\"net\"", "\"n\xff\"", "not UTF-8"},
    // Inconsistent graphs.
    {"\"shape\":[1,8]", "\"shape\":[-1,8]", "value 0 has a dimension of -1"},
    {"{\"tensor\":0}", "{\"tensor\":2}", "op 0 reads value 2 before anything makes it"},
    {"\"op\":\"aten::linear\",\"scope\"", "\"op\":\"\",\"scope\"", "target 0 has no name"},
};

TEST(CaptureReader, RefusesWithWhatAndWhere) {
  const auto text = good();
  ASSERT_NO_THROW(read_capture(text, "net.json"));
  for (const auto& [from, to, message] : kCases) {
    try {
      read_capture(replaced(text, from, to), "net.json");
      ADD_FAILURE() << "accepted " << to;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos)
          << error.what() << "\n  for " << to;
      EXPECT_EQ(error.where(), "net.json");
      EXPECT_FALSE(error.hint().empty());
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(CaptureReader, RefusesWhatIsNotACapture) {
  for (const char* text : {"", " ", "null", "[]", "5", "\"x\"", "{", "}", "{}", "{\"a\"}", "PK\x03\x04"})
    EXPECT_THROW(read_capture(text, "x"), Error) << text;
  EXPECT_THROW(read_capture(good() + "{}", "x"), Error);
  EXPECT_THROW(read_capture(good() + "x", "x"), Error);
  EXPECT_THROW(read_capture(std::string(100000, '['), "x"), Error);
  EXPECT_THROW(read_capture("{\"schema_version\":" + std::string(100000, '['), "x"), Error);
}

TEST(CaptureReader, NewerSchemaSaysToUpgrade) {
  try {
    read_capture("{\"schema_version\": 2, \"unheard_of\": {}}", "new.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "written by a newer opscope (schema 2)");
    EXPECT_EQ(error.hint(), "upgrade opscope");
  }
}

TEST(CaptureReader, SparseValuesComeBack) {
  GraphBuilder b("net");
  const auto a =
      b.buffer("a", TensorSpec{5, 7}.holding({.layout = "sparse_csr", .stored = 3, .index_bytes = 72}));
  const auto x = b.input({7, 2});
  const auto y = b.op("aten::mm", {{"self", a}, {"mat2", x}}, {{5, 2}});
  const std::string text = write_json(b.finish({y}));
  EXPECT_NE(text.find("\"sparse\":{\"layout\":\"sparse_csr\",\"stored\":3,\"index_bytes\":72}"),
            std::string::npos)
      << text;
  const Graph graph = read_capture(text, "net.json");
  EXPECT_EQ(write_json(graph), text);
  EXPECT_EQ(bytes_of(graph, graph.values[0]), Count{3 * 4 + 72});
  EXPECT_EQ(graph.sparse_form(graph.values[1]), nullptr);
  for (const auto& [from, to, message] :
       {Case{"\"stored\":3", "\"stored\":-3", "values[0].stored: expected a whole number, not negative"},
        Case{"\"stored\":3,", "", "values[0]: missing key 'stored'"},
        Case{"sparse_csr", "", "value 0 is sparse and has no layout"}}) {
    try {
      read_capture(replaced(text, from, to), "net.json");
      ADD_FAILURE() << message;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

TEST(CaptureReader, KeysMayComeInAnyOrderAndEscaped) {
  auto text =
      replaced(good(), "\"id\":0,\"name\":\"\",\"path\":\"\"", "\"path\":\"\",\"n\\u0061me\":\"\",\"id\":0");
  EXPECT_EQ(write_json(read_capture(text, "x")), good());
}

// Long files are parsed a stretch of lines at a time.
const std::string& long_capture() {
  static std::string text;
  if (!text.empty()) return text;
  GraphBuilder b("net");
  auto x = b.input({1, 8});
  for (int i = 0; i < 40'000; ++i) {
    const auto call = b.call("layers." + std::to_string(i), "ReLU");
    x = b.op("aten::relu", {{"self", x}}, {{1, 8}});
  }
  return text = write_json(b.finish({x}));
}

TEST(CaptureReader, LongFilesAreReadAsShortOnesAre) {
  const auto& text = long_capture();
  ASSERT_GT(text.size(), std::size_t{1} << 23);
  EXPECT_EQ(write_json(read_capture(text, "x")), text);
  std::string indented;  // as json.dump(indent=2) has it: an item on several lines
  for (const char c : text) {
    if (c == '{' && indented.ends_with("\n    ")) {
      indented += "{\n      ";
    } else if (c == '}' && !indented.ends_with(']') && !indented.ends_with("\n")) {
      indented += "\n    }";
    } else {
      indented += c;
    }
  }
  EXPECT_EQ(write_json(read_capture(indented, "x")), text);
  EXPECT_EQ(write_json(read_capture(replaced(text, "\n  \"values\": [", "\n \"values\": ["), "x")), text);
}

TEST(CaptureReader, LongFilesSayWhereTheyAreWrong) {
  const auto& text = long_capture();
  const auto problem = [&](const std::string& from, const std::string& to) -> std::string {
    try {
      read_capture(replaced(text, from, to), "x");
      return "accepted";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(problem("{\"id\":39999,\"op\":", "{\"id\":39998,\"op\":").find("ops[39999].id"),
            std::string::npos);
  EXPECT_NE(problem("{\"id\":20000,\"op\":", "{\"id\":20000,\"up\":").find("ops[20000]"), std::string::npos);
  EXPECT_NE(problem("},\n    {\"id\":20000,\"op\":", "}\n    {\"id\":20000,\"op\":"), "accepted");
  EXPECT_NE(problem("\n    {\"id\":20000,\"op\":", "\n    ],[{\"id\":20000,\"op\":"), "accepted");
  EXPECT_NE(problem("\n  \"ops\": [", "\n  \"oops\": ["), "accepted");
}

TEST(LooksLikeCapture, LooksAtTheBeginningOnly) {
  EXPECT_TRUE(looks_like_capture(good()));
  EXPECT_TRUE(looks_like_capture(" \n{\t\"schema_version\""));
  EXPECT_FALSE(looks_like_capture(""));
  EXPECT_FALSE(looks_like_capture("{"));
  EXPECT_FALSE(looks_like_capture("resnet18"));
  EXPECT_FALSE(looks_like_capture("{\"model\": 1, \"schema_version\": 1}"));
}

}  // namespace
}  // namespace opscope
