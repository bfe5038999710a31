// verify accepts what the builder makes, and names what is broken in everything else.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "graph/measured_graph.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

Graph small() {
  GraphBuilder b("net");
  auto x = b.input({1, 3, 8, 8});
  b.begin_part("forward");
  const NodeId input = b.node(NodeKind::kPlaceholder, "x", "x", {}, {x});
  {
    const auto node = b.node(NodeKind::kCallModule, "conv", "conv", {input});
    const auto conv = b.call("conv", "Conv2d");
    const auto weight = b.parameter("weight", {4, 3, 3, 3});
    x = b.op("aten::conv2d",
             {{"input", x}, {"weight", weight}, {"stride", ints{1, 1}}, {"flags", bools{true}}},
             {{1, 4, 6, 6}});
  }
  b.begin_part("resume");
  const NodeId again = b.node(NodeKind::kPlaceholder, "x", "x", {}, {x});
  const NodeId output = b.node(NodeKind::kOutput, "output", "output", {again});
  b.graph().breaks.push_back({.reason = "print", .detail = {}, .source = {}, .after = 0});
  x = b.op("aten::cat", {{"tensors", tensors{x, x}}, {"dtype", DType::kFloat32}, {"mode", "same"}},
           {{2, 4, 6, 6}});
  b.declare_cost(1, 2, 3);
  EXPECT_EQ(output, 3u);
  return b.finish({x});
}

struct Breakage {
  const char* message;
  std::function<void(Graph&)> apply;
};

