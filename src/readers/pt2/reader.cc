// Walks the program in its order: modules, what goes in, the nodes, what comes out.
#include "readers/pt2/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "ops/op_rule.h"
#include "readers/capture/results.h"
#include "readers/pt2/arguments.h"

namespace opscope {
namespace {

// "torch.ops.aten.add.Tensor" -> aten::add, Tensor. What is not torch.ops' keeps its name.
std::pair<std::string, std::string> parse_target(std::string_view target) {
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

constexpr std::int64_t kUnbounded = std::int64_t{1} << 60;  // a range up to there or beyond has no end

class Pt2Reader {
 public:
  Pt2Reader(const ZipArchive& archive, const std::string& where, std::string_view model, const Dims& dims)
      : archive_(archive),
        source_{where, "the file is damaged; export the model again"},
        symbols_(dims),
        out_(model) {}

  Graph run() {
    const auto* member = find_exported_program(archive_);
    if (member == nullptr) throw Error("there is no exported program in this archive", source_.where);
    const dom::Document document(archive_.read(*member), source_, "an exported program");
    const auto program = document.root();
    const auto module = program.at("graph_module");
    about(program);
    read_ranges(program);
    read_modules(module);
    Pt2Frame frame(module.at("graph"), symbols_);
    const auto signature = module.at("signature");
    read_weights();
    read_inputs(frame, signature);
    read_nodes(frame);
    const auto outputs = read_outputs(frame, signature);
    symbols_.check(source_.where);
    return out_.finish(outputs, source_.where);
  }

 private:
  void about(dom::Item program) {
    const auto version = program.find("torch_version");
    std::string torch(version ? version->text() : "");
    out_.graph.capture.torch = torch;
    if (const auto plus = torch.find('+'); plus != std::string::npos) torch.resize(plus);
    out_.graph.capture.source = "torch.export " + (torch.empty() ? std::string("") : torch + " ") + "file";
  }

  void read_ranges(dom::Item program) {
    const auto ranges = program.find("range_constraints");
    if (!ranges) return;
    for (const auto& [symbol, range] : ranges->fields()) {
      if (symbol.starts_with('u')) symbols_.depends_on_data(symbol);
      const auto least = range.find("min_val"), most = range.find("max_val");
      if (least && most && least->is_integer() && most->is_integer() && most->integer() < kUnbounded)
        symbols_.describe(symbol, fmt::format("{} to {}", least->integer(), most->integer()));
    }
  }

  void read_modules(dom::Item module) {
    const auto calls = module.find("module_call_graph");
    if (!calls) return;
    for (const auto call : calls->items()) {
      const auto path = call.text("fqn");
      out_.module(path.substr(0, path.find('@')));
    }
  }

  // Which weights are one tensor under two names: both point to the same member of the archive.
  void read_weights() {
    const auto* member = archive_.find_ending("_weights_config.json");
    if (member == nullptr) return note_unread_weights();
    weights_.emplace(archive_.read(*member), source_, "a list of weights");
    const auto config = weights_->root().find("config");
    if (!config) return;
    for (const auto& [name, payload] : config->fields())
      if (const auto path = payload.find("path_name"); path && path->is_text())
        weight_files_.emplace(name, path->text());
  }

  void note_unread_weights() {
    if (archive_.find_ending("weights/model.pt"))
      out_.note("assumption", "", "weights in a pickle are not read; those with two names are counted twice");
  }

  // --- What goes in
  void read_inputs(Pt2Frame& frame, dom::Item signature) {
    for (const auto spec : signature.items("input_specs")) {
      const auto [kind, item] = spec.tagged();
      if (kind == "parameter" || kind == "buffer")
        read_owned(frame, item, kind == "parameter");
      else if (kind == "tensor_constant")
        read_constant(frame, item.at("arg").text("name"));
      else if (kind == "user_input")
        read_input(frame, item.at("arg"));
    }
  }

  void read_owned(Pt2Frame& frame, dom::Item item, bool is_parameter) {
    const auto name = item.at("arg").text("name");
    const auto path = item.text(is_parameter ? "parameter_name" : "buffer_name");
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

  void read_input(Pt2Frame& frame, dom::Item argument) {
    const auto [tag, item] = argument.tagged();
    if (tag == "as_tensor") {
      const auto name = item.text("name");
      frame.describe_dims(name);
      frame.make(name, out_.input(frame.spec(name), name));
    }
  }

  // --- The nodes
  void read_nodes(Pt2Frame& frame) {
    const auto outer = out_.scope();
    for (const auto node : frame.graph().items("nodes")) {
      out_.return_to(outer);
      enter_modules(node);
      const auto [name, overload] = parse_target(node.text("target"));
      if (!name.starts_with("higher_order::") || !read_higher_order(frame, node, name))
        add_op(frame, node, name, overload);
    }
    out_.return_to(outer);
  }

  // "L__self__,,net.Net;L__self___fc@1,fc,torch.nn.modules.linear.Linear"
  void enter_modules(dom::Item node) {
    const auto metadata = node.find("metadata");
    const auto field = metadata ? metadata->find("nn_module_stack") : std::nullopt;
    if (!field) return;
    stack_.clear();
    for (const auto entry : split_by(field->text(), ';')) add_call(entry);
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

  // `left_out`: the kind of argument that is not the op's.
  void add_op(Pt2Frame& frame, dom::Item node, const std::string& name, const std::string& overload,
              std::string_view left_out = {}) {
    arguments_.clear();
    for (const auto input : node.items("inputs")) {
      const auto item = input.at("arg");
      if (left_out.empty() || item.tagged().tag != left_out)
        arguments_.push_back(pt2_argument(out_, frame, input.text("name"), item));
    }
    names_.clear();
    for (const auto output : node.items("outputs")) collect_names(output, names_);
    std::erase(names_, std::string_view{});
    if (names_.empty() && is_question(name)) return;
    // Without tensors on either side it is arithmetic on sizes.
    if (names_.empty() && !name.starts_with("higher_order::") && !reads_tensors()) return;
    std::vector<ValueId> outputs;
    symbols_.used_data = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      outputs.push_back(result_of(out_, name, frame.spec(names_[i]), base_of(i), drops_or_copies()));
      frame.make(names_[i], outputs.back());
    }
    out_.op(name, overload, arguments_, outputs);
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

  // A dropout's "train" or a cast's "copy" is true: the op will not return its input.
  bool drops_or_copies() const {
    return std::ranges::any_of(arguments_, [&](const Argument& argument) {
      const auto name = out_.graph.text(argument.name);
      return argument.kind == ArgumentKind::kBool && argument.integer != 0 &&
             (name == "train" || name == "copy");
    });
  }

  // The tensor whose memory output i may share: the first argument, or the i-th of a list.
  ValueId base_of(std::size_t i) const {
    for (const auto& argument : arguments_) {
      if (argument.kind == ArgumentKind::kTensor) return static_cast<ValueId>(argument.integer);
      if (argument.kind != ArgumentKind::kTensorList) continue;
      const auto list = out_.graph.values_in(argument);
      return i < list.size() ? list[i] : kNone;
    }
    return kNone;
  }

  // --- Graphs in graphs
  bool read_higher_order(Pt2Frame& frame, dom::Item node, const std::string& name) {
    std::vector<dom::Item> graphs, operands;
    std::string_view target;
    for (const auto input : node.items("inputs")) {
      const auto item = input.at("arg");
      const auto [tag, value] = item.tagged();
      if (tag == "as_graph")
        graphs.push_back(value.at("graph"));
      else if (tag == "as_operator")
        target = value.text();
      else if (!graphs.empty() || !target.empty())
        operands.push_back(item);
    }
    if (!target.empty() && graphs.empty()) {  // auto_functionalized(torch.ops.mylib.op.default, ...)
      const auto [inner, overload] = parse_target(target);
      add_op(frame, node, inner, overload, "as_operator");
      return true;
    }
    const bool wraps = graphs.size() == 1 && std::ranges::find(kWrappers, name) != std::end(kWrappers);
    if (wraps) return run_inside(frame, node, graphs[0], operands);
    if (name == "higher_order::cond" && graphs.size() == 2) return run_branch(frame, node, graphs, operands);
    return false;
  }

  bool run_branch(Pt2Frame& frame, dom::Item node, std::span<const dom::Item> graphs,
                  std::span<const dom::Item> operands) {
    const auto size = [&](dom::Item graph) { return graph.items("nodes").size(); };
    const bool second = size(graphs[1]) > size(graphs[0]);
    const std::size_t before = out_.graph.ops.size();
    if (!run_inside(frame, node, graphs[second ? 1 : 0], operands)) return false;
    for (std::size_t op = before; op < out_.graph.ops.size(); ++op) out_.graph.ops[op].estimated = true;
    out_.note("assumption", "higher_order::cond",
              fmt::format("which branch runs depends on the data; the {} one, with more ops, was taken",
                          second ? "second" : "first"));
    return true;
  }

  // False, with nothing done, where the operands are not what the graph takes.
  bool run_inside(Pt2Frame& frame, dom::Item node, dom::Item graph, std::span<const dom::Item> operands) {
    std::vector<dom::Item> given;
    for (const auto item : operands) flatten(item, given);
    const auto expected = graph.at("inputs").all([](dom::Item input) { return input; });
    if (given.size() < expected.size()) return false;
    // Names of subgraphs and the like come before what the graph is called with.
    const auto from = given.end() - static_cast<std::ptrdiff_t>(expected.size());
    Pt2Frame inner(graph, symbols_);
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!pass(frame, from[static_cast<std::ptrdiff_t>(i)], inner, expected[i])) return false;
    read_nodes(inner);
    return take_results(frame, node, inner);
  }

  void flatten(dom::Item item, std::vector<dom::Item>& into) const {
    const auto [tag, value] = item.tagged();
    if (tag != "as_tensors" && tag != "as_sym_ints") return into.push_back(item);
    for (const auto one : value.items()) into.push_back(one);
  }

  bool pass(Pt2Frame& frame, dom::Item given, Pt2Frame& inner, dom::Item expected) {
    const auto to = expected.tagged();
    if (to.tag == "as_tensor") {
      const auto name = tensor_name(given);
      if (name.empty() || !frame.has_tensor(name)) return false;
      inner.make(to.item.text("name"), frame.tensor(name));
    } else if (to.tag == "as_sym_int") {
      const auto number = sym_value(frame, given.find("as_sym_int").value_or(given));
      const auto name = to.item.find("as_name");
      if (number && name) inner.set_integer(name->text(), *number);
    }
    return true;
  }

  bool take_results(Pt2Frame& frame, dom::Item node, const Pt2Frame& inner) {
    std::vector<std::string_view> made, wanted;
    for (const auto output : inner.graph().items("outputs")) collect_names(output, made);
    for (const auto output : node.items("outputs")) collect_names(output, wanted);
    if (made.size() != wanted.size()) source_.fail("a subgraph returns another number of values than its op");
    for (std::size_t i = 0; i < made.size(); ++i)
      if (!made[i].empty() && !wanted[i].empty()) frame.make(wanted[i], inner.tensor(made[i]));
    return true;
  }

  // --- What comes out
  std::vector<ValueId> read_outputs(const Pt2Frame& frame, dom::Item signature) {
    std::vector<ValueId> outputs;
    for (const auto spec : signature.items("output_specs")) {
      const auto [kind, item] = spec.tagged();
      if (kind != "user_output" && kind != "loss_output") continue;
      const auto name = tensor_name(item.at("arg"));
      if (name.empty()) continue;
      const auto id = frame.tensor(name);
      outputs.push_back(id);
      if (out_.graph.values[id].name == 0) out_.name(id, "output");
    }
    return outputs;
  }

  const ZipArchive& archive_;
  const dom::Source source_;
  Symbols symbols_;
  GraphAssembler out_;
  std::optional<dom::Document> weights_;
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
  const auto found = std::ranges::find_if(members, is_program, &ZipMember::name);
  return found == members.end() ? nullptr : &*found;
}

Graph read_pt2(const ZipArchive& archive, const std::string& where, std::string_view model,
               const Dims& dims) {
  return Pt2Reader(archive, where, model, dims).run();
}

}  // namespace opscope
