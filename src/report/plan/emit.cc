// Programs and maps as text. A program calls the operators that the capture saw, in its order.
#include "report/plan/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/choices.h"
#include "report/plan/emit_torch_parts.h"
#include "report/plan/plan.h"

namespace opscope {
namespace {

constexpr auto kForms = choices<PlanForm, PlanForm::kAccelerate>("torch", "accelerate");

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string number_text(double number) {
  if (std::isnan(number)) return "float(\"nan\")";
  if (std::isinf(number)) return number > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::string out;
  append_json_double(out, number);
  return out;
}

std::string dtype_text(DType dtype) { return "torch." + std::string(name(dtype)); }

class TorchProgram {
 public:
  TorchProgram(const Graph& graph, const PlannedGraph& planned)
      : graph_(graph), planned_(planned), stages_(planned.stages), names_(graph.values.size()) {
    for (const Owned& owned : graph.owned) {
      const std::string path(graph.path(graph.modules[owned.module]));
      names_[owned.value].push_back((path.empty() ? "" : path + ".") + std::string(graph.text(owned.name)));
    }
  }

  std::string text() {
    const auto stages = static_cast<std::uint32_t>(stages_.ops.size());
    std::string functions;
    for (std::uint32_t s = 0; s < stages; ++s) functions += "\n" + stage_text(s);
    std::string out = head();
    out.append(std::string_view(kTorchHead).substr(1));
    out += "\n# Sender, receivers, shape, stride, dtype.\nTRANSFERS = [\n";
    for (const StageTransfer& transfer : stages_.transfers) out += "    " + transfer_text(transfer) + ",\n";
    out += "]\n\n# By stage.\nWEIGHTS = [\n";
    for (const auto& weights : weights_) {
      std::vector<std::string> all;
      for (const std::string& weight : weights) all.push_back(quoted(weight));
      out += "    {" + (all.empty() ? "*()" : join(all)) + "},\n";
    }
    out += "]\n\n" + functions + "\n\nSTAGES = [";
    for (std::uint32_t s = 0; s < stages; ++s) out += fmt::format("{}stage_{}", s == 0 ? "" : ", ", s);
    return out + "]\n" + kTorchTail;
  }

 private:
  std::string head() const {
    const std::size_t stages = stages_.ops.size();
    std::string out = fmt::format(
        "\"\"\"{} in {}, as opscope planned it.\n\n"
        "    torch.save({{\"weights\": {{**dict(model.named_parameters()), **dict(model.named_buffers())}},\n"
        "                \"inputs\": {{...}}}}, \"tensors.pt\")\n"
        "    torchrun --nproc-per-node {} THIS.py --tensors tensors.pt --save outputs.pt\n\n"
        "Inputs by name: {}.\n\n",
        planned_.name, plural(stages, "stage"), stages, join(input_names()));
    for (std::size_t s = 0; s < stages; ++s) {
      const PlanPart& part = planned_.answer.plan.parts[s];
      out += fmt::format("stage {}: {}, predicted {} of computing\n", s, device_name(planned_.graph, part),
                         format_time(part.compute_seconds));
    }
    return out + "\"\"\"\n\n";
  }
  std::vector<std::string> input_names() const {
    std::vector<std::string> all;
    for (const ValueId id : graph_.inputs) all.push_back(input_name(id));
    return all;
  }
  std::string input_name(ValueId id) const {
    std::string given(graph_.text(graph_.values[id].name));
    if (!given.empty()) return given;
    const auto at = std::ranges::find(graph_.inputs, id) - graph_.inputs.begin();
    return "input_" + std::to_string(at);
  }