const Breakage kBreakages[] = {
    {"there is no root module", [](Graph& g) { g.modules.clear(); }},
    {"module 0 does not come after its parent", [](Graph& g) { g.modules[0].parent = 0; }},
    {"module 1 does not come after its parent", [](Graph& g) { g.modules[1].parent = 1; }},
    {"module 1 does not come after its parent", [](Graph& g) { g.modules[1].parent = kNone; }},
    {"module 1 has an unknown string", [](Graph& g) { g.modules[1].path = 9999; }},
    {"there is no root scope", [](Graph& g) { g.scopes.clear(); }},
    {"scope 1 has no module 7", [](Graph& g) { g.scopes[1].module = 7; }},
    {"scope 1 does not come after its parent", [](Graph& g) { g.scopes[1].parent = 1; }},
    {"scope 0 is not the root module's", [](Graph& g) { g.scopes[0].module = 1; }},
    {"value 0 has dimensions outside the pool",
     [](Graph& g) {
       g.values[0].shape = {0, 0xfffffff0u};
     }},
    {"value 0 has dimensions outside the pool", [](Graph& g) { g.values[0].strides.begin = 0xffffffffu; }},
    {"value 0 has 4 dimensions and 2 strides", [](Graph& g) { g.values[0].strides.size = 2; }},
    {"value 0 has a dimension of -3", [](Graph& g) { g.dims[g.values[0].shape.begin] = -3; }},
    {"value 1 begins at -1", [](Graph& g) { g.values[1].offset = -1; }},
    {"value 1 has no storage 99", [](Graph& g) { g.values[1].storage = 99; }},
    {"value 1 has no sparse form 0", [](Graph& g) { g.values[1].sparse = 0; }},
    {"value 1 is sparse and has strides",
     [](Graph& g) {
       g.sparse_forms.push_back({.layout = g.intern("sparse_csr"), .stored = 3, .index_bytes = 64});
       g.values[1].sparse = 0;
     }},
    {"value 1 is sparse and has no layout",
     [](Graph& g) {
       g.sparse_forms.push_back({.stored = 3});
       g.values[1].sparse = 0;
       g.values[1].strides = {};
     }},
    {"value 1 has an unknown dtype", [](Graph& g) { g.values[1].dtype = static_cast<DType>(200); }},
    {"value 1 has an unknown kind", [](Graph& g) { g.values[1].kind = static_cast<ValueKind>(77); }},
    {"owned 0 is value 0, which is neither parameter nor buffer", [](Graph& g) { g.owned[0].value = 0; }},
    {"owned 0 names a module", [](Graph& g) { g.owned[0].module = 5; }},
    {"inputs[0] is not a value", [](Graph& g) { g.inputs[0] = kNone; }},
    {"outputs[0] is not a value", [](Graph& g) { g.outputs[0] = 50; }},
    {"output value 3 is never made",
     [](Graph& g) {
       g.ops.pop_back();
       g.declared.clear();
     }},
    {"op 0 has no target 40", [](Graph& g) { g.ops[0].target = 40; }},
    {"op 0 has no scope 40", [](Graph& g) { g.ops[0].scope = 40; }},
    {"op 1 has arguments outside the pool", [](Graph& g) { g.ops[1].arguments.size += 1; }},
    {"op 1 has outputs outside the pool", [](Graph& g) { g.ops[1].outputs.begin = kNone; }},
    {"op 1 makes value 50, which is not there", [](Graph& g) { g.value_refs[g.ops[1].outputs.begin] = 50; }},
    {"op 0 reads value 3 before anything makes it", [](Graph& g) { g.arguments[0].integer = 3; }},
    {"op 0 reads value 18446744073709551615, which is not there",
     [](Graph& g) { g.arguments[0].integer = -1; }},
    {"op 1 reads value 3 before anything makes it",
     [](Graph& g) { g.value_refs[g.arguments[4].range.begin] = 3; }},
    {"op 0 has a bad argument 'stride'", [](Graph& g) { g.arguments[2].range.size = 1u << 31; }},
    {"op 0 has a bad argument 'flags'", [](Graph& g) { g.dims[g.arguments[3].range.begin] = 2; }},
    {"op 1 has a bad argument 'dtype'", [](Graph& g) { g.arguments[5].integer = 1000; }},
    {"op 1 has a bad argument 'mode'", [](Graph& g) { g.arguments[6].integer = -7; }},
    {"op 1 has a bad argument 'mode'", [](Graph& g) { g.arguments[6].kind = static_cast<ArgumentKind>(99); }},
    {"a cost is declared for op 9, which is not there", [](Graph& g) { g.declared[0].op = 9; }},
    {"the cost declared for op 1 is out of order", [](Graph& g) { g.declared.push_back(g.declared[0]); }},
    {"op 0 has no node 4", [](Graph& g) { g.ops[0].node = 4; }},
    {"node 1 has an unknown kind", [](Graph& g) { g.nodes[1].kind = static_cast<NodeKind>(6); }},
    {"node 1 has an unknown string", [](Graph& g) { g.nodes[1].name = 9999; }},
    {"node 1 has an unknown string", [](Graph& g) { g.nodes[1].target = 9999; }},
    {"node 1 has an unknown string", [](Graph& g) { g.nodes[1].source = 9999; }},
    {"node 3 has no part 2", [](Graph& g) { g.nodes[3].part = 2; }},
    {"node 0 has no part 0",
     [](Graph& g) {
       g.parts.clear();
       g.breaks.clear();
     }},
    {"node 3 of part 0 comes after part 1", [](Graph& g) { g.nodes[3].part = 0; }},
    {"node 1 has no module 9", [](Graph& g) { g.nodes[1].module = 9; }},
    {"node 1 has inputs outside the pool", [](Graph& g) { g.nodes[1].inputs.size = 9; }},
    {"node 1 has outputs outside the pool", [](Graph& g) { g.nodes[1].outputs.begin = kNone; }},
    {"node 1 takes node 1, which does not come before it", [](Graph& g) { g.node_refs[0] = 1; }},
    {"node 1 takes node 4294967295, which does not come before it", [](Graph& g) { g.node_refs[0] = kNone; }},
    {"node 3 takes node 1 of another part", [](Graph& g) { g.node_refs[1] = 1; }},
    {"node 0 gives value 50, which is not there",
     [](Graph& g) { g.value_refs[g.nodes[0].outputs.begin] = 50; }},
    {"break 0 comes after part 2, which is not there", [](Graph& g) { g.breaks[0].after = 2; }},
    {"layer 0 of the KV cache is full and has a window of 4",
     [](Graph& g) { g.kv_cache.layers = {{.window = 4}}; }},
    {"layer 0 of the KV cache is sliding and has a window of 0",
     [](Graph& g) { g.kv_cache.layers = {{.kind = KvKind::kSliding}}; }},
    {"layer 0 of the KV cache has a negative size", [](Graph& g) { g.kv_cache.layers = {{.heads = -1}}; }},
    {"there is no CUDA device 9.0x0",
     [](Graph& g) {
       g.cuda = {{.processors = 0}, 0};
     }},
    {"the KV cache has a negative size", [](Graph& g) { g.kv_cache.block = 0; }},
    {"latent attention has a negative size", [](Graph& g) { g.kv_cache.latent.heads = -1; }},
    {"run 1 of 1 is the typical one",
     [](Graph& g) { test::measure(g, {.runs = 1}), g.measurement.typical = 1; }},
    {"2 ops were measured in 3 runs and have 5 samples",
     [](Graph& g) { test::measure(g, {.runs = 3}), g.measurement.host.pop_back(); }},
    {"2 ops were measured in 2 runs and have 0 samples",
     [](Graph& g) { test::measure(g, {.runs = 2}), g.measurement.on_device = true; }},
    {"2 samples of timed runs, not 3",
     [](Graph& g) { test::measure(g, {.runs = 3}), g.measurement.timed.pop_back(); }},
    {"1 samples of module calls, not 2",
     [](Graph& g) { test::measure(g, {.runs = 1}), g.measurement.scopes.pop_back(); }},
    {"1 samples of repeated ops, not 2",
     [](Graph& g) { test::measure(g, {.runs = 1}), g.measurement.repeated = {1}; }},
};

