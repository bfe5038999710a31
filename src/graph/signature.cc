#include "graph/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "graph/reads.h"

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
      : graph_(graph), op_(op), device_(device_type_of(graph, op)) {}

  std::string write() {
    const auto& target = graph_.targets[op_.target];
    text_ = graph_.text(target.name);
    if (const auto overload = graph_.text(target.overload); !overload.empty())
      text_ += fmt::format(".{}", overload);
    text_ += '(';
    bool first = true;
    for (const auto& given : graph_.arguments_of(op_)) {
      text_ += fmt::format("{}{}: ", first ? "" : ", ", graph_.text(given.name));
      argument(given);
      first = false;
    }
    return text_ + fmt::format(") on {}", device_);
  }

 private:
  void argument(const Argument& given) {
    switch (given.kind) {
      case ArgumentKind::kNone:
        text_ += "none";
        return;
      case ArgumentKind::kTensor:
        return tensor(static_cast<ValueId>(given.integer), graph_.text(given.name));
      case ArgumentKind::kTensorList:
        return tensors(given);
      case ArgumentKind::kInt:
        text_ += fmt::format("{}", given.integer);
        return;
      case ArgumentKind::kBool:
        text_ += given.integer != 0 ? "true" : "false";
        return;
      case ArgumentKind::kFloat:
        text_ += fmt::format("{}", given.real);
        return;
      case ArgumentKind::kString:
        text_ += quoted(graph_.text(static_cast<StringId>(given.integer)));
        return;
      case ArgumentKind::kDType:
        text_ += name(static_cast<DType>(given.integer));
        return;
      case ArgumentKind::kIntList:
      case ArgumentKind::kBoolList:
        text_ += fmt::format("[{}]", fmt::join(graph_.ints_in(given), ","));
        return;
      case ArgumentKind::kFloatList:
        text_ += fmt::format("[{}]", fmt::join(graph_.reals_in(given), ","));
        return;
    }
  }

  void tensors(const Argument& given) {
    text_ += '[';
    const auto ids = graph_.values_in(given);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i > 0) text_ += ", ";
      if (ids[i] == kNone)
        text_ += "none";
      else
        tensor(ids[i], fmt::format("{}[{}]", graph_.text(given.name), i));
    }
    text_ += ']';
  }

  void tensor(ValueId id, std::string_view as) {
    const auto before = std::ranges::find(seen_, id, &Seen::value);
    if (before != seen_.end()) {
      text_ += "same as " + before->name;
      return;
    }
    seen_.push_back({id, std::string(as)});
    const auto& value = graph_.values[id];
    const auto shape = graph_.shape(value);
    const auto strides = graph_.strides(value);
    text_ += fmt::format("{}{}[{}]", is_lasting(value.kind) ? "weight " : "", name(value.dtype),
                         fmt::join(shape, ","));
    if (strides.size() != shape.size())
      text_ += " not strided";
    else if (!std::ranges::equal(strides, contiguous_strides(shape)))
      text_ += fmt::format(" strides [{}]", fmt::join(strides, ","));
    if (const auto off = misaligned_bytes(value); off != 0) text_ += fmt::format(" offset {}", off);
    if (const auto where = device_type(graph_.text(value.device)); where != device_)
      text_ += fmt::format(" on {}", where);
  }

  struct Seen {
    ValueId value;
    std::string name;
  };
  const Graph& graph_;
  const Op& op_;
  const std::string_view device_;
  std::vector<Seen> seen_;
  std::string text_;
};

}  // namespace

std::string signature_of(const Graph& graph, const Op& op) { return SignatureWriter(graph, op).write(); }

std::string signature_hash(std::string_view signature) { return Hasher().add(signature).hex(); }

std::string_view device_type_of(const Graph& graph, const Op& op) {
  std::string_view found = "cpu";
  const auto look = [&](ValueId id) {
    const auto type = device_type(graph.text(graph.values[id].device));
    if (found == "cpu" && !type.empty()) found = type;
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
