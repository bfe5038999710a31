// Walks the program in its order: modules, what goes in, the nodes, what comes out.
#include "readers/pt2/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "ops/op_rule.h"
#include "readers/capture/aliasing.h"
#include "readers/pt2/arguments.h"
#include "readers/pt2/values.h"

namespace opscope {
namespace {

struct TargetName {
  std::string name, overload;
};

// "torch.ops.aten.add.Tensor" -> aten::add, Tensor. What is not torch.ops' keeps its name.
TargetName parse_target(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  if (!target.starts_with(kOps)) return {std::string(target), ""};
  target.remove_prefix(kOps.size());
  const auto dot = target.find('.');
  if (dot == std::string_view::npos) return {std::string(target), ""};
  auto name = target.substr(dot + 1);
  std::string_view overload;
  if (const auto second = name.find('.'); second != std::string_view::npos) {
    overload = name.substr(second + 1);
    name = name.substr(0, second);
  }
  if (overload == "default") overload = {};
  if (name == "lift_fresh_copy")
    name = "lift_fresh";  // as the model called it, before export made it functional
  return {std::string(target.substr(0, dot)).append("::").append(name), std::string(overload)};
}

// Higher-order ops that run one graph once, on the arguments behind it.
constexpr std::string_view kWrappers[] = {
    "higher_order::hints_wrapper",
    "higher_order::invoke_subgraph",
    "higher_order::strict_mode",
    "higher_order::tag_activation_checkpoint",
    "higher_order::wrap",
    "higher_order::wrap_activation_checkpoint",
    "higher_order::wrap_with_autocast",
    "higher_order::wrap_with_set_grad_enabled",
};

class Pt2Reader {
 public:
  Pt2Reader(const ZipArchive& archive, const std::string& where, std::string_view model, const Dims& dims)
      : archive_(archive), where_(where), symbols_(dims), out_(model) {}

  Graph run() {
    const auto* member = find_exported_program(archive_);
    if (member == nullptr) throw Error("there is no exported program in this archive", where_);
    const auto program = parse(program_parser_, archive_.read(*member), program_text_);
    const auto module = dom::need(program, "graph_module", where_);
    about(program);
    read_ranges(program);
    read_modules(module);
    Pt2Frame frame(dom::need(module, "graph", where_), symbols_, where_);
    const auto signature = dom::need(module, "signature", where_);
    read_weights();
    read_inputs(frame, signature);
    read_nodes(frame);
    const auto outputs = read_outputs(frame, signature);
    symbols_.check(where_);
    return out_.finish(outputs, where_);
  }

 private:
  dom::element parse(simdjson::dom::parser& parser, std::string bytes, simdjson::padded_string& text) {
    text = simdjson::padded_string(bytes);
    bytes = {};
    if (parser.allocate(std::max<std::size_t>(text.size(), 64), dom::kMostDepth))
      throw Error("not enough memory to read the file", where_);
    dom::element root;
    if (const auto code = parser.parse(text).get(root)) {
      if (code == simdjson::DEPTH_ERROR) dom::fail(where_, "the graph is nested too deeply");
      dom::fail(where_, std::string("the graph's JSON is not valid: ") + simdjson::error_message(code));
    }
    return root;
  }

  void about(dom::element program) {
    const auto version = dom::field(program, "torch_version");
    std::string torch(version ? dom::text(*version, where_) : "");
    out_.graph.capture.torch = torch;
    if (const auto plus = torch.find('+'); plus != std::string::npos) torch.resize(plus);
    out_.graph.capture.source = "torch.export " + (torch.empty() ? std::string("") : torch + " ") + "file";
  }

