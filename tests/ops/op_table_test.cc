// Every row of the cost table against its cases, and against calls that make no sense.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "cost/cost.h"
#include "ops/op_case.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

std::string show(const std::optional<Work>& work) {
  if (!work) return "refused";
  return std::to_string(work->macs.value()) + " MACs, " + std::to_string(work->other_flops.value()) +
         " flops, " + std::to_string(work->specials.value()) + " specials";
}

std::optional<Work> work_of(const Graph& graph) {
  OpCall call(graph);
  call.reset(graph.ops[0]);
  const OpRule* rule = find_rule(call.name());
  return rule != nullptr ? rule->work(call) : std::nullopt;
}

void check(const OpCase& op_case) {
  const Graph graph = graph_of(op_case);
  EXPECT_NE(find_rule(graph.op_name(graph.ops[0])), nullptr) << op_case.op;
  const auto work = work_of(graph);
  EXPECT_EQ(work, op_case.work) << op_case.op << ": " << show(work) << ", not " << show(op_case.work);
}

std::vector<OpCase> all_cases() {
  std::vector<OpCase> cases;
  for (const auto table :
       {contraction_cases(), attention_cases(), shaped_cases(), training_cases(), window_cases(),
        distance_cases(), linalg_cases(), selecting_cases(), onnx_cases(), sparse_cases()})
    cases.insert(cases.end(), table.begin(), table.end());
  return cases;
}

TEST(OpTable, CasesHaveTheExpectedWork) {
  for (const OpCase& op_case : all_cases()) check(op_case);
}

// One op on `self`, and its cost; where `is_view`, the output is the input.
OpCost cost_of(std::string_view op, const TensorSpec& in, const TensorSpec& out, bool is_view = false) {
  GraphBuilder builder;
  const Tensor self = builder.input(in);
  builder.op(full_name(op), {{"self", self}}, {is_view ? TensorSpec(out).view_of(self) : out});
  const Graph graph = builder.finish({});
  return estimate_one(graph, 0, Convention::kOpscope);
}

TEST(OpTable, ElementwiseOpsCostTheSameForEachElement) {
  for (const ElementwiseGroup& group : elementwise_groups())
    for (const auto op : group.ops)
      for (const auto& [spec, n] : {std::pair{TensorSpec{4, 3}, 12U}, {TensorSpec{2, 5, 7}, 70U}}) {
        const OpCost cost = cost_of(op, spec, spec);
        EXPECT_EQ(cost.work, (Work{.other_flops = n * group.flops, .specials = n * group.specials}))
            << op << ": " << show(cost.work);
        EXPECT_EQ(cost.traffic, (Traffic{.input_bytes = n * 4, .output_bytes = n * 4})) << op;
      }
}

Traffic expected_traffic(Moves moves, bool is_view, Count out_bytes) {
  if (moves == Moves::kNothing || is_view) return {};
  return {.input_bytes = moves == Moves::kWrites ? Count{} : out_bytes, .output_bytes = out_bytes};
}

TEST(OpTable, MovingOpsMoveAndNothingElse) {
  const TensorSpec half({2, 5, 7}, DType::kFloat16), wide({4, 3}, DType::kFloat64), large{100, 3};
  for (const MovingGroup& group : moving_groups())
    for (const auto op : group.ops) {
      const bool selects = group.moves == Moves::kSelects, may_view = group.moves == Moves::kCopiesUnlessView;
      for (const bool is_view : {false, true}) {
        if (is_view && !may_view) continue;
        for (const auto& [spec, bytes] : {std::pair{half, 70 * 2}, {wide, 12 * 8}}) {
          const OpCost cost = cost_of(op, spec, spec, is_view);
          EXPECT_EQ(cost.work, Work{}) << op;
          EXPECT_EQ(cost.confidence, Confidence::kExact) << op;
          EXPECT_EQ(cost.traffic, expected_traffic(group.moves, is_view, bytes)) << op;
        }
      }
      if (selects) {
        EXPECT_EQ(cost_of(op, large, {4, 3}).traffic, expected_traffic(group.moves, false, 48)) << op;
      }
    }
}

