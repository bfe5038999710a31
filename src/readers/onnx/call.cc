#include "readers/onnx/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "readers/capture/results.h"

namespace opscope {
namespace {

constexpr std::size_t kMostDims = 64;
constexpr std::size_t kMostMade = 32'000'000;  // numbers: 256 MB

bool holds_weights(DType dtype) {
  return info(dtype).is_float || info(dtype).is_complex || (info(dtype).bits <= 8 && dtype != DType::kBool);
}

// The writing half of the wire format, as little of it as one node needs.

constexpr std::size_t kMostBytes = 1 << 20;  // a node with more carries weights, or means harm

std::string varint(std::uint64_t number) {
  std::string out;
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
  return out;
}
std::string field(std::uint32_t id, std::string_view bytes) {
  return varint(std::uint64_t{id} << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
std::string field(std::uint32_t id, std::int64_t number) {
  return varint(std::uint64_t{id} << 3) + varint(static_cast<std::uint64_t>(number));
}

std::string value_info(std::string_view name, const OnnxInfo& info) {
  std::string shape;
  for (const auto size : *info.shape) shape += field(1, field(1, size));
  return field(1, name) + field(2, field(1, field(1, onnx_data_type(info.dtype)) + field(2, shape)));
}

std::string initializer(std::string_view name, const OnnxInfo& info) {
  std::string out;
  for (const auto size : *info.shape) out += field(1, size);
  out += field(2, onnx_data_type(info.dtype)) + field(8, name);
  for (const auto item : info.numbers->integers) out += field(7, item);
  return out;
}

}  // namespace

std::int64_t clamp_size(__int128 size) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return size < 0 ? 0 : size > kMost ? kMost : static_cast<std::int64_t>(size);
}

std::optional<Shape> broadcast(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Shape out(a.begin(), a.end());
  const auto lead = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    auto& size = out[lead + i];
    if (size == 1)
      size = b[i];
    else if (b[i] != 1 && b[i] != size)
      return std::nullopt;
  }
  return out;
}

std::optional<Shape> matmul_shape(Shape a, Shape b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) return std::nullopt;
  auto out = broadcast(std::span(a).first(a.size() - 2), std::span(b).first(b.size() - 2));
  if (!out) return std::nullopt;
  if (!row) out->push_back(a[a.size() - 2]);
  if (!column) out->push_back(b.back());
  return out;
}

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

std::optional<std::vector<std::size_t>> axes_of(std::span<const std::int64_t> axes, std::size_t rank) {
  std::vector<std::size_t> out;
  for (const auto axis : axes) {
    const auto at = axis_of(axis, rank);
    if (!at) return std::nullopt;
    out.push_back(*at);
  }
  return out;
}

std::vector<std::size_t> all_axes(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

OnnxInfo* OnnxState::add(OnnxInfo info) {
  if (info.weight == nullptr) {
    if (info.shape) numbers_made += info.shape->size();
    if (info.numbers) numbers_made += info.numbers->size();
    if (info.items) numbers_made += info.items->size();
    if (numbers_made > kMostMade)
      throw Error("its constants and shapes unfold to more than 32 million numbers", where,
                  "the file is damaged, or made by a program that writes broken models");
  }
  return &infos.emplace_back(std::move(info));
}

OnnxInfo* OnnxCall::find(std::string_view name) const {
  for (const OnnxFrame* frame = &frame_; frame != nullptr; frame = frame->outer)
    if (const auto found = frame->names.find(name); found != frame->names.end()) return found->second;
  return nullptr;
}

// Inner graphs see what the function around them was not given.
bool OnnxCall::is_absent(std::string_view name) const {
  for (const OnnxFrame* frame = &frame_; frame != nullptr; frame = frame->outer)
    if (frame->absent.contains(name)) return true;
  return false;
}

OnnxInfo* OnnxCall::info(std::size_t i) const {
  if (i >= node_.inputs.size() || node_.inputs[i].empty()) return nullptr;
  auto* const found = find(node_.inputs[i]);
  if (found == nullptr && is_absent(node_.inputs[i])) return nullptr;
  if (found == nullptr)
    throw Error(fmt::format("{} reads '{}' before anything makes it", truncate(node_.op_type, 40),
                            truncate(node_.inputs[i], 60)),
                state_.where, "the file is damaged, or its nodes are out of order");
  return found;
}

bool OnnxCall::has_first(std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i)
    if (!has(i)) return false;
  return true;
}

bool OnnxCall::knows_all_shapes() const {
  for (std::size_t i = 0; i < node_.inputs.size(); ++i)
    if (const auto* one = info(i); one != nullptr && !one->shape) return false;
  return true;
}

const Shape& OnnxCall::shape(std::size_t i) const {
  const auto* one = info(i);
  OPSCOPE_CHECK(one != nullptr && one->shape);
  return *one->shape;
}

std::optional<Shape> OnnxCall::heads(std::size_t i, std::int64_t count) const {
  if (rank(i) == 4) return shape(i);
  if (rank(i) != 3 || count <= 0 || dim(i, 2) % count != 0) return std::nullopt;
  return Shape{dim(i, 0), count, dim(i, 1), dim(i, 2) / count};
}

