// Models as PyTorch's tracers draw them: ResNet-18 by fx, and a model that Dynamo cuts in three.
#pragma once

#include "analyse/profile/profile.h"
#include "analyse/small_models.h"

namespace opscope::test {

// What symbolic_trace makes of a graph: a node for each input, layer and output.
inline Graph as_fx(Graph graph) {
  const Profile profile = make_profile(graph);
  const auto name_of = [](std::string_view path) {
    std::string name(path);
    for (char& c : name)
      if (c == '.' || c == '#') c = '_';
    return name;
  };
  graph.parts = {{.name = "forward", .calls = 1}};
  const auto add = [&](NodeKind kind, std::string_view name, std::string_view target, ModuleId module,
                       Range outputs) {
    const auto last = static_cast<NodeId>(graph.nodes.size());
    const std::vector<NodeId> inputs = last == 0 ? std::vector<NodeId>{} : std::vector<NodeId>{last - 1};
    graph.nodes.push_back({.kind = kind,
                           .name = graph.intern(name),
                           .target = graph.intern(target),
                           .part = 0,
                           .module = module,
                           .inputs = graph.add_node_refs(inputs),
                           .outputs = outputs});
    return last;
  };
  const std::vector<ValueId> inputs = graph.inputs, outputs = graph.outputs;
  for (const ValueId input : inputs) {
    const std::string name(graph.text(graph.values[input].name));
    add(NodeKind::kPlaceholder, name, name, 0, graph.add_refs(std::array{input}));
  }
  std::vector<NodeId> node_of(profile.layers().size(), kNone);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const std::uint32_t l = profile.layer_of()[i];
    const LayerRow& layer = profile.layers()[l];
    if (node_of[l] == kNone) {
      const Range made = graph.add_refs(std::array{layer.output});
      const std::string path(graph.path(graph.modules[layer.module]));
      const std::string function = "torch." + std::string(layer.type);
      node_of[l] = add(layer.is_module ? NodeKind::kCallModule : NodeKind::kCallFunction, name_of(layer.name),
                       layer.is_module ? path : function, layer.module, made);
    }
    graph.ops[i].node = node_of[l];
  }
  add(NodeKind::kOutput, "output", "output", 0, graph.add_refs(outputs));
  graph.capture.tracer = "fx";
  graph.capture.seconds = 0.02;
  graph.verify();
  return graph;
}

// A user's model with a print and a call of item() between its layers: three graphs, two breaks, an op that
// runs between the graphs, and a graph that runs twice. Parameters are Dynamo's placeholders.
inline Graph cut_in_three(bool traced = true) {
  GraphBuilder b("my_model", "MyModel");
  auto x = b.input({8, 16}, "x");
  const auto begin = [&](const char* name) {
    if (traced) b.begin_part(name);
  };
  const auto around = [&](NodeKind kind, std::string_view name, std::string_view target,
                          const tensors& results = {}) {
    return traced ? std::optional(b.node(kind, name, target, {}, results)) : std::nullopt;
  };
  const auto linear = [&](const char* child) {
    const auto call = b.call(child, "Linear");
    const auto weight = b.parameter("weight", {16, 16}), bias = b.parameter("bias", {16});
    for (const auto& [name, value] : {std::pair("weight", weight), std::pair("bias", bias)})
      const auto placeholder =
          around(NodeKind::kPlaceholder, "l_self_modules_" + std::string(child) + "_parameters_" + name + "_",
                 "L_self_modules_" + std::string(child) + "_parameters_" + name + "_", {value});
    const auto node = around(NodeKind::kCallFunction, child, "torch._C._nn.linear");
    x = b.op("aten::linear", {{"input", x}, {"weight", weight}, {"bias", bias}}, {{8, 16}});
    b.source("my_model.py:12");
  };
  const auto relu = [&](const char* name) {
    const auto node = around(NodeKind::kCallMethod, name, "relu");
    x = b.op("aten::relu", {{"self", x}}, {{8, 16}});
  };
  const auto finish_part = [&] { const auto node = around(NodeKind::kOutput, "output", "output", {x}); };
  begin("forward");
  { const auto node = around(NodeKind::kPlaceholder, "l_x_", "L_x_", {x}); }
  linear("first");
  relu("relu");
  relu("relu_1");
  finish_part();
  for (int run = 0; run < 2; ++run) {
    begin("torch_dynamo_resume_in_forward_at_14");
    linear("shared");
    finish_part();
  }
  x = b.op("aten::sigmoid", {{"self", x}}, {{8, 16}});
  begin("torch_dynamo_resume_in_forward_at_17");
  linear("last");
  finish_part();
  Graph& graph = b.graph();
  graph.capture.source = "my_model.py";
  graph.capture.tracer = traced ? "dynamo" : "static";
  graph.capture.seconds = traced ? 0.52 : 0.0004;
  if (traced)
    graph.breaks = {
        {"a call of print, which has no place in a graph",
         "Attempted to call function marked as skipped\n"
         "  Explanation: Dynamo does not know how to trace the builtin `print`.",
         "/home/me/my_model.py:14", 0},
        {"Tensor.item() asks for a value", "Unsupported Tensor.item() call", "my_model.py:17", 1}};
  return b.finish({x});
}

// The same by the ladder: two rungs failed before one was used.
inline Graph by_hybrid() {
  Graph graph = as_fx(cut_in_three(false));
  graph.capture.tracer = "export";
  graph.capture.seconds = 0.75;
  graph.capture.rungs = {
      {"fx", "failed", "the model branches on a tensor's value", "try --tracer dynamo",
       "Traceback (most recent call last):\n  File \"my_model.py\", line 14, in forward\nTraceError: control "
       "flow",
       0.01},
      {"dynamo_export", "failed", "the model's graph has breaks", "try --tracer dynamo", "", 0.4},
      {"export", "used", "", "", "", 0.75},
      {"static", "not tried", "", "", "", 0}};
  return graph;
}

}  // namespace opscope::test