  void read_ranges(dom::element program) {
    const auto ranges = dom::field(program, "range_constraints");
    if (!ranges) return;
    for (const auto [symbol, range] : dom::fields(*ranges, where_)) {
      const auto least = dom::field(range, "min_val"), most = dom::field(range, "max_val");
      std::int64_t low = 0, high = 0;
      if (symbol.starts_with('u')) symbols_.depends_on_data(symbol);
      if (least && most && !least->get(low) && !most->get(high) && high < (std::int64_t{1} << 60))
        symbols_.describe(symbol, fmt::format("{} to {}", low, high));
    }
  }

  void read_modules(dom::element module) {
    const auto calls = dom::field(module, "module_call_graph");
    if (!calls) return;
    for (const auto call : dom::list(*calls, where_)) {
      const auto path = dom::text_field(call, "fqn", where_);
      out_.module(path.substr(0, path.find('@')));
    }
  }

  // Which weights are one tensor under two names: both point to the same member of the archive.
  void read_weights() {
    const auto* member = archive_.find_ending("_weights_config.json");
    if (member == nullptr) return;
    const auto root = parse(weights_parser_, archive_.read(*member), weights_text_);
    const auto config = dom::field(root, "config");
    if (!config) return;
    for (const auto [name, payload] : dom::fields(*config, where_))
      if (const auto path = dom::field(payload, "path_name")) {
        std::string_view file;
        if (!path->get(file)) weight_files_.emplace(name, file);
      }
  }

  // --- What goes in
  void read_inputs(Pt2Frame& frame, dom::element signature) {
    for (const auto spec : dom::list_field(signature, "input_specs", where_)) {
      const auto [kind, item] = dom::tagged(spec, where_);
      if (kind == "parameter" || kind == "buffer")
        read_owned(frame, item, kind == "parameter");
      else if (kind == "tensor_constant")
        read_constant(frame, dom::text_field(dom::need(item, "arg", where_), "name", where_));
      else if (kind == "user_input")
        read_input(frame, dom::need(item, "arg", where_));
    }
  }

  void read_owned(Pt2Frame& frame, dom::element item, bool is_parameter) {
    const auto name = dom::text_field(dom::need(item, "arg", where_), "name", where_);
    const auto path = dom::text_field(item, is_parameter ? "parameter_name" : "buffer_name", where_);
    const auto spec = frame.spec(name);
    const auto id = tied(path, spec, is_parameter);
    out_.graph.values[id].trainable = is_parameter && frame.requires_grad(name);
    out_.own(path, id);
    frame.make(name, id);
  }

  // The value of the same tensor under its first name, or a new one.
  ValueId tied(std::string_view path, const ValueSpec& spec, bool is_parameter) {
    const auto kind = is_parameter ? ValueKind::kParameter : ValueKind::kBuffer;
    const auto file = weight_files_.find(path);
    if (file == weight_files_.end()) return out_.value(spec, kind);
    const auto key = fmt::format("{} {} {}", file->second, fmt::join(spec.shape, ","), spec.offset);
    const auto [entry, is_new] = by_file_.try_emplace(key, 0);
    if (is_new) entry->second = out_.value(spec, kind);
    return entry->second;
  }

  void read_constant(Pt2Frame& frame, std::string_view name) {
    frame.make(name, out_.value(frame.spec(name), ValueKind::kConstant));
  }

  void read_input(Pt2Frame& frame, dom::element argument) {
    const auto [tag, item] = dom::tagged(argument, where_);
    if (tag == "as_tensor") {
      const auto name = dom::text_field(item, "name", where_);
      frame.describe_dims(name);
      const auto id = out_.value(frame.spec(name), ValueKind::kInput);
      out_.name(id, name);
      out_.graph.inputs.push_back(id);
      frame.make(name, id);
    }
  }

  // --- The nodes
  void read_nodes(Pt2Frame& frame) {
    const auto outer = out_.scope();
    for (const auto node : dom::list_field(frame.graph(), "nodes", where_)) {
      out_.return_to(outer);
      enter_modules(node);
      read_node(frame, node);
    }
    out_.return_to(outer);
  }