const Numbers* OnnxCall::numbers(std::size_t i) const {
  auto* one = info(i);
  if (one == nullptr || !one->numbers) return nullptr;
  one->read_as_numbers = true;
  return &*one->numbers;
}

std::string OnnxCall::full_name() const {
  const auto domain = node_.domain.empty() ? std::string("onnx") : truncate(node_.domain, 60);
  return domain + "::" + truncate(node_.op_type, 60);
}

bool OnnxCall::misfit(std::size_t a, std::size_t b) const {
  const auto name = !node_.name.empty() ? node_.name : wants(0) ? node_.outputs[0] : std::string_view{};
  state_.out.note("unknown_op", full_name(),
                  fmt::format("the shapes {} and {} of '{}' do not fit", format_shape(shape(a)),
                              format_shape(shape(b)), truncate(name, 60)));
  return false;
}

// A weight that the exporter made anew ("val_12") belongs to the module that reads it first.
std::string OnnxCall::owned_path(std::string_view weight) const {
  const Graph& graph = state_.out.graph;
  const std::string_view reader = graph.path(graph.modules[state_.out.running_module()]);
  if (reader.empty() || weight.find('.') != std::string_view::npos) return std::string(weight);
  return std::string(reader) + "." + std::string(weight);
}

ValueId OnnxCall::value(std::size_t i, ValueKind weight_kind) const {
  auto* one = info(i);
  OPSCOPE_CHECK(one != nullptr);
  return value_of(*one, weight_kind);
}

ValueId OnnxCall::value_of(OnnxInfo& one, ValueKind weight_kind) const {
  if (one.weight != nullptr) {
    const auto module = state_.out.running_module();
    if (one.reader == kNone) one.reader = module;
    one.is_shared = one.is_shared || one.reader != module;
  }
  if (one.id != kNone) return one.id;
  const ValueSpec spec{.shape = one.shape.value_or(Shape{}), .dtype = one.dtype};
  const bool is_parameter =
      one.weight != nullptr && holds_weights(one.dtype) && !spec.shape.empty() && !one.weight->name.empty();
  one.id = state_.out.value(spec, is_parameter ? weight_kind : ValueKind::kConstant);
  if (is_parameter) state_.out.own(owned_path(one.weight->name), one.id);
  if (is_parameter && weight_kind == ValueKind::kParameter) state_.out.graph.values[one.id].trainable = true;
  return one.id;
}

std::vector<ValueId> OnnxCall::values() const {
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < node_.inputs.size(); ++i) ids.push_back(value(i));
  return ids;
}

const OnnxAttribute* OnnxCall::attribute(std::string_view name) const {
  const auto* found = node_.attribute(name);
  if (found == nullptr || found->refers_to.empty()) return found;
  const auto given = frame_.given.find(found->refers_to);
  return given == frame_.given.end() ? nullptr : given->second;
}
std::optional<std::vector<std::int64_t>> OnnxCall::integers(std::string_view name, std::size_t input) const {
  if (const auto* found = attribute(name)) return found->integers;
  if (!has(input)) return std::nullopt;
  const auto* known = numbers(input);
  if (known == nullptr || known->is_real) return std::nullopt;
  return known->integers;
}

std::vector<ValueId> OnnxCall::op(std::string_view name, std::span<const Argument> arguments,
                                  std::span<const OnnxOutput> outputs) {
  const auto tensor = std::ranges::find(arguments, ArgumentKind::kTensor, &Argument::kind);
  const auto base = tensor == arguments.end() ? kNone : static_cast<ValueId>(tensor->integer);
  std::vector<ValueId> made;
  for (const auto& output : outputs) {
    ValueSpec spec{
        .shape = output.shape, .strides = output.strides, .dtype = output.dtype.value_or(dtype(0))};
    if (spec.shape.size() > kMostDims)
      throw Error("a value of more than 64 dimensions", state_.where, "the file is damaged");
    if (spec.strides->size() != spec.shape.size()) spec.strides = contiguous_strides(spec.shape);
    made.push_back(result_of(state_.out, name, spec, base));
  }
  state_.out.op(name, {}, arguments, made);
  settle_doubts(made);
  return made;
}

// The last op's sizes are as certain as those of what it reads; one number is one number.
void OnnxCall::settle_doubts(std::span<const ValueId> made) {
  auto& graph = state_.out.graph;
  Op& op = graph.ops.back();
  op.bounded = std::exchange(state_.symbols.used_data, false);
  if (!op.bounded && state_.bounded.empty() && state_.estimated.empty()) return;
  each_read(graph, op, [&](ValueId id) {
    op.bounded = op.bounded || state_.bounded.contains(id);
    op.estimated = op.estimated || state_.estimated.contains(id);
  });
  for (const auto id : made) {
    if (numel(graph.shape(graph.values[id])) == Count{1}) continue;
    if (op.bounded) state_.bounded.insert(id);
    if (op.estimated) state_.estimated.insert(id);
  }
}