TEST(Verify, NamesWhatIsBroken) {
  for (const auto& breakage : kBreakages) {
    auto graph = small();
    breakage.apply(graph);
    try {
      graph.verify();
      ADD_FAILURE() << "accepted: " << breakage.message;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(breakage.message), std::string::npos) << error.what();
      EXPECT_FALSE(error.hint().empty());
    }
  }
}

TEST(Verify, AbsentTensorsInListsAreFine) {
  auto graph = small();
  graph.value_refs[graph.arguments[4].range.begin] = kNone;
  EXPECT_NO_THROW(graph.verify());
}

TEST(Verify, AcceptsWhatTheBuilderMakes) {
  for (std::uint64_t seed = 1000; seed < 1200; ++seed)
    EXPECT_NO_THROW(test::RandomGraph(seed).make(seed % 60));
}

// One random field made wrong: refused or harmless, never a crash.
TEST(Verify, SurvivesAnyMutation) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    test::Random random(seed);
    auto graph = test::RandomGraph(seed % 50).make_traced(10);
    const auto junk = static_cast<Id>(random.chance(2) ? random.below(64) : random.below(kNone));
    auto& value = graph.values[random.below(graph.values.size())];
    auto& op = graph.ops[random.below(graph.ops.size())];
    Node spare;
    auto& node = graph.nodes.empty() ? spare : graph.nodes[random.below(graph.nodes.size())];
    switch (random.below(15)) {
      case 0:
        value.shape.begin = junk;
        break;
      case 1:
        value.strides.size = junk;
        break;
      case 2:
        value.storage = junk;
        break;
      case 3:
        op.arguments.begin = junk;
        break;
      case 4:
        op.outputs.size = junk;
        break;
      case 5:
        op.scope = junk;
        break;
      case 6:
        op.target = junk;
        break;
      case 7:
        graph.value_refs.push_back(junk);
        op.outputs = {static_cast<Id>(graph.value_refs.size() - 1), 1};
        break;
      case 8:
        graph.modules.back().parent = junk;
        break;
      case 9:
        op.node = junk;
        break;
      case 10:
        node.part = junk;
        break;
      case 11:
        node.inputs = {junk % 16, junk};
        break;
      case 12:
        node.outputs.begin = junk;
        break;
      case 13:
        node.module = junk;
        break;
      default:
        if (!graph.arguments.empty()) graph.arguments[0].kind = static_cast<ArgumentKind>(junk % 12);
    }
    try {
      graph.verify();
      for (const auto& it : graph.ops) graph.op_name(it);
      for (const auto& it : graph.nodes)
        for (const auto id : graph.inputs_of(it)) ASSERT_LT(id, graph.nodes.size());
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace opscope
