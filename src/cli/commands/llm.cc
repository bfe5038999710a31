// `opscope llm`: a language model as it is served, on one page.
#include "report/llm/llm.h"

#include <algorithm>

#include "cli/flags/flags.h"

namespace opscope {
namespace {

struct LlmFlags : ModelCommandFlags {
  std::string prompt, generate, reserve;
};

int run_llm(const LlmFlags& flags) {
  TextOptions text;
  WrittenRequest written = flags.model;
  LlmRequest request{.model = {},
                     .prompt = flags.prompt,
                     .generate = flags.generate,
                     .batches = written.text("batch"),
                     .reserve = flags.reserve};
  request.routing = flags.cost.routing;
  written.texts.erase("batch");
  const std::vector<ProfileOptions> devices = profile_options_by_device(flags.cost);
  capture_as_on(devices, written);
  const bool asks_for_cache =
      std::ranges::any_of(written.texts, [](const auto& each) { return each.first.starts_with("kv_"); });
  if (asks_for_cache && written.text("phase").empty()) written.set("phase", "decode");
  request.model = request_from(written, &text.notes);
  if (!flags.cost.hardware.empty()) request.devices = devices;
  request.mode_is_given = !flags.cost.mode.empty();
  const PictureOutput output(flags, text);
  request.plot = output.is_picture();
  Talk talk(flags.talk);
  const Cache cache(!written.no_cache, talk);
  ModelPoints points(talk, &cache);
  const LlmAnswer answer = ask_llm(request, points);
  output.is_picture() ? output.write_picture(llm_svg(answer))
                      : output.write(to_format(answer, output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_llm(CLI::App& app) {
  const auto flags = std::make_shared<LlmFlags>();
  add_model_flags(app, flags->model);
  app.get_option("--batch")->description("Batch sizes, default 1,8,32: 1,2,4 or 1:64:x2")->type_name("LIST");
  app.get_option("--dtype")->description("Dtype of the weights. Default: the one they were published in");
  add_value(app, "--prompt", flags->prompt, "N", "Tokens of each prompt, default 2048");
  add_value(app, "--generate", flags->generate, "N", "Tokens generated after it, default 256");
  add_value(
      app, "--reserve", flags->reserve, "BYTES",
      "Part of each device's memory to keep free: 1GiB or 10%. Default: what allocator and driver need");
  add_value(app, "--hardware", flags->cost.hardware, "DEVICES",
            "Devices to price on: names from `opscope devices` or TOML files, h200,l4");
  add_value(app, "--float32", flags->cost.float32, "HOW",
            "How float32 matrix products run on --hardware: torch (default), tf32 or ieee");
  add_run_flags(app, flags->cost,
                "How its steps run there: graph (the device alone, as servers replay CUDA graphs; default), "
                "eager (op by "
                "op, as captured) or compiled (each fused subgraph is one kernel)");
  add_routing_flag(app, flags->cost.routing);
  add_report_flags(app, *flags, "All notes", format_help(", svg, png or pdf"));
  return [flags] { return run_llm(*flags); };
}

}  // namespace opscope
