#include "graph/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/hash.h"
#include "graph/graph.h"

namespace opscope {
namespace {

std::string_view device_type(std::string_view device) { return device.substr(0, device.find(':')); }

// Quotes and backslashes escaped, so that no text looks like the end of another.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char byte : text) {
    if (byte == '\'' || byte == '\\') result += '\\';
    result += byte;
  }
  return result + "'";
}

class SignatureWriter {
 public:
  SignatureWriter(const Graph& graph, const Op& op)
      : graph_(graph), op_(op), device_(device_type(device_of(graph, op))) {}

  std::string write_with_results() {
    auto text = write();
    const auto inputs = seen_;
    std::size_t results = 0;
    for (const ValueId id : graph_.outputs_of(op_)) {
      text += results == 0 ? " -> " : ", ";
      text += id == kNone ? "none" : tensor(id, fmt::format("result[{}]", results)) + place(id, inputs);
      ++results;
    }
    return text;
  }

  std::string write() {
    const auto& target = graph_.targets[op_.target];
    const auto overload = graph_.text(target.overload);
    std::vector<std::string> arguments;
    for (const auto& given : graph_.arguments_of(op_))
      arguments.push_back(fmt::format("{}: {}", graph_.text(given.name), argument(given)));
    return fmt::format("{}{}{}({}) on {}", graph_.text(target.name), overload.empty() ? "" : ".", overload,
                       fmt::join(arguments, ", "), device_);
  }

 private:
  struct Seen {
    ValueId value;
    std::string name;
  };

  std::string argument(const Argument& given) {
    switch (given.kind) {
      case ArgumentKind::kNone:
        return "none";
      case ArgumentKind::kTensor:
        return tensor(static_cast<ValueId>(given.integer), graph_.text(given.name));
      case ArgumentKind::kTensorList:
        return tensors(given);
      case ArgumentKind::kInt:
        return fmt::format("{}", given.integer);
      case ArgumentKind::kBool:
        return given.integer != 0 ? "true" : "false";
      case ArgumentKind::kFloat:
        return real(given.real);
      case ArgumentKind::kString:
        return quoted(graph_.text(static_cast<StringId>(given.integer)));
      case ArgumentKind::kDType:
        return std::string(name(static_cast<DType>(given.integer)));
      case ArgumentKind::kIntList:
        return fmt::format("[{}]", fmt::join(graph_.ints_in(given), ","));
      case ArgumentKind::kBoolList:
        return list(graph_.ints_in(given), [](std::int64_t item) { return item != 0 ? "true" : "false"; });
      case ArgumentKind::kFloatList:
        return list(graph_.reals_in(given), real);
    }
    return {};
  }

  // With a point or an exponent, so that it does not read as an integer.
  static std::string real(double number) {
    auto text = fmt::format("{}", number);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
  }

  template <class Items, class Text>
  static std::string list(const Items& items, Text text) {
    std::vector<std::string> texts;
    for (const auto item : items) texts.emplace_back(text(item));
    return fmt::format("[{}]", fmt::join(texts, ","));
  }

  // Whose memory a result lies in.
  std::string place(ValueId id, std::span<const Seen> inputs) const {
    const auto storage = graph_.values[id].storage;
    for (const Seen& input : inputs)
      if (input.value != id && storage != kNone && graph_.values[input.value].storage == storage)
        return " in " + input.name;
    return {};
  }

  std::string tensors(const Argument& given) {
    std::vector<std::string> items;
    for (const ValueId id : graph_.values_in(given))
      items.push_back(id == kNone ? "none"
                                  : tensor(id, fmt::format("{}[{}]", graph_.text(given.name), items.size())));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }

  std::string tensor(ValueId id, std::string_view as) {
    const auto before = std::ranges::find(seen_, id, &Seen::value);
    if (before != seen_.end()) return "same as " + before->name;
    seen_.push_back({id, std::string(as)});
    const auto& value = graph_.values[id];
    const auto shape = graph_.shape(value);
    const auto strides = graph_.strides(value);
    auto text = fmt::format("{}{}[{}]", is_lasting(value.kind) ? "weight " : "", name(value.dtype),
                            fmt::join(shape, ","));
    if (const SparseForm* form = graph_.sparse_form(value))
      text += fmt::format(" {} of {}", graph_.text(form->layout), form->stored);
    else if (strides.size() != shape.size())
      text += " not strided";
    else if (!std::ranges::equal(strides, contiguous_strides(shape)))
      text += fmt::format(" strides [{}]", fmt::join(strides, ","));
    if (const StoredForm* form = graph_.stored_form(value))
      text += fmt::format(" as {} in {} bytes", graph_.text(form->scheme), form->bytes);
    if (const auto off = misaligned_bytes(value); off != 0) text += fmt::format(" offset {}", off);
    if (const auto where = device_type(graph_.text(value.device)); where != device_)
      text += fmt::format(" on {}", where);
    return text;
  }

  const Graph& graph_;
  const Op& op_;
  const std::string_view device_;
  std::vector<Seen> seen_;
};

}  // namespace

std::string signature_of(const Graph& graph, const Op& op) { return SignatureWriter(graph, op).write(); }

std::string call_text(const Graph& graph, const Op& op) {
  return SignatureWriter(graph, op).write_with_results();
}

std::string signature_hash(std::string_view signature) { return Hasher().add(signature).hex(); }

std::string_view device_of(const Graph& graph, const Op& op) {
  std::string_view found = "cpu";
  const auto look = [&](ValueId id) {
    const auto device = graph.text(graph.values[id].device);
    if (device_type(found) == "cpu" && !device.empty()) found = device;
  };
  each_read(graph, op, look);
  for (const auto id : graph.outputs_of(op)) look(id);
  return found;
}

std::int64_t misaligned_bytes(const Value& value) {
  const auto bytes = value.offset % kAlignment * static_cast<std::int64_t>(element_bytes(value.dtype));
  return bytes % kAlignment;
}

}  // namespace opscope