  // "L__self__,,net.Net;L__self___fc@1,fc,torch.nn.modules.linear.Linear"
  void enter_modules(dom::element node) {
    const auto metadata = dom::field(node, "metadata");
    const auto field = metadata ? dom::field(*metadata, "nn_module_stack") : std::nullopt;
    if (!field) return;
    auto text = dom::text(*field, where_);
    stack_.clear();
    while (!text.empty()) {
      const auto end = std::min(text.find(';'), text.size());
      add_call(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (!stack_.empty()) out_.enter(stack_);
    if (is_root_only_) out_.enter({});
  }

  void add_call(std::string_view entry) {
    const auto first = entry.find(','), last = entry.rfind(',');
    is_root_only_ = false;
    if (first == std::string_view::npos || first == last) return;
    ModuleCall call{entry.substr(0, first), entry.substr(first + 1, last - first - 1),
                    entry.substr(last + 1)};
    if (call.key.starts_with("_empty_nn_module_stack")) return;
    constexpr std::string_view kSelf = "L['self']";
    if (call.path.starts_with(kSelf)) call.path.remove_prefix(kSelf.size());
    if (call.path.starts_with('.')) call.path.remove_prefix(1);
    if (const auto at = call.path.find('@'); at != std::string_view::npos)
      call.path = call.path.substr(0, at);
    if (!call.path.empty()) return stack_.push_back(call);
    out_.module("", call.type);
    is_root_only_ = stack_.empty();
  }

  void read_node(Pt2Frame& frame, dom::element node) {
    const auto [name, overload] = parse_target(dom::text_field(node, "target", where_));
    if (name.starts_with("higher_order::") && read_higher_order(frame, node, name)) return;
    arguments_.clear();
    read_.flag = false;
    for (const auto input : dom::list_field(node, "inputs", where_))
      arguments_.push_back(
          read_.argument(frame, dom::text_field(input, "name", where_), dom::need(input, "arg", where_)));
    add_op(frame, node, name, overload);
  }

  void add_op(Pt2Frame& frame, dom::element node, const std::string& name, const std::string& overload) {
    names_.clear();
    for (const auto output : dom::list_field(node, "outputs", where_)) read_.collect_names(output, names_);
    std::erase(names_, std::string_view{});
    if (names_.empty() && is_question(name)) return;
    // Without tensors on either side it is arithmetic on sizes.
    if (names_.empty() && !name.starts_with("higher_order::") && !reads_tensors()) return;
    const auto arguments = arguments_;
    std::vector<ValueId> outputs;
    symbols_.used_data = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      outputs.push_back(make_output(name, frame.spec(names_[i]), arguments, i));
      frame.make(names_[i], outputs.back());
    }
    out_.op(name, overload, arguments, outputs);
    out_.graph.ops.back().bounded = symbols_.used_data;
  }

  static bool is_question(const std::string& name) {
    const auto* rule = find_rule(name);
    return rule != nullptr && rule->category == Category::kMetadata;
  }
  bool reads_tensors() const {
    return std::ranges::any_of(arguments_, [](const Argument& argument) {
      return argument.kind == ArgumentKind::kTensor || argument.kind == ArgumentKind::kTensorList;
    });
  }

  // The tensor whose memory output i may share: the first argument, or the i-th of a list.
  ValueId base_of(std::span<const Argument> arguments, std::size_t i) const {
    for (const auto& argument : arguments) {
      if (argument.kind == ArgumentKind::kTensor) return static_cast<ValueId>(argument.integer);
      if (argument.kind != ArgumentKind::kTensorList) continue;
      const auto list = out_.graph.values_in(argument);
      return i < list.size() ? list[i] : kNone;
    }
    return kNone;
  }

  TensorLayout layout(ValueId id) const {
    const auto& value = out_.graph.values[id];
    return {out_.graph.shape(value), out_.graph.strides(value), value.dtype, value.device};
  }

  ValueId make_output(std::string_view op, const ValueSpec& spec, std::span<const Argument> arguments,
                      std::size_t i) {
    const auto base = base_of(arguments, i);
    if (base == kNone) return out_.value(spec, ValueKind::kActivation);
    const TensorLayout to{spec.shape, spec.strides, spec.dtype, out_.graph.intern(spec.device)};
    if (!shares_memory(op, layout(base), to, read_.flag)) return out_.value(spec, ValueKind::kActivation);
    const auto kind = out_.graph.values[base].kind;
    const bool is_stored = is_weight(kind) || kind == ValueKind::kConstant;
    return out_.value(spec, is_stored ? kind : ValueKind::kActivation, base);
  }

  // --- Graphs in graphs
  bool read_higher_order(Pt2Frame& frame, dom::element node, const std::string& name) {
    std::vector<dom::element> graphs, operands;
    std::string_view target;
    for (const auto input : dom::list_field(node, "inputs", where_)) {
      const auto item = dom::need(input, "arg", where_);
      const auto [tag, value] = dom::tagged(item, where_);
      if (tag == "as_graph")
        graphs.push_back(dom::need(value, "graph", where_));
      else if (tag == "as_operator")
        target = dom::text(value, where_);
      else if (!graphs.empty() || !target.empty())
        operands.push_back(item);
    }
    if (!target.empty() && graphs.empty()) return run_operator(frame, node, target);
    const bool wraps = graphs.size() == 1 && std::ranges::find(kWrappers, name) != std::end(kWrappers);
    if (wraps) return run_inside(frame, node, graphs[0], operands);
    if (name == "higher_order::cond" && graphs.size() == 2) return run_branch(frame, node, graphs, operands);
    return false;
  }

  // auto_functionalized(torch.ops.mylib.op.default, ...): the op itself.
  bool run_operator(Pt2Frame& frame, dom::element node, std::string_view target) {
    const auto [name, overload] = parse_target(target);
    arguments_.clear();
    read_.flag = false;
    for (const auto input : dom::list_field(node, "inputs", where_)) {
      const auto item = dom::need(input, "arg", where_);
      if (dom::tagged(item, where_).tag != "as_operator")
        arguments_.push_back(read_.argument(frame, dom::text_field(input, "name", where_), item));
    }
    add_op(frame, node, name, overload);
    return true;
  }

  bool run_branch(Pt2Frame& frame, dom::element node, std::span<const dom::element> graphs,
                  std::span<const dom::element> operands) {
    const auto size = [&](dom::element graph) { return dom::list_field(graph, "nodes", where_).size(); };
    const bool second = size(graphs[1]) > size(graphs[0]);
    if (!run_inside(frame, node, graphs[second ? 1 : 0], operands)) return false;
    out_.note("assumption", "higher_order::cond",
              fmt::format("which branch runs depends on the data; the {} one, with more ops, was taken",
                          second ? "second" : "first"));
    return true;
  }

  // False, with nothing done, where the operands are not what the graph takes.
  bool run_inside(Pt2Frame& frame, dom::element node, dom::element graph,
                  std::span<const dom::element> operands) {
    std::vector<dom::element> given;
    for (const auto item : operands) flatten(item, given);
    const auto inputs = dom::list_field(graph, "inputs", where_);
    std::vector<dom::element> expected;
    for (const auto input : inputs) expected.push_back(input);
    if (given.size() < expected.size()) return false;
    // Names of subgraphs and the like come before what the graph is called with.
    const auto from = given.end() - static_cast<std::ptrdiff_t>(expected.size());
    Pt2Frame inner(graph, symbols_, where_);
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!pass(frame, from[static_cast<std::ptrdiff_t>(i)], inner, expected[i])) return false;
    read_nodes(inner);
    return take_results(frame, node, inner);
  }

