// Reads what signature.cc writes.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/signature.h"

namespace opscope {
namespace {

class CallReader {
 public:
  CallReader(GraphAssembler& out, std::string_view text) : out_(out), whole_(text), rest_(text) {}

  void read() {
    const auto name = until("(");
    const auto space = name.find("::");
    const auto dot = space == std::string_view::npos ? space : name.find('.', space);
    const auto overload = dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
    find_device();
    std::vector<Argument> arguments;
    while (!take(")")) {
      const auto argument_name = until(": ");
      arguments.push_back(argument(argument_name));
      take(", ");
    }
    need(" on " + std::string(device_));
    std::vector<ValueId> results;
    if (take(" -> ")) do {
        const auto result = fmt::format("result[{}]", results.size());
        results.push_back(take("none") ? kNone : tensor(result, ValueKind::kActivation));
      } while (take(", "));
    if (!rest_.empty()) fail();
    out_.op(name.substr(0, dot), overload, arguments, results);
  }

 private:
  [[noreturn]] void fail() const {
    throw Error("not the text of a call: '" + std::string(whole_) + "'", "",
                "it cannot be read from '" + std::string(rest_.substr(0, 40)) + "'");
  }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void need(std::string_view text) {
    if (!take(text)) fail();
  }
  std::string_view until(std::string_view end) {
    const auto at = rest_.find(end);
    if (at == std::string_view::npos) fail();
    const auto before = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    return before;
  }
  std::string_view word() {
    const auto end = rest_.find_first_of(" ,[])(");
    const auto found = rest_.substr(0, end);
    rest_.remove_prefix(found.size());
    return found;
  }

  // The device is told last, and tensors on it do not say theirs.
  void find_device() {
    const auto at = rest_.rfind(") on ");
    if (at == std::string_view::npos) fail();
    device_ = rest_.substr(at + 5, std::min(rest_.find(" -> ", at), rest_.size()) - at - 5);
  }
  static std::string place(std::string_view device) {
    return device == "cpu" || device.find(':') != std::string_view::npos ? std::string(device)
                                                                         : std::string(device) + ":0";
  }

  Argument argument(std::string_view name) {
    if (take("[")) return list(name);
    if (take("'")) return out_.text(name, quoted());
    if (is_tensor()) return out_.tensor(name, tensor(name, ValueKind::kConstant));
    const auto text = word();
    if (text == "none") return out_.none(name);
    if (text == "true" || text == "false") return out_.boolean(name, text == "true");
    if (const auto integer = number_from<std::int64_t>(text)) return out_.integer(name, *integer);
    if (const auto real = number_from<double>(text)) return out_.real(name, *real);
    if (const auto type = dtype_from_name(text)) return out_.dtype(name, *type);
    fail();
  }

  std::string quoted() {
    std::string text;
    while (!rest_.empty() && rest_.front() != '\'') {
      if (rest_.front() == '\\') rest_.remove_prefix(1);
      if (rest_.empty()) fail();
      text += rest_.front();
      rest_.remove_prefix(1);
    }
    need("'");
    return text;
  }

  bool is_tensor() const {
    if (rest_.starts_with("weight ") || rest_.starts_with("same as ")) return true;
    const auto end = rest_.find_first_of(" ,[])");
    return end != std::string_view::npos && rest_[end] == '[' &&
           dtype_from_name(rest_.substr(0, end)).has_value();
  }

  Argument list(std::string_view name) {
    if (is_tensor() || rest_.starts_with("none")) return tensor_list(name);
    ints whole;
    floats reals;
    bools truths;
    while (!take("]")) {
      const auto item = word();
      if (item == "true" || item == "false")
        truths.push_back(item == "true");
      else if (const auto integer = number_from<std::int64_t>(item))
        whole.push_back(*integer);
      else if (const auto real = number_from<double>(item))
        reals.push_back(*real);
      else
        fail();
      take(",");
    }
    if (!truths.empty()) return out_.list(name, truths);
    if (!reals.empty()) return out_.list(name, std::span<const double>(reals));
    return out_.list(name, std::span<const std::int64_t>(whole));
  }

  Argument tensor_list(std::string_view name) {
    std::vector<ValueId> ids;
    while (!take("]")) {
      ids.push_back(take("none") ? kNone
                                 : tensor(fmt::format("{}[{}]", name, ids.size()), ValueKind::kConstant));
      take(", ");
    }
    return out_.tensors(name, ids);
  }

  ints numbers() {
    ints found;
    need("[");
    while (!take("]")) {
      const auto number = number_from<std::int64_t>(word());
      if (!number) fail();
      found.push_back(*number);
      take(",");
    }
    return found;
  }

  ValueId tensor(std::string_view as, ValueKind kind) {
    if (take("same as ")) return named_before(word_with_index());
    if (take("weight ")) kind = ValueKind::kParameter;
    const auto type = dtype_from_name(word());
    if (!type) fail();
    auto device = place(device_);
    ValueSpec spec{.shape = numbers(), .dtype = *type};
    if (take(" strides ")) spec.strides = numbers();
    if (take(" offset ")) {
      const auto bytes = number_from<std::int64_t>(word());
      if (!bytes) fail();
      spec.offset = *bytes / static_cast<std::int64_t>(element_bytes(*type));
    }
    if (take(" on ")) device = place(word());
    spec.device = device;
    const ValueId base = take(" in ") ? named_before(word_with_index()) : kNone;
    const auto id = out_.value(spec, kind, base);
    named_.emplace(as, id);
    return id;
  }
  // "self", "tensors[3]"
  std::string word_with_index() {
    std::string name(word());
    if (rest_.starts_with("[")) name += std::string(until("]")) + "]";
    return name;
  }
  ValueId named_before(const std::string& name) const {
    const auto found = named_.find(name);
    if (found == named_.end()) fail();
    return found->second;
  }

  GraphAssembler& out_;
  std::string_view whole_, rest_, device_;
  std::map<std::string, ValueId, std::less<>> named_;
};

}  // namespace

Graph graph_of_calls(std::span<const std::string> texts) {
  GraphAssembler out("calls");
  for (const auto& text : texts) CallReader(out, text).read();
  return out.finish({});
}

}  // namespace opscope
