// Sequences and optionals. They hold tensors as Python's lists do: putting in and taking out costs nothing,
// only joining and splitting moves data. Where a position is not known, the items are taken to be alike.
#include <algorithm>
#include <array>

#include "readers/onnx/loops.h"

namespace opscope {
namespace {

OnnxInfo* sequence(OnnxCall& call, std::optional<Infos> items, OnnxInfo* sample = nullptr) {
  if (items && sample == nullptr && !items->empty()) sample = items->front();
  return call.state().add({.is_sequence = true, .items = std::move(items), .sample = sample});
}

bool is_sequence(const OnnxCall& call, std::size_t i) { return call.has(i) && call.info(i)->is_sequence; }

// What a sequence holds, where the file does not tell more than what its items are like.
OnnxInfo* sample_of(OnnxCall& call, std::size_t i) {
  const auto& from = *call.info(i);
  if (from.sample != nullptr) return from.sample;
  return from.items && !from.items->empty() ? from.items->front() : nullptr;
}

// Tensors that nothing here made: of a sequence of which only the file's shapes are known.
ValueId outside(OnnxCall& call, std::size_t i, const Shape& shape, DType dtype) {
  return call.state().out.input({.shape = shape, .dtype = dtype}, std::string(call.node().inputs[i]) + "[i]");
}

// Which of `count` items; nullopt where it is not known or not there.
std::optional<std::size_t> position(const OnnxCall& call, std::size_t input, std::size_t count) {
  const auto* at = call.single_number(input);
  return at != nullptr ? axis_of(at->integer(0), count) : std::nullopt;
}

bool construct(OnnxCall& call, std::string_view) {
  Infos items;
  for (std::size_t i = 0; i < call.input_count(); ++i)
    if (call.has(i)) items.push_back(call.info(i));
  call.give(0, sequence(call, std::move(items)));
  return true;
}

bool empty_sequence(OnnxCall& call, std::string_view) {
  call.give(0, sequence(call, Infos{}));
  return true;
}

bool insert_item(OnnxCall& call, std::string_view) {
  if (!is_sequence(call, 0)) return false;
  auto items = call.info(0)->items;
  const bool is_last = !call.has(2);
  const auto* told = call.single_number(2);
  // Before an item, counted from the end when negative, or behind the last.
  const auto places = items ? items->size() + (told != nullptr && told->integer(0) < 0 ? 0 : 1) : 0;
  const auto at = items ? position(call, 2, places) : std::nullopt;
  if (items && (is_last || at))
    items->insert(is_last ? items->end() : items->begin() + static_cast<std::ptrdiff_t>(*at), call.info(1));
  else if (items)
    items->push_back(call.info(1));  // somewhere
  call.give(0, sequence(call, std::move(items), call.info(1)));
  return true;
}

bool erase_item(OnnxCall& call, std::string_view) {
  if (!is_sequence(call, 0)) return false;
  auto items = call.info(0)->items;
  if (items && !items->empty()) {
    const auto at = position(call, 1, items->size()).value_or(items->size() - 1);
    items->erase(items->begin() + static_cast<std::ptrdiff_t>(at));
  }
  call.give(0, sequence(call, std::move(items), sample_of(call, 0)));
  return true;
}

bool take_item(OnnxCall& call, std::string_view) {
  if (!is_sequence(call, 0)) return false;
  const auto& items = call.info(0)->items;
  const auto place = items ? position(call, 1, items->size()) : std::nullopt;
  auto* found = place ? (*items)[*place] : sample_of(call, 0);
  const auto declared = call.declared_shape(0, false);
  if ((found == nullptr || (!found->shape && found->id == kNone)) && declared)
    found = call.info_of(outside(call, 0, *declared, found != nullptr ? found->dtype : DType::kUndefined));
  call.give(0, found != nullptr ? found : call.state().add({}));
  return true;
}

bool sequence_length(OnnxCall& call, std::string_view) {
  if (!is_sequence(call, 0)) return false;
  OnnxInfo made{.shape = Shape{}, .dtype = DType::kInt64};
  if (const auto& items = call.info(0)->items)
    made.numbers = Numbers{.integers = {static_cast<std::int64_t>(items->size())}};
  call.give(0, call.state().add(std::move(made)));
  return true;
}

// Along an axis of the items, or along a new one.
bool join_items(OnnxCall& call, std::string_view) {
  if (!is_sequence(call, 0)) return false;
  const bool is_new = call.integer("new_axis", 0) != 0;
  const auto& items = call.info(0)->items;
  std::optional<Shape> shape;
  std::vector<ValueId> ids;
  const auto* sample = sample_of(call, 0);
  if (items && !items->empty() &&
      std::ranges::all_of(*items, [](auto* one) { return one->shape.has_value(); })) {
    shape = sample->shape;
    const auto axis = axis_of(call.integer("axis", 0), shape->size() + (is_new ? 1 : 0));
    if (!axis) return false;
    if (is_new) shape->insert(shape->begin() + static_cast<std::ptrdiff_t>(*axis), 0);
    __int128 total = 0;
    for (auto* one : *items) {
      if (one->shape->size() != sample->shape->size()) return false;
      total += is_new ? 1 : (*one->shape)[*axis];
      ids.push_back(call.value_of(*one));
    }
    (*shape)[*axis] = clamp_size(total);
  }
  const auto dtype = sample != nullptr ? sample->dtype : DType::kUndefined;
  shape = call.or_declared(shape);
  if (!shape) return false;
  if (ids.empty()) ids.push_back(outside(call, 0, *shape, dtype));
  return call.answer(is_new ? "aten::stack" : "aten::cat",
                     {call.tensors("tensors", ids), call.number("dim", call.integer("axis", 0))},
                     {*shape, dtype});
}

// Parts of a tensor: views. Sizes of one, of one number each, or of a list.
bool split_to_sequence(OnnxCall& call, std::string_view aten) {
  const auto axis = call.axis(0);
  if (!axis) return false;
  const auto whole = call.shape(0)[*axis];
  const auto* told = call.numbers(1);
  const bool keeps = call.has(1) || call.integer("keepdims", 1) != 0;
  constexpr std::int64_t kMostParts = 4096;
  Shape sizes;
  if (told != nullptr && !call.shape(1).empty()) {
    for (std::size_t i = 0; i < told->size(); ++i) sizes.push_back(told->integer(i));
  } else {
    const auto each = told != nullptr && told->size() == 1 ? told->integer(0) : 1;
    if ((call.has(1) && told == nullptr) || each < 1 || whole / each > kMostParts) {
      call.give(0, sequence(call, std::nullopt, call.state().add({.dtype = call.dtype(0)})));
      return true;
    }
    for (std::int64_t left = whole; left > 0; left -= each) sizes.push_back(std::min(each, left));
  }
  if (has_negative(sizes)) return false;
  std::vector<OnnxOutput> outputs(sizes.size(), {call.shape(0), call.dtype(0)});
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    outputs[i].shape[*axis] = sizes[i];
    if (!keeps) outputs[i].shape.erase(outputs[i].shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  }
  const Argument arguments[] = {call.tensor("self", 0), call.list("split_sizes", sizes),
                                call.number("dim", *axis)};
  Infos items;
  for (const auto id : call.op(aten, arguments, outputs)) items.push_back(call.info_of(id));
  call.give(0, sequence(call, std::move(items)));
  return true;
}

// Of a tensor whose shape is not known: numbers that are not known either.
bool unknown_shape(OnnxCall& call, std::string_view) {
  const auto shape = call.node().op_type == "Size" ? std::optional(Shape{}) : call.declared_shape(0, false);
  call.give(0, call.state().add({.shape = shape, .dtype = DType::kInt64}));
  return true;
}

// --- Optionals

bool optional(OnnxCall& call, std::string_view) {
  call.give(0, call.has(0) ? call.info(0) : call.state().add({.is_empty_optional = true}));
  return true;
}

bool has_element(OnnxCall& call, std::string_view) {
  const auto* held = call.info(0);
  OnnxInfo made{.shape = Shape{}, .dtype = DType::kBool};
  if (held == nullptr || !held->may_be_empty)
    made.numbers = Numbers{.integers = {held != nullptr && !held->is_empty_optional ? 1 : 0}};
  call.give(0, call.state().add(std::move(made)));
  return true;
}

bool get_element(OnnxCall& call, std::string_view) {
  auto* held = call.info(0);
  const auto declared = call.declared_shape(0, false);
  if (!held->is_sequence && !held->shape && held->id == kNone && declared)
    held = call.info_of(outside(call, 0, *declared, held->dtype));
  call.give(0, held);
  return true;
}

constexpr auto kSequenceRules = std::to_array<OnnxRule>({
    {"ConcatFromSequence", join_items, {}, 1, true},
    {"Optional", optional, {}, 0, true},
    {"OptionalGetElement", get_element, {}, 1, true},
    {"OptionalHasElement", has_element, {}, 0, true},
    {"SequenceAt", take_item, {}, 2, true},
    {"SequenceConstruct", construct, {}, 0, true},
    {"SequenceEmpty", empty_sequence, {}, 0, true},
    {"SequenceErase", erase_item, {}, 1, true},
    {"SequenceInsert", insert_item, {}, 2, true},
    {"SequenceLength", sequence_length, {}, 1, true},
    {"Shape", unknown_shape, {}, 1, true},
    {"Size", unknown_shape, {}, 1, true},
    {"SplitToSequence", split_to_sequence, "aten::split_with_sizes"},
});
static_assert(std::ranges::is_sorted(kSequenceRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_sequence_rules() { return kSequenceRules; }

}  // namespace opscope