  std::string transfer_text(const StageTransfer& transfer) const {
    const Value& value = graph_.values[transfer.value];
    return fmt::format("({}, [{}], [{}], [{}], {})", transfer.from, join_numbers(wide(transfer.to), ", "),
                       join_numbers(graph_.shape(value), ", "), join_numbers(strides(value), ", "),
                       dtype_text(value.dtype));
  }
  static std::vector<std::int64_t> wide(const std::vector<std::uint32_t>& ids) {
    return {ids.begin(), ids.end()};
  }
  std::vector<std::int64_t> strides(const Value& value) const {
    const auto known = graph_.strides(value);
    if (known.size() == graph_.shape(value).size()) return {known.begin(), known.end()};
    return contiguous_strides(graph_.shape(value));
  }

  // One function: what comes in, the ops in their order, what goes out.
  std::string stage_text(std::uint32_t stage) {
    stage_ = stage, known_.clear(), lines_.clear();
    weights_.emplace_back();
    find_last_uses();
    lines_ = fmt::format("\ndef stage_{}(stage, before):\n", stage);
    for (std::size_t i = 0; i < stages_.transfers.size(); ++i) receive(i);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      if (is_last() && stages_.output_makers[i] == kNone) {
        know(graph_.outputs[i]);
        give_output(i);
      }
    for (const OpId op : stages_.ops[stage]) call(op);
    if (stages_.ops[stage].empty()) lines_ += "    pass\n";
    return lines_;
  }
  bool is_last() const { return stage_ + 1 == stages_.ops.size(); }

  void receive(std::size_t index) {
    const StageTransfer& transfer = stages_.transfers[index];
    if (std::ranges::find(transfer.to, stage_) == transfer.to.end()) return;
    if (!known_.insert(transfer.value).second)
      throw Error("a tensor that is changed in place is sent as it was before and after", planned_.name,
                  "plan it with other devices, or without the change in place");
    lines_ += fmt::format("    v{} = before[{}]\n", transfer.value, index);
    for (std::size_t i = 0; is_last() && i < graph_.outputs.size(); ++i)
      if (graph_.outputs[i] == transfer.value && stages_.output_makers[i] == transfer.maker) give_output(i);
  }
  void give_output(std::size_t i) {
    lines_ += fmt::format("    stage.outputs[{}] = v{}\n", i, graph_.outputs[i]);
  }

  // A weight or an input, when it is first needed.
  void know(ValueId id) {
    if (!known_.insert(id).second) return;
    const Value& value = graph_.values[id];
    if (is_weight(value.kind) && !names_[id].empty()) {
      std::vector<std::string> all;
      for (const std::string& each : names_[id]) all.push_back(quoted(each)), weights_.back().insert(each);
      lines_ += fmt::format("    v{} = stage.weight({})\n", id, join(all));
      return;
    }
    if (std::ranges::find(graph_.inputs, id) == graph_.inputs.end())
      throw Error(
          "the model reads a tensor that is no weight, buffer or input of it: its data is not in the graph",
          planned_.name, "register it as a buffer");
    lines_ += fmt::format("    v{} = stage.input({})\n", id, quoted(input_name(id)));
  }

  void call(OpId op) {
    const Op& record = graph_.ops[op];
    if (record.repeats > 1)
      throw Error("a loop of a file runs an op several times, and only its first run is in the graph",
                  planned_.name);
    each_read(graph_, record, [&](ValueId id) { know(id); });
    const Target& target = graph_.targets[record.target];
    std::string line =
        fmt::format("op({}, {}", quoted(graph_.text(target.name)), quoted(graph_.text(target.overload)));
    for (const Argument& argument : graph_.arguments_of(record))
      line += fmt::format(", {}={}", graph_.text(argument.name), argument_text(argument));
    lines_ += "    r = " + line + ")\n";
    const auto outputs = graph_.outputs_of(record);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != kNone && known_.insert(outputs[i]).second)
        lines_ += fmt::format("    v{} = r[{}]\n", outputs[i], i);
    for (std::size_t i = 0; i < stages_.transfers.size(); ++i)
      if (stages_.transfers[i].maker == op && stages_.transfers[i].from == stage_)
        lines_ += fmt::format("    stage.send({}, v{})\n", i, stages_.transfers[i].value);
    for (std::size_t i = 0; is_last() && i < graph_.outputs.size(); ++i)
      if (stages_.output_makers[i] == op) give_output(i);
    std::vector<std::string> done;
    for (const ValueId id : last_uses_[op]) done.push_back(fmt::format("v{}", id));
    if (!done.empty()) lines_ += "    del " + join(done) + "\n";
  }

