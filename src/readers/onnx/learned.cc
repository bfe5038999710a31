// Classical models: the domain ai.onnx.ml. What they learned is in the nodes' attributes, and is a parameter
// of the model as an initialiser would be.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>

#include "base/text.h"
#include "readers/onnx/call.h"

namespace opscope {
namespace {

ValueId learned(OnnxCall& call, std::string_view attribute, Shape shape) {
  auto& state = call.state();
  auto& tensor = state.constants.emplace_back();
  tensor.name = state.texts.emplace_back(call.told_name(attribute));
  tensor.dims = shape;
  tensor.dtype = DType::kFloat32;
  return call.value_of(*state.add({.shape = std::move(shape), .dtype = DType::kFloat32, .weight = &tensor}));
}

std::int64_t rows_of(const OnnxCall& call) { return call.rank(0) > 1 ? call.dim(0, 0) : 1; }
std::int64_t width_of(const OnnxCall& call) { return std::max<std::int64_t>(call.dim(0, -1), 1); }

std::int64_t length(const OnnxCall& call, std::string_view name) {
  const auto* found = call.attribute(name);
  if (found == nullptr) return 0;
  if (!found->tensor.empty())
    return clamp_size(
        static_cast<__int128>(numel(parse_onnx_tensor(found->tensor, call.state().where).dims).value()));
  return static_cast<std::int64_t>(std::max({found->integers.size(), found->reals.size(), found->texts}));
}

// The score's last step: none, or a softmax or sigmoid. By name, or by number in newer ops.
ValueId transformed(OnnxCall& call, ValueId scores, const Shape& shape) {
  const auto name = call.text("post_transform", "NONE");
  const auto number = call.integer("post_transform", 0);
  const bool is_softmax = name.starts_with("SOFTMAX") || number == 1 || number == 3;
  const bool is_sigmoid = name == "LOGISTIC" || name == "PROBIT" || number == 2 || number == 4;
  const OnnxOutput out{shape, DType::kFloat32};
  if (is_softmax)
    return call.op("aten::softmax", {call.tensor_of("self", scores), call.number("dim", -1)}, out);
  return is_sigmoid ? call.op("aten::sigmoid", {call.tensor_of("self", scores)}, out) : scores;
}

// Labels, of which the largest score decides, and the scores.
void give_classes(OnnxCall& call, ValueId scores, const Shape& shape) {
  const auto* texts = call.attribute("classlabels_strings");
  const auto dtype = texts != nullptr && texts->texts > 0 ? DType::kString : DType::kInt64;
  call.result(0, call.op("aten::argmax", {call.tensor_of("self", scores), call.number("dim", -1)},
                         {{shape[0]}, dtype}));
  call.result(1, scores);
}

void give_scores(OnnxCall& call, ValueId scores, const Shape& shape, bool is_classifier) {
  if (is_classifier)
    give_classes(call, scores, shape);
  else
    call.result(0, scores);
}

std::int64_t class_count(const OnnxCall& call) {
  return std::max<std::int64_t>({length(call, "classlabels_ints"), length(call, "classlabels_int64s"),
                                 length(call, "classlabels_strings"), 1});
}

// --- Linear models and support vectors

bool linear_model(OnnxCall& call, std::string_view aten) {
  const bool is_classifier = call.node().op_type == "LinearClassifier";
  const auto width = width_of(call);
  const auto targets = is_classifier ? length(call, "coefficients") / width : call.integer("targets", 1);
  if (targets < 1 || call.shape(0).empty()) return false;
  const Shape shape{rows_of(call), targets};
  const auto weight = learned(call, "coefficients", {targets, width});
  const bool has_bias = length(call, "intercepts") > 0;
  const auto made = call.op(aten,
                            {call.tensor("input", 0), call.tensor_of("weight", weight),
                             has_bias ? call.tensor_of("bias", learned(call, "intercepts", {targets}))
                                      : call.state().out.none("bias")},
                            {shape, DType::kFloat32});
  if (!is_classifier) {
    call.result(0, transformed(call, made, shape));
    return true;
  }
  // Two classes may have the coefficients of one.
  const Shape scored{shape[0], std::max(targets, class_count(call))};
  auto scores = transformed(call, made, shape);
  if (scored != shape) {
    const ValueId both[] = {scores, scores};
    scores = call.op("aten::cat", {call.tensors("tensors", both), call.number("dim", 1)},
                     {scored, DType::kFloat32});
  }
  give_classes(call, scores, scored);
  return true;
}

bool support_vectors(OnnxCall& call, std::string_view aten) {
  const bool is_classifier = call.node().op_type == "SVMClassifier";
  const auto width = width_of(call), numbers = length(call, "support_vectors");
  if (call.shape(0).empty() || numbers % width != 0) return false;
  const auto count = numbers / width;
  const auto vectors = learned(call, "support_vectors", {count, width});
  const auto coefficients = length(call, "coefficients");
  const Shape shape{rows_of(call), is_classifier ? class_count(call) : 1};
  const auto made = call.op(aten,
                            {call.tensor("x", 0), call.tensor_of("support_vectors", vectors),
                             call.tensor_of("coefficients", learned(call, "coefficients", {coefficients})),
                             call.number("rows_of_coefficients", count > 0 ? coefficients / count : 1),
                             call.word("kernel", call.text("kernel_type", "LINEAR"))},
                            {shape, DType::kFloat32});
  give_scores(call, transformed(call, made, shape), shape, is_classifier);
  return true;
}

// --- Trees

struct Forest {
  std::int64_t depth = 0, trees = 0, nodes = 0;
};

// Level by level from the roots, each node once: a hostile file's cycles end.
Forest measure(const std::vector<std::size_t>& roots, std::size_t nodes,
               const std::function<void(std::size_t, std::vector<std::size_t>&)>& children) {
  Forest found{.trees = static_cast<std::int64_t>(roots.size()), .nodes = static_cast<std::int64_t>(nodes)};
  std::vector<char> seen(nodes);
  for (const auto root : roots) {
    std::vector<std::size_t> level{root}, next;
    while (!level.empty()) {
      next.clear();
      bool is_new = false;
      for (const auto node : level) {
        if (node >= nodes || seen[node] != 0) continue;
        seen[node] = 1;
        is_new = true;
        children(node, next);
      }
      if (is_new) ++found.depth;
      std::swap(level, next);
    }
  }
  return found;
}

// Since version 5: roots, and for each node its two branches, each a node or a leaf.
Forest new_forest(const OnnxCall& call) {
  const auto on = call.integers("nodes_truenodeids"), off = call.integers("nodes_falsenodeids");
  const auto on_leaf = call.integers("nodes_trueleafs"), off_leaf = call.integers("nodes_falseleafs");
  std::vector<std::size_t> roots;
  for (const auto root : call.integers("tree_roots")) roots.push_back(static_cast<std::size_t>(root));
  return measure(roots, std::min(on.size(), off.size()), [&](std::size_t i, std::vector<std::size_t>& next) {
    if (i >= on_leaf.size() || on_leaf[i] == 0) next.push_back(static_cast<std::size_t>(on[i]));
    if (i >= off_leaf.size() || off_leaf[i] == 0) next.push_back(static_cast<std::size_t>(off[i]));
  });
}

// Before: nodes by the numbers of their tree and in it; a node that is its own branch, or 0, is a leaf.
Forest old_forest(const OnnxCall& call) {
  const auto trees = call.integers("nodes_treeids"), ids = call.integers("nodes_nodeids");
  const auto on = call.integers("nodes_truenodeids"), off = call.integers("nodes_falsenodeids");
  const auto nodes = std::min({trees.size(), ids.size(), on.size(), off.size()});
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> places;
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < nodes; ++i) {
    places.emplace(std::pair(trees[i], ids[i]), i);
    if (ids[i] == 0) roots.push_back(i);
  }
  auto found = measure(roots, nodes, [&](std::size_t i, std::vector<std::size_t>& next) {
    for (const auto branch : {on[i], off[i]}) {
      const auto place = places.find({trees[i], branch});
      if (branch != 0 && branch != ids[i] && place != places.end()) next.push_back(place->second);
    }
  });
  found.depth = std::max<std::int64_t>(found.depth - found.trees, 0);  // leaves compare nothing
  return found;
}

bool forest(OnnxCall& call, std::string_view aten) {
  const auto type = call.node().op_type;
  const auto found = type == "TreeEnsemble" ? new_forest(call) : old_forest(call);
  const bool is_classifier = type == "TreeEnsembleClassifier";
  if (call.shape(0).empty() || found.trees == 0) return false;
  const Shape shape{rows_of(call), is_classifier ? class_count(call) : call.integer("n_targets", 1)};
  if (has_negative(shape)) return false;
  const auto nodes = learned(call, "nodes", {found.nodes});
  const auto made = call.op(aten,
                            {call.tensor("x", 0), call.tensor_of("nodes", nodes),
                             call.number("depth", found.depth), call.number("trees", found.trees)},
                            {shape, is_classifier ? DType::kFloat32 : call.dtype(0)});
  give_scores(call, transformed(call, made, shape), shape, is_classifier);
  return true;
}

// --- Features

bool scale_features(OnnxCall& call, std::string_view) {
  const OnnxOutput out{call.shape(0), DType::kFloat32};
  const auto shifted = call.op("aten::sub", {call.tensor("self", 0)}, out);
  return call.answer("aten::mul", {call.tensor_of("self", shifted)}, out);
}

// Rows divided by their norm: the largest, the sum, or the root of the squares' sum.
bool normalise(OnnxCall& call, std::string_view) {
  const auto kind = call.text("norm", "MAX");
  Shape norms = call.shape(0);
  if (norms.empty()) return false;
  norms.back() = 1;
  const std::int64_t last[] = {-1};
  const auto norm = call.op("aten::linalg_vector_norm",
                            {call.tensor("self", 0),
                             kind == "MAX" ? call.real_number("ord", std::numeric_limits<double>::infinity())
                                           : call.number("ord", kind == "L1" ? 1 : 2),
                             call.list("dim", last), call.flag("keepdim", true)},
                            {norms, DType::kFloat32});
  return call.answer("aten::div", {call.tensor("self", 0), call.tensor_of("other", norm)},
                     {call.shape(0), DType::kFloat32});
}

bool binarise(OnnxCall& call, std::string_view aten) { return call.answer(aten, {call.tensor("self", 0)}); }

bool impute(OnnxCall& call, std::string_view) {
  const auto is_missing = call.op("aten::eq", {call.tensor("self", 0)}, {call.shape(0), DType::kBool});
  return call.answer("aten::where", {call.tensor_of("condition", is_missing), call.tensor("self", 0)});
}

// The columns that the indices name.
bool extract(OnnxCall& call, std::string_view aten) {
  Shape shape = call.shape(0);
  if (shape.empty()) return false;
  if (shape.size() == 1) shape.insert(shape.begin(), 1);
  shape.back() = clamp_size(static_cast<__int128>(numel(call.shape(1)).value()));
  return call.answer(aten, {call.tensor("self", 0), call.number("dim", -1), call.tensor("index", 1)},
                     {shape});
}

bool join_features(OnnxCall& call, std::string_view aten) {
  Shape shape{rows_of(call), 0};
  __int128 total = 0;
  if (!call.has_first(call.input_count())) return false;
  for (std::size_t i = 0; i < call.input_count(); ++i) total += call.rank(i) > 0 ? call.dim(i, -1) : 1;
  shape[1] = clamp_size(total);
  return call.answer(aten, {call.tensors("tensors", call.values()), call.number("dim", 1)},
                     {shape, DType::kFloat32});
}

bool one_hot_features(OnnxCall& call, std::string_view aten) {
  Shape shape = call.shape(0);
  shape.push_back(std::max(length(call, "cats_int64s"), length(call, "cats_strings")));
  return call.answer(aten, {call.tensor("self", 0)}, {shape, DType::kFloat32});
}

// Keys of some type, values of another.
bool encode(OnnxCall& call, std::string_view aten) {
  constexpr std::string_view kKeys[] = {"keys_int64s", "keys_strings",    "keys_floats",
                                        "keys_tensor", "classes_strings", "cats_int64s"};
  std::int64_t keys = 1;
  for (const auto name : kKeys) keys = std::max(keys, length(call, name));
  auto to = DType::kInt64;
  if (length(call, "values_strings") > 0) to = DType::kString;
  if (length(call, "values_floats") > 0) to = DType::kFloat32;
  if (const auto* values = call.attribute("values_tensor"); values != nullptr && !values->tensor.empty())
    to = parse_onnx_tensor(values->tensor, call.state().where).dtype;
  const bool is_mapper =
      call.attribute("cats_strings") != nullptr || call.attribute("classes_strings") != nullptr;
  if (is_mapper) to = call.dtype(0) == DType::kString ? DType::kInt64 : DType::kString;
  return call.answer(aten, {call.tensor("self", 0), call.number("keys", keys)}, {call.shape(0), to});
}

// --- Maps, which are no tensors: from one, and a list of them.

bool from_map(OnnxCall& call, std::string_view aten) {
  const auto words = std::max(length(call, "string_vocabulary"), length(call, "int64_vocabulary"));
  const auto shape = call.or_declared(words > 0 ? std::optional(Shape{1, words}) : std::nullopt);
  const bool is_cast = call.node().op_type == "CastMap";
  const auto sparse = call.integer("max_map", 0);
  const auto kind = call.text("cast_to", "TO_FLOAT");
  const auto dtype = kind == "TO_INT64"    ? DType::kInt64
                     : kind == "TO_STRING" ? DType::kString
                                           : DType::kFloat32;
  const auto size = is_cast && sparse > 0 ? std::optional(Shape{1, sparse}) : shape;
  return size && call.answer(aten, {call.number("keys", words)}, {*size, dtype});
}

bool zip_maps(OnnxCall& call, std::string_view) {
  call.give(0, call.state().add({.is_sequence = true}));
  return true;
}

constexpr auto kLearnedRules = std::to_array<OnnxRule>({
    {"ArrayFeatureExtractor", extract, "aten::index_select", 2},
    {"Binarizer", binarise, "aten::threshold"},
    {"CastMap", from_map, "aten::full", 0, true},
    {"CategoryMapper", encode, "ai.onnx.ml::CategoryMapper"},
    {"DictVectorizer", from_map, "ai.onnx.ml::DictVectorizer", 0, true},
    {"FeatureVectorizer", join_features, "aten::cat"},
    {"Imputer", impute},
    {"LabelEncoder", encode, "ai.onnx.ml::LabelEncoder"},
    {"LinearClassifier", linear_model, "aten::linear"},
    {"LinearRegressor", linear_model, "aten::linear"},
    {"Normalizer", normalise},
    {"OneHotEncoder", one_hot_features, "aten::one_hot"},
    {"SVMClassifier", support_vectors, "ai.onnx.ml::SVMClassifier"},
    {"SVMRegressor", support_vectors, "ai.onnx.ml::SVMRegressor"},
    {"Scaler", scale_features},
    {"TreeEnsemble", forest, "ai.onnx.ml::TreeEnsemble"},
    {"TreeEnsembleClassifier", forest, "ai.onnx.ml::TreeEnsemble"},
    {"TreeEnsembleRegressor", forest, "ai.onnx.ml::TreeEnsemble"},
    {"ZipMap", zip_maps, {}, 0, true},
});
static_assert(std::ranges::is_sorted(kLearnedRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_learned_rules() { return kLearnedRules; }

}  // namespace opscope