void OnnxCall::doubt(std::size_t i, bool bounded, bool estimated) {
  auto* const one = wants(i) ? find(node_.outputs[i]) : nullptr;
  if (one == nullptr || one->id == kNone) return;
  if (bounded) state_.bounded.insert(one->id);
  if (estimated) state_.estimated.insert(one->id);
}

OnnxInfo* OnnxCall::info_of(ValueId id) {
  const auto& value = state_.out.graph.values[id];
  const auto shape = state_.out.graph.shape(value);
  return state_.add({.shape = Shape(shape.begin(), shape.end()), .dtype = value.dtype, .id = id});
}

void OnnxCall::result(std::size_t i, ValueId id) {
  if (wants(i)) give(i, info_of(id));
}

void OnnxCall::mark(std::size_t first, bool bounded, bool estimated) {
  auto& ops = state_.out.graph.ops;
  for (auto i = first; i < ops.size(); ++i) {
    ops[i].bounded = ops[i].bounded || bounded;
    ops[i].estimated = ops[i].estimated || estimated;
  }
}

bool OnnxCall::answer_all(std::string_view name, std::initializer_list<Argument> arguments,
                          std::span<const OnnxOutput> outputs) {
  const auto made = op(name, {arguments.begin(), arguments.size()}, outputs);
  for (std::size_t i = 0; i < made.size(); ++i) result(i, made[i]);
  return true;
}

// Names in value_info need not be the user's: unresolved ones are asked for only where nothing else helps.
std::optional<Shape> OnnxCall::declared_shape(std::size_t i, bool ask) const {
  if (!wants(i)) return std::nullopt;
  const auto found = frame_.declared.find(node_.outputs[i]);
  if (found == frame_.declared.end() || !found->second->has_shape) return std::nullopt;
  if (found->second->dims.size() > kMostDims) return std::nullopt;
  Shape shape;
  for (const auto& dim : found->second->dims) {
    if (dim.size >= 0) {
      shape.push_back(dim.size);
    } else if (ask && !dim.name.empty()) {
      shape.push_back(state_.symbols.evaluate(dim.name).value_or(1));
    } else {
      return std::nullopt;
    }
  }
  return shape;
}

OnnxOutput OnnxCall::settle(std::size_t i, OnnxOutput output) const {
  if (const auto shape = declared_shape(i, false); shape && *shape != output.shape) {
    output.shape = *shape;
    output.strides.clear();
  }
  return output;
}

std::int64_t OnnxCall::size_from_data(std::size_t output, std::size_t axis, std::int64_t most) {
  const auto own = wants(output) ? node_.outputs[output] : node_.op_type;
  std::string name = fmt::format("{}.{}", own, axis);
  const auto found = frame_.declared.find(own);
  if (found != frame_.declared.end() && axis < found->second->dims.size()) {
    const auto& dim = found->second->dims[axis];
    if (dim.size >= 0) return dim.size;
    if (!dim.name.empty()) name = dim.name;
  }
  state_.symbols.used_data = true;
  if (const auto told = state_.symbols.value_if_bound(name)) return std::max<std::int64_t>(*told, 0);
  state_.out.note("bound", full_name(),
                  fmt::format("a data-dependent size is counted as the largest possible, {}: --dim {}=N",
                              most, truncate(name, 60)));
  return most;
}

std::string OnnxCall::told_name(std::string_view what) const {
  const auto named = std::ranges::find_if(node_.outputs, [](std::string_view name) { return !name.empty(); });
  return fmt::format("{}.{}", named != node_.outputs.end() ? *named : node_.op_type, what);
}
std::optional<std::int64_t> OnnxCall::told(std::string_view what) const {
  const auto count = state_.symbols.value_if_bound(told_name(what));
  if (count && *count < 0)
    throw Error(fmt::format("a count of {}", *count), "--dim " + told_name(what), "counts are not negative");
  return count;
}

std::vector<OnnxType> infer_single(const OnnxCall& call, std::string (*infer)(const std::string& model)) {
  const auto& node = call.node();
  if (infer == nullptr || !node.domain.empty() || node.bytes.size() > kMostBytes || !call.knows_all_shapes())
    return {};
  std::string graph = field(1, node.bytes) + field(2, "one");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto* info = call.info(i);
    if (info == nullptr) continue;
    const bool is_list = info->numbers && !info->numbers->is_real && info->dtype == DType::kInt64;
    graph +=
        is_list ? field(5, initializer(node.inputs[i], *info)) : field(11, value_info(node.inputs[i], *info));
  }
  for (const auto output : node.outputs) graph += field(12, field(1, output));
  const auto answer =
      infer(field(1, std::int64_t{8}) + field(7, graph) + field(8, field(1, "") + field(2, call.opset())));
  if (answer.empty()) return {};
  std::vector<OnnxType> types(node.outputs.size());
  const auto model = parse_onnx_model(answer, call.state().where);
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    for (const auto* list : {&model.graph.outputs, &model.graph.values})
      for (const auto& value : *list)
        if (value.name == node.outputs[i] && value.type.has_shape) types[i] = value.type;
  for (auto& type : types)
    for (auto& dim : type.dims) dim.name = {};  // views into what goes now
  return types;
}

}  // namespace opscope
