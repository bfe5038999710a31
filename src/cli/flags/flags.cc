// The shared flags.
#include "cli/flags/flags.h"

#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"
#include "graph/graph.h"
#include "report/profile/sections.h"

namespace opscope {

CLI::Option* add_value(CLI::App& app, const std::string& flag, std::string& value, const std::string& type,
                       const std::string& help) {
  CLI::Option* option = app.add_option(flag, value, help);
  return type.empty() ? option : option->type_name(type);
}

CLI::Option* add_values(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                        const std::string& type, const std::string& help) {
  return app.add_option(flag, values, help)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name(type);
}

void add_setter(CLI::App& app, const std::string& flag, const std::function<void(const std::string&)>& set,
                const std::string& type, const std::string& help) {
  if (!type.empty()) {
    app.add_option_function<std::string>(flag, set, help)->type_name(type);
    return;
  }
  app.add_flag_callback(
      flag, [set] { set("true"); }, help);
}

void add_switch(CLI::App& app, const std::string& flag, bool& on, const std::string& help) {
  app.add_flag(flag, on, help);
}

void add_talk_flags(CLI::App& app, TalkFlags& flags) {
  add_switch(app, "-q,--quiet", flags.quiet, "No progress and no remarks on stderr");
  add_switch(app, "--debug", flags.debug, "Show Python's own output and tracebacks");
}

std::string format_help(std::string_view more) {
  return "Output format: " + join(format_names(all_formats(Format::kText))).append(more);
}

void add_output_flags(CLI::App& app, OutputFlags& flags, const std::string& formats) {
  add_value(app, "-o,--output", flags.output, "FILE", "Write to a file; the extension decides the format");
  add_value(app, "--format", flags.format, "FORMAT",
            formats.empty() ? "Output format: " + one_of(format_names(all_formats())) : formats);
  add_value(app, "--color", flags.color, "WHEN",
            "Colored output: auto, always or never; auto respects NO_COLOR");
  add_value(app, "--width", flags.width, "N",
            "Width of text in columns. Default: $COLUMNS, the terminal's width, or 100");
}

void add_result_flags(CLI::App& app, CommandFlags& flags, const std::string& formats) {
  add_output_flags(app, flags.output, formats);
  add_talk_flags(app, flags.talk);
}

void add_report_flags(CLI::App& app, CommandFlags& flags, const std::string& verbose,
                      const std::string& formats) {
  add_switch(app, "-v,--verbose", flags.talk.verbose, verbose);
  add_result_flags(app, flags, formats);
}

void add_convention_flag(CLI::App& app, std::string& convention) {
  add_value(app, "--convention", convention, "NAME", "How FLOPs are counted: opscope, macs, torch or fvcore");
}

void add_routing_flag(CLI::App& app, std::string& routing) {
  add_value(app, "--routing", routing, "NAME",
            "Experts of a layer that the tokens reach, so whose weights are read: balanced (the expected "
            "number), worst (as many as possible), or a number");
}

void add_run_flags(CLI::App& app, CostRequest& request, const std::string& mode_help) {
  add_value(app, "--mode", request.mode, "NAME", mode_help);
  add_value(app, "--host", request.host, "SPEED",
            "Speed of the host that calls the ops, in eager mode: 1.5x is half as fast again as the "
            "calibrated one");
}

void add_cost_flags(CLI::App& app, CostRequest& request) {
  add_convention_flag(app, request.convention);
  add_value(
      app, "--ridge", request.ridge, "X",
      "Ridge point in FLOPs per byte: ops below it are memory-bound. Default: that of --hardware, else 10");
  add_value(
      app, "--hardware", request.hardware, "NAME",
      "Device for predicted and roofline times: a name from `opscope devices`, a .toml file of a device or "
      "a calibration, or `this` for this machine. `profile` takes several: h100,l4");
  add_value(app, "--float32", request.float32, "NAME",
            "Precision of float32 products on the device: torch (TF32 for convolutions only, PyTorch's "
            "default), tf32 (wherever possible) or ieee (never)");
  add_run_flags(
      app, request,
      "How it runs there: eager (op by op; default), graph (CUDA graphs: the device alone) or compiled "
      "(each fused subgraph is one kernel)");
  add_routing_flag(app, request.routing);
  add_value(app, "--partition", request.partition, "NAME",
            "How ops are grouped into subgraphs: none (one op each), layer (one leaf module each) or "
            "fused (one fused kernel each; default)");
  add_value(app, "--fast-memory", request.fast_memory, "SIZE",
            "Limit for the working set of a fused kernel, for example 256KiB. Default: no limit");
}

void add_level_flag(CLI::App& app, std::string& level) {
  add_value(app, "--level", level, "LEVEL", "What a node is: module, layer, op or subgraph");
}

void add_table_flags(CLI::App& app, TableFlags& flags, const std::string& sort, const std::string& top_help) {
  flags.sort = sort;
  add_switch(app, "--showshape", flags.show_shapes, "Show output shapes");
  add_value(app, "--depth", flags.depth, "N", "Levels of the module tree. Default: as many as fit a screen");
  add_switch(app, "--no-fold", flags.no_fold, "Show repeated equal blocks one by one");
  add_value(app, "--top", flags.top, "N", top_help);
  add_value(app, "--sort", flags.sort, "KEY", "Sort layers by: " + metric_choices(kLayerNeeds));
}

TextOptions text_options(const TableFlags& flags) {
  TextOptions options;
  options.show_shapes = flags.show_shapes;
  options.fold = !flags.no_fold;
  options.sort = &metric_named(flags.sort, "--sort", kLayerNeeds);
  read_number(options.depth, "--depth", flags.depth, 0);
  read_number(options.top, "--top", flags.top, 0);
  return options;
}

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
  if (request_.device.starts_with("cuda"))
    request_ = on_hardware(std::move(request_), profile_options_by_device(flags.cost).front());
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

void capture_as_on(const std::vector<ProfileOptions>& targets, WrittenRequest& written) {
  const bool gpu = std::ranges::all_of(
      targets, [](const auto& each) { return each.hardware && each.hardware->kind == "gpu"; });
  if (gpu && written.text("device").empty() && !is_graph_file(written.named())) written.set("device", "cuda");
}

}  // namespace opscope