  void flatten(dom::element item, std::vector<dom::element>& into) const {
    const auto [tag, value] = dom::tagged(item, where_);
    if (tag == "as_tensors" || tag == "as_sym_ints") {
      for (const auto one : dom::list(value, where_)) into.push_back(one);
    } else {
      into.push_back(item);
    }
  }

  // {"as_tensor": {"name": x}} and, in lists, {"name": x}.
  std::optional<std::string_view> tensor_name(dom::element item) const {
    const auto inner = dom::field(item, "as_tensor");
    const auto name = dom::field(inner ? *inner : item, "name");
    if (!name) return std::nullopt;
    return dom::text(*name, where_);
  }

  bool pass(Pt2Frame& frame, dom::element given, Pt2Frame& inner, dom::element expected) {
    const auto to = dom::tagged(expected, where_);
    if (to.tag == "as_tensor") {
      const auto name = tensor_name(given);
      if (!name || !frame.has_tensor(*name)) return false;
      inner.make(dom::text_field(to.item, "name", where_), frame.tensor(*name));
    } else if (to.tag == "as_sym_int") {
      const auto outer = dom::field(given, "as_sym_int");
      const auto number = read_.sym_value(frame, outer ? *outer : given);
      const auto name = dom::field(to.item, "as_name");
      if (number && name) inner.set_integer(dom::text(*name, where_), *number);
    }
    return true;
  }