TEST(OpTable, EveryRowHasACase) {
  std::set<std::string> tested;
  for (const OpCase& op_case : all_cases())
    if (op_case.work) tested.insert(op_case.op.substr(0, op_case.op.find('.', op_case.op.find("::"))));
  for (const ElementwiseGroup& group : elementwise_groups())
    for (const auto op : group.ops) tested.insert(full_name(op));
  for (const MovingGroup& group : moving_groups())
    for (const auto op : group.ops) tested.insert(full_name(op));
  for (const OpRule* rule : all_rules()) EXPECT_TRUE(tested.contains(std::string(rule->name))) << rule->name;
}

// Without the weights inside a packed convolution its window cannot be known from the call.
TEST(OpTable, PackedConvolutionsAreUnknown) {
  for (const char* op : {"quantized::conv1d", "quantized::conv2d", "quantized::conv2d_relu",
                         "quantized::conv3d", "quantized::conv_transpose2d"})
    EXPECT_EQ(cost_of(op, {1, 8, 6, 6}, {1, 4, 6, 6}).confidence, Confidence::kUnknown) << op;
}

TEST(OpTable, HasTheCommonOps) { EXPECT_GE(all_rules().size(), 800U); }

TEST(OpTable, RowsAreComplete) {
  const auto rules = all_rules();
  EXPECT_TRUE(std::is_sorted(rules.begin(), rules.end(),
                             [](const OpRule* a, const OpRule* b) { return a->name < b->name; }));
  for (const OpRule* rule : rules) {
    EXPECT_NE(rule->work, nullptr) << rule->name;
    EXPECT_FALSE(rule->formula.empty()) << rule->name;
    EXPECT_EQ(find_rule(rule->name), rule);
  }
}

TEST(OpTable, FactsStandInTheRow) {
  EXPECT_TRUE(is("aten::relu", Fact::kInPlaceSwitch));
  EXPECT_TRUE(is("aten::relu_", Fact::kInPlaceSwitch));  // its twin's
  EXPECT_TRUE(is("aten::nonzero", Fact::kSizedByData));
  EXPECT_EQ(facts_of("aten::nonzero").limit, "nonzero");
  EXPECT_FALSE(is("aten::mm", Fact::kSizedByData));
  EXPECT_EQ(facts_of("aten::embedding_bag").index[1].argument, "offsets");
  // Also of an op whose cost is not known, and none of one that is not known at all.
  EXPECT_EQ(find_rule("aten::_nested_tensor_from_mask"), nullptr);
  EXPECT_TRUE(is("aten::_nested_tensor_from_mask", Fact::kRowsByData));
  EXPECT_EQ(facts_of("mine::op").bits, 0U);
}

TEST(OpTable, InPlaceTwinsShareTheRow) {
  EXPECT_EQ(find_rule("aten::relu_"), find_rule("aten::relu"));
  EXPECT_EQ(find_rule("aten::add_")->name, "aten::add");
  EXPECT_EQ(find_rule("aten::__iand__")->name, "aten::__iand__");
  EXPECT_EQ(find_rule("aten::normal_")->name, "aten::normal_");
  EXPECT_EQ(find_rule("aten::_softmax")->name, "aten::_softmax");
  for (const char* name :
       {"", "_", "aten::", "aten::_", "aten::__", "aten::and__", "mylib::foo", "aten::relu__"})
    EXPECT_EQ(find_rule(name), nullptr) << name;
}

TEST(OpTable, EnumsHaveNames) {
  EXPECT_EQ(name(Category::kConv), "conv");
  EXPECT_EQ(name(Category::kCustom), "custom");
  EXPECT_EQ(name(Fusion::kBarrier), "barrier");
  EXPECT_EQ(name(Confidence::kUpperBound), "upper_bound");
}