  // By op: what nothing behind it in the stage needs. What is there before the run is not the stage's to
  // free.
  void find_last_uses() {
    last_uses_.assign(graph_.ops.size(), {});
    std::vector<OpId> last(graph_.values.size(), kNone);
    for (const OpId op : stages_.ops[stage_]) {
      each_read(graph_, graph_.ops[op], [&](ValueId id) { last[id] = op; });
      for (const ValueId id : graph_.outputs_of(graph_.ops[op]))
        if (id != kNone) last[id] = op;
    }
    for (const StageTransfer& transfer : stages_.transfers)
      if (transfer.from == stage_) last[transfer.value] = std::max(last[transfer.value], transfer.maker);
    for (ValueId id = 0; id < last.size(); ++id) {
      const ValueKind kind = graph_.values[id].kind;
      if (last[id] != kNone && (kind == ValueKind::kActivation || kind == ValueKind::kOutput))
        last_uses_[last[id]].push_back(id);
    }
  }

  std::string argument_text(const Argument& argument) const {
    const auto listed = [](const auto& items, const auto& text) {
      std::vector<std::string> all;
      for (const auto& item : items) all.push_back(text(item));
      return "[" + join(all) + "]";
    };
    switch (argument.kind) {
      case ArgumentKind::kNone:
        return "None";
      case ArgumentKind::kTensor:
        return fmt::format("v{}", argument.integer);
      case ArgumentKind::kTensorList:
        return listed(graph_.values_in(argument),
                      [](ValueId id) { return id == kNone ? std::string("None") : fmt::format("v{}", id); });
      case ArgumentKind::kInt:
        return std::to_string(argument.integer);
      case ArgumentKind::kFloat:
        return number_text(argument.real);
      case ArgumentKind::kBool:
        return argument.integer != 0 ? "True" : "False";
      case ArgumentKind::kString:
        return quoted(graph_.text(static_cast<StringId>(argument.integer)));
      case ArgumentKind::kDType:
        return dtype_text(static_cast<DType>(argument.integer));
      case ArgumentKind::kIntList:
        return listed(graph_.ints_in(argument), [](std::int64_t item) { return std::to_string(item); });
      case ArgumentKind::kFloatList:
        return listed(graph_.reals_in(argument), number_text);
      case ArgumentKind::kBoolList:
        return listed(graph_.ints_in(argument),
                      [](std::int64_t item) { return std::string(item ? "True" : "False"); });
    }
    return "None";
  }

  const Graph& graph_;
  const PlannedGraph& planned_;
  const ModelStages& stages_;
  std::vector<std::vector<std::string>> names_;  // by value
  std::vector<std::set<std::string>> weights_;   // by stage
  std::uint32_t stage_ = 0;
  std::set<ValueId> known_;
  std::vector<std::vector<ValueId>> last_uses_;  // by op
  std::string lines_;
};

std::string device_map_text(const Graph& graph, const PlannedGraph& planned) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  for (const auto& [path, stage] : device_map(graph, planned.stages)) json.field(path, stage);
  json.end_object();
  return out + "\n";
}

}  // namespace

std::string_view name(PlanForm form) { return kForms[form]; }

PlanForm plan_form_from_name(std::string_view text, std::string_view where) {
  return kForms.parse(text, "no form of a plan called", where);
}

std::string emitted(const Graph& graph, const PlannedGraph& planned, PlanForm form) {
  if (planned.stages.ops.empty())
    throw Error("a graph of costs has no program", planned.name, "plan a model");
  return form == PlanForm::kTorch ? TorchProgram(graph, planned).text() : device_map_text(graph, planned);
}

}  // namespace opscope
