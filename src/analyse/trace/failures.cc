// Finds what a tracer's message is about, and says it in one line: the row that fits, with what the message
// tells of its operator, function or input, and the user's line.
#include "analyse/trace/failures.h"

#include <algorithm>
#include <optional>

namespace opscope {
namespace {

constexpr std::size_t kDetailBytes = 60, kLineBytes = 40;

// One line of text: colours, addresses, control characters and runs of blanks are for no reader.
std::string cleaned(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with("\x1b[")) {
      at = std::min(text.find_first_not_of("0123456789;", at + 2), text.size());
    } else if (text.substr(at).starts_with(" at 0x")) {
      at = std::min(text.find_first_not_of("0123456789abcdef", at + 6), text.size()) - 1;
    } else if (static_cast<unsigned char>(text[at]) <= ' ' || text[at] == '\x7f') {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      out += text[at];
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string clipped(std::string text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  auto end = bytes - 3;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // not within a character
  while (end > 0 && text[end - 1] == ' ') --end;
  return text.erase(end).append("...");
}

std::string_view base_name(std::string_view path) { return path.substr(path.find_last_of("/\\") + 1); }
std::string_view class_name(std::string_view type) { return type.substr(type.rfind('.') + 1); }

std::optional<std::string_view> between(std::string_view text, std::string_view begin, std::string_view end) {
  const auto at = text.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  const auto rest = text.substr(at + begin.size());
  return rest.substr(0, std::min(rest.find(end), rest.find('\n')));
}

// Whose code a file is, the user's first. Python's own, and opscope's that called the tracer, count as
// PyTorch's.
enum class Owner : std::uint8_t { kUser, kLibrary, kPyTorch };

Owner owner_of(std::string_view path) {
  const auto has = [&](std::string_view part) { return path.find(part) != std::string_view::npos; };
  if (has("-packages/torch/") || has("-packages\\torch\\")) return Owner::kPyTorch;
  if (has("/opscope/tracers/") || has("/opscope/engine/") || has("/opscope/_") || has("/opscope/api.py"))
    return Owner::kPyTorch;
  if (has("-packages/") || has("-packages\\")) return Owner::kLibrary;
  return path.empty() || path[0] == '<' || has("/lib/python3") ? Owner::kPyTorch : Owner::kUser;
}

// "/x/model.py", line 42 behind File: the line, or "".
std::string_view line_number(std::string_view after_path) {
  constexpr std::string_view kLine = "\", line ";
  if (!after_path.starts_with(kLine)) return {};
  after_path.remove_prefix(kLine.size());
  return after_path.substr(0, after_path.find_first_not_of("0123456789"));
}

// What the message is about stands before the lines of the model it quotes.
std::string_view without_quoted_code(std::string_view message) {
  return message.substr(
      0, std::min(message.find("\nfrom user code:"), message.find("\nTraceback (most recent call last)")));
}

bool is_better(const FailureRow& row, const FailureRow* best) {
  if (best == nullptr || row.general != best->general) return best == nullptr || best->general;
  return row.find.size() > best->find.size();
}

const FailureRow* find_row(std::string_view tracer, std::string_view text) {
  const FailureRow* best = nullptr;
  for (const auto& row : failure_rows()) {
    if (!row.tracer.empty() && row.tracer != tracer) continue;
    if (is_better(row, best) && text.find(row.find) != std::string_view::npos) best = &row;
  }
  return best;
}

// As users know it: "aten.nonzero.default" as "aten::nonzero", "torch._C.Generator" as "torch.Generator".
std::string public_name(std::string detail) {
  // Dynamo quotes an error within another: what closes it is not part of the text.
  const bool quoted = detail.ends_with("')") || detail.ends_with("\")");
  if (quoted && detail.find('(') == std::string::npos) detail.resize(detail.size() - 2);
  if (detail.ends_with(".default")) detail.resize(detail.size() - 8);
  if (detail.starts_with("torch.ops.")) detail.erase(0, 10);
  if (detail.starts_with("torch._C.")) detail.erase(6, 3);
  for (const std::string_view library : {"aten.", "prims.", "torchvision."})
    if (detail.starts_with(library)) return detail.replace(library.size() - 1, 1, "::");
  return detail;
}

std::string filled(std::string reason, std::string_view text) {
  const auto at = reason.find('{'), bar = reason.find('|'), end = reason.find('}');
  if (at == std::string::npos) return reason;
  const auto found =
      between(text, reason.substr(at + 1, bar - at - 1), reason.substr(bar + 1, end - bar - 1));
  const auto detail = clipped(public_name(cleaned(found.value_or(""))), kDetailBytes);
  return reason.replace(at, end + 1 - at, detail.empty() ? "something" : detail);
}

// Lines that introduce the one that says something.
bool is_introduction(std::string_view line) {
  for (const std::string_view begin : {"Failed to ", "backend='", "- ", "## Exception summary",
                                       "Traceback (most recent call last)", "File \""})
    if (line.starts_with(begin)) return true;
  return line.empty();
}

std::string first_line(std::string_view text) {
  std::string introduction;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = cleaned(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_introduction(line)) return line;
    if (introduction.empty()) introduction = std::move(line);
  }
  return introduction;
}

// Errors of Python that PyTorch's tracers do not raise for what they cannot follow: the model's own.
bool is_models_own(std::string_view type) {
  constexpr std::string_view kTypes[] = {"AssertionError", "AttributeError",   "FileNotFoundError",
                                         "IndexError",     "KeyError",         "NotImplementedError",
                                         "ValueError",     "ZeroDivisionError"};
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

TracerFailure unknown_failure(std::string_view tracer, std::string_view type, std::string_view message) {
  const auto whole = first_line(message);
  std::string_view line = whole;
  // The ONNX exporter writes "<class 'x.Error'>: text" for the error behind its own.
  if (const auto inner = between(line, "<class '", "'>: "); inner && line.starts_with("<class '")) {
    type = class_name(*inner);
    line.remove_prefix(std::min(inner->size() + 12, line.size()));
  }
  if (!is_models_own(type)) {
    const auto said = !line.empty() ? line : !type.empty() ? type : "PyTorch says nothing";
    return {std::string(said), std::string(hint_for(Cure::kUnknown, tracer))};
  }
  // Symbolic values fail checks that tensors pass.
  const bool symbolic = tracer == "fx";
  auto reason = std::string("the model raises ").append(type).append(symbolic ? " for symbolic values" : "");
  if (!line.empty()) reason.append(": ").append(line);
  return {reason, std::string(hint_for(symbolic ? Cure::kShape : Cure::kModel, tracer))};
}

}  // namespace

std::string user_line(std::string_view message) {
  constexpr std::string_view kFile = "File \"";
  auto nearest = Owner::kPyTorch;
  std::string found;
  for (auto at = message.find(kFile); at != std::string_view::npos; at = message.find(kFile, at + 1)) {
    const auto rest = message.substr(at + kFile.size());
    const auto path = rest.substr(0, rest.find('"'));
    const auto line = line_number(rest.substr(path.size()));
    if (line.empty() || path.find('\n') != std::string_view::npos || owner_of(path) > nearest) continue;
    nearest = owner_of(path);
    if (nearest != Owner::kPyTorch) found = cleaned(base_name(path)).append(":").append(line);
  }
  return found;
}

TracerFailure explain_tracer_failure(std::string_view tracer, std::string_view exception_type,
                                     std::string_view message) {
  const auto type = class_name(exception_type);
  const auto text = std::string(type).append(": ").append(without_quoted_code(message)).append("\n");
  const auto* row = find_row(tracer, text);
  auto failure = row == nullptr ? unknown_failure(tracer, type, message)
                                : TracerFailure{filled(std::string(row->reason), text),
                                                std::string(hint_for(row->cure, tracer))};
  auto line = user_line(message);
  line = line.empty() || line.size() > kLineBytes ? "" : ", at " + line;
  failure.reason = clipped(cleaned(failure.reason), kReasonBytes - line.size()) + line;
  return failure;
}

namespace {

using enum Cure;

struct HintRow {
  Cure cure;
  std::string_view tracer;  // "file" for onnx and mlir, "" for those without a row of their own
  std::string_view hint;
};

constexpr HintRow kHints[] = {
    {kUnknown, "dynamo", "try --tracer export, or --tracer static; --verbose shows all that PyTorch says"},
    {kUnknown, "export", "try --tracer dynamo, or --tracer static; --verbose shows all that PyTorch says"},
    {kUnknown, "file", "try --export FILE.pt2; --verbose shows all that PyTorch says"},
    {kUnknown, "",
     "--tracer hybrid takes the first tracer that works; --verbose shows all that PyTorch says"},
    {kBranch, "dynamo",
     "for one graph, write the choice with torch.where or torch.cond; --tracer static follows it as it is"},
    {kBranch, "file", "write the choice with torch.where or torch.cond: the file holds one graph"},
    {kBranch, "", "--tracer dynamo splits the graph there; torch.where or torch.cond keep it whole"},
    {kSize, "dynamo",
     "--tracer export keeps the size open; --tracer static bounds it, and --limit nonzero=100 or nms=100 "
     "says how far"},
    {kSize, "file", "the file holds one graph: make the size fixed, as topk does"},
    {kSize, "",
     "--tracer dynamo splits the graph there; --tracer static bounds the size, as far as --limit nonzero=100 "
     "or nms=100 says"},
    {kShape, "dynamo", "try --tracer export, or --tracer static"},
    {kShape, "dynamo_export", "try --tracer export, or --tracer dynamo"},
    {kShape, "fx",
     "--tracer export knows shapes and lengths; --tracer dynamo also takes what depends on values"},
    {kShape, "", "try --tracer dynamo, or --tracer static"},
    {kPython, "dynamo",
     "for one graph, take it out of forward; what runs between the parts is counted all the same"},
    {kPython, "dynamo_export",
     "--tracer export runs it while tracing; --tracer dynamo splits the graph there"},
    {kPython, "", "take it out of forward, or try --tracer dynamo, which splits the graph there"},
    {kRewrite, "dynamo",
     "for one graph, write it with tensor operations; --tracer static follows it as it is"},
    {kRewrite, "dynamo_export", "try --tracer export, or --tracer dynamo, which splits the graph there"},
    {kRewrite, "fx", "try --tracer export, or --tracer dynamo, which splits the graph where it must"},
    {kRewrite, "file", "write it with tensor operations: the file holds one graph"},
    {kRewrite, "", "--tracer dynamo splits the graph there; or write it with tensor operations"},
    {kOuter, "dynamo", "--tracer static follows it; for one graph, take it out of the model"},
    {kOuter, "dynamo_export", "try --tracer export, or --tracer dynamo, which splits the graph there"},
    {kOuter, "fx", "make it a submodule (nn.ModuleList), or try --tracer export"},
    {kOuter, "", "make it a submodule (nn.ModuleList), or try --tracer dynamo"},
    {kResult, "dynamo", "try --tracer static, which takes any inputs and results"},
    {kResult, "fx", "try --tracer dynamo, which takes any inputs and results"},
    {kResult, "file", "take and return tensors, or lists, tuples and dicts of them"},
    {kResult, "",
     "--tracer dynamo takes any inputs and results; export takes tensors in lists, tuples, dicts and "
     "registered dataclasses"},
    {kCustomOp, "", "give it one with torch.library.register_fake, or run it for real: --tracer eager"},
    {kInputs, "",
     "give the inputs that the model takes: --input NAME=1x128:int64, or --input-shape 1 3 224 224"},
    {kModel, "",
     "try --tracer eager: if that fails too, the model or its inputs are at fault, not the tracer"},
    {kGradient, "", "take the backward pass out of forward, or try --tracer static or eager"},
    {kFormat, "", "--export FILE.pt2 keeps it as it is; for this format, write it with other operations"},
    {kInstall, "", "install it, or leave this one out: --tracer hybrid takes what there is"},
    {kMemory, "", "take smaller inputs, or --tracer static, which computes shapes and no values"},
};

// By cure, every cure's general row last: the first row that fits is the one.
constexpr bool in_order() {
  for (std::size_t i = 1; i < std::size(kHints); ++i) {
    const int next = static_cast<int>(kHints[i].cure) - static_cast<int>(kHints[i - 1].cure);
    if (next != (kHints[i - 1].tracer.empty() ? 1 : 0)) return false;
  }
  return kHints[0].cure == kUnknown && std::end(kHints)[-1].cure == kMemory;
}
static_assert(in_order());

}  // namespace

std::string_view hint_for(Cure cure, std::string_view tracer) {
  if (tracer == "onnx" || tracer == "mlir") tracer = "file";
  for (const auto& row : kHints)
    if (row.cure == cure && (row.tracer == tracer || row.tracer.empty())) return row.hint;
  return kHints[0].hint;
}

}  // namespace opscope
