// The model flags on the command line, from the table of capture fields.
#include "cli/flags/model.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "graph/part.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr const char* kPartFlag = "--graph-part";

[[noreturn]] void fail_no_part(const Graph& graph, std::int64_t number) {
  const std::size_t count = graph.parts.size();
  const std::string& tracer = graph.capture.tracer;
  if (count == 0)
    throw Error("there are no graphs to choose from: opscope's own capture is one graph", kPartFlag,
                "--tracer dynamo shows where PyTorch would split it");
  throw Error("no graph " + std::to_string(number) + ": " + tracer + " made " +
                  (count == 1 ? "1" : std::to_string(count)),
              kPartFlag, count == 1 ? "the model is one graph" : "choose 1 to " + std::to_string(count));
}

void add_field(CLI::App& app, const CaptureField& field, WrittenRequest& written) {
  const std::string flag(field.flag), help(field.help), type(field.type);
  const auto set = [&written, &field](const std::string& text) { written.set(field.key, text); };
  if (field.is_list())
    add_values(app, flag, written.texts[std::string(field.key)], type, help);
  else
    add_setter(app, flag, set, type, help);
}

// Also where it is empty: that is no model, and not the default.
void add_model(CLI::App& app, const std::string& name, std::optional<std::string>& model,
               const std::string& help) {
  add_setter(
      app, name, [&model](const std::string& text) { model = text; }, "MODEL", help);
}

}  // namespace

void add_model_flags(CLI::App& app, WrittenRequest& written) {
  add_model(app, "MODEL", written.positional,
            "A name from `opscope list` (a prefix torchvision:, timm:, hf: or yolo: picks the library), "
            "a Hugging Face id or folder, a .pt2, .onnx or TorchScript file, file.py:function, "
            "package.module:attribute, or a saved capture");
  add_model(app, "--model", written.model, "The model, given as a flag");
  add_capture_flags(app, written);
}

void add_capture_flags(CLI::App& app, WrittenRequest& written) {
  for (const CaptureField& field : capture_fields()) add_field(app, field, written);
  add_switch(app, "--no-cache", written.no_cache, "Do not read or write the cache");
}

void settle_positional(WrittenRequest& written, std::string& second) {
  if (!second.empty() || !written.model) return;
  second = written.positional.value_or("");
  written.positional.reset();
}

void add_graph_part_flag(CLI::App& app, std::string& part) {
  add_value(app, kPartFlag, part, "N", "Show only graph N, if the tracer made several graphs");
}

AskedGraph::AskedGraph(const ModelCommandFlags& flags, std::vector<std::string>& notes)
    : request_(request_from(flags.model, &notes)), talk_(flags.talk), notes_(notes) {
  if (!flags.graph_part.empty()) part_ = parse_integer(kPartFlag, flags.graph_part, 1, "1");
}

Graph AskedGraph::load() const {
  Talk talk(talk_);
  return part_of(load_model(request_, talk));
}

Graph AskedGraph::part_of(Graph graph) const {
  if (part_ == 0) return graph;
  const std::size_t count = graph.parts.size();
  if (static_cast<std::size_t>(part_) > count) fail_no_part(graph, part_);
  const auto index = static_cast<std::size_t>(part_ - 1);
  notes_.push_back("this is graph " + std::to_string(part_) + " of the " + std::to_string(count) + " that " +
                   graph.capture.tracer + " made: " + function_text(graph.parts[index].name));
  return opscope::part_of(graph, static_cast<PartId>(index));
}

}  // namespace opscope