// --- Calls that make no sense: refused or priced, never a crash ---

void price_every_way(const OpCase& op_case) {
  const Graph graph = graph_of(op_case);
  for (const auto convention : {Convention::kOpscope, Convention::kTorch, Convention::kFvcore})
    estimate(graph, convention);
  EXPECT_FALSE(explain(graph, 0).empty());
}

TEST(OpTable, NothingAtAllIsNoCrash) {
  for (const OpRule* rule : all_rules()) price_every_way({std::string(rule->name), {}, {}, {}});
}

constexpr std::array kTensorNames{
    "input",  "self",    "weight",      "bias",   "other",  "mat2",   "query",
    "key",    "value",   "grid",        "input1", "input2", "x1",     "x2",
    "A",      "w_ih",    "w_hh",        "hx",     "mat1",   "mat",    "vec",
    "target", "indices", "grad_output", "theta",  "src",    "batch1", "batch2",
    "X",      "dets",    "v",           "g",      "values", "index",  "sorted_sequence"};
constexpr std::array kListNames{"params", "tensors", "weight", "self"};
constexpr std::array kIntNames{
    "groups",    "dim", "num_groups",         "group",          "num_layers", "n_fft",    "num_head", "mode",
    "num_heads", "k",   "interpolation_mode", "sampling_ratio", "exponent",   "reduction"};
constexpr std::array kIntListNames{"kernel_size", "normalized_shape", "dim", "dims_self", "dims_other",
                                   "path",        "output_mask"};

class Nonsense {
 public:
  explicit Nonsense(std::uint32_t seed) : random_(seed) {}

  OpCase call(std::string_view op) {
    OpCase op_case{std::string(op), {}, {}, {}};
    for (const char* name : kTensorNames)
      if (below(2) == 0) op_case.arguments.emplace_back(name, tensor());
    for (const char* name : kListNames)
      if (below(4) == 0) op_case.arguments.emplace_back(name, Shapes{tensor(), tensor(), tensor()});
    for (const char* name : kIntNames)
      if (below(2) == 0) op_case.arguments.emplace_back(name, static_cast<int>(below(7)) - 2);
    for (const char* name : kIntListNames)
      if (below(2) == 0) op_case.arguments.emplace_back(name, list());
    if (below(2) == 0) op_case.arguments.emplace_back("equation", equation());
    for (std::uint32_t i = below(3); i > 0; --i) op_case.outputs.push_back(tensor());
    return op_case;
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  // Empty, tiny and past what a count can hold.
  std::int64_t size() {
    static constexpr std::array<std::int64_t, 7> kSizes{0, 1, 2, 3, 4, 8, std::int64_t{1} << 40};
    return kSizes[below(kSizes.size())];
  }
  ints sizes() {
    ints shape;
    for (std::uint32_t i = below(6); i > 0; --i) shape.push_back(size());
    return shape;
  }
  T tensor() {
    T spec(sizes(), below(5) == 0 ? DType::kComplex64 : DType::kFloat32);
    spec.strides = ints(spec.shape.size(), below(2));
    return spec;
  }
  ints list() {
    ints items = sizes();
    for (auto& item : items) item -= 2;
    return items;
  }
  const char* equation() {
    static constexpr std::array kEquations{"ij,jk,kl->il", "...,...i,->", "abc,abd->acd", ",,", "->",
                                           "i,i,i",        "zz"};
    return kEquations[below(kEquations.size())];
  }

  std::minstd_rand random_;
};

TEST(OpTable, NonsenseIsNoCrash) {
  Nonsense nonsense(7);
  for (int round = 0; round < 12; ++round)
    for (const OpRule* rule : all_rules()) price_every_way(nonsense.call(rule->name));
}

}  // namespace
}  // namespace opscope