  bool take_results(Pt2Frame& frame, dom::element node, const Pt2Frame& inner) {
    std::vector<std::string_view> made, wanted;
    for (const auto output : dom::list_field(inner.graph(), "outputs", where_))
      read_.collect_names(output, made);
    for (const auto output : dom::list_field(node, "outputs", where_)) read_.collect_names(output, wanted);
    if (made.size() != wanted.size())
      dom::fail(where_, "a subgraph returns another number of values than its op");
    for (std::size_t i = 0; i < made.size(); ++i)
      if (!made[i].empty() && !wanted[i].empty()) frame.make(wanted[i], inner.tensor(made[i]));
    return true;
  }

  // --- What comes out
  std::vector<ValueId> read_outputs(const Pt2Frame& frame, dom::element signature) {
    std::vector<ValueId> outputs;
    for (const auto spec : dom::list_field(signature, "output_specs", where_)) {
      const auto [kind, item] = dom::tagged(spec, where_);
      if (kind != "user_output" && kind != "loss_output") continue;
      const auto name = tensor_name(dom::need(item, "arg", where_));
      if (!name) continue;
      const auto id = frame.tensor(*name);
      outputs.push_back(id);
      if (out_.graph.values[id].name == 0) out_.name(id, "output");
    }
    return outputs;
  }

  const ZipArchive& archive_;
  const std::string& where_;
  Symbols symbols_;
  GraphAssembler out_;
  Pt2Arguments read_{out_, where_};
  simdjson::dom::parser program_parser_, weights_parser_;
  simdjson::padded_string program_text_, weights_text_;
  std::unordered_map<std::string_view, std::string_view> weight_files_;  // by path
  std::unordered_map<std::string, ValueId> by_file_;                     // by member, shape and offset
  std::vector<ModuleCall> stack_;
  bool is_root_only_ = false;
  std::vector<Argument> arguments_;
  std::vector<std::string_view> names_;
};

bool is_program(std::string_view name) {
  return name.ends_with("serialized_exported_program.json") ||
         (name.ends_with(".json") &&
          (name.starts_with("models/") || name.find("/models/") != std::string::npos));
}

}  // namespace

const ZipMember* find_exported_program(const ZipArchive& archive) {
  const auto& members = archive.members();
  const auto found =
      std::ranges::find_if(members, [](const ZipMember& member) { return is_program(member.name); });
  return found == members.end() ? nullptr : &*found;
}

Graph read_pt2(const ZipArchive& archive, const std::string& where, std::string_view model,
               const Dims& dims) {
  return Pt2Reader(archive, where, model, dims).run();
}

}  // namespace opscope
