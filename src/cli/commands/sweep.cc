// `opscope sweep`: a model at many sizes, and where its behaviour turns.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/sweep_run.h"
#include "cli/main/command.h"

namespace opscope {
namespace {

struct SweepCommandFlags : ModelCommandFlags {
  CostFlags cost;
  SweepFlags sweep;
};

// Flags of one value elsewhere are lists here.
void describe_lists(CLI::App& app) {
  const auto describe = [&](const char* flag, const char* text, const char* type) {
    app.get_option(flag)->description(text)->type_name(type);
  };
  describe("--batch", "Batch sizes: 1,2,4 or 1,2,4,..,256 or 1:256:x2 or 8:64:+8", "LIST");
  describe("--seq-len", "Sequence lengths, in the same forms: 128:4096:x2", "LIST");
  describe("--image-size", "Image sizes, side or HEIGHTxWIDTH: 224,384 or 224:512:+32", "LIST");
  describe("--past-len", "Tokens in the KV cache, for --phase decode", "LIST");
  describe("--dtype", "Dtypes of weights and inputs: fp32,bf16", "LIST");
  describe("--dim", "Sizes of a dynamic dimension of a .pt2 or ONNX file: batch=1,2,4. Repeatable",
           "NAME=LIST");
}

}  // namespace

Action define_sweep(CLI::App& app) {
  const auto flags = std::make_shared<SweepCommandFlags>();
  add_model_flags(app, flags->model);
  describe_lists(app);
  app.add_option("--metric", flags->sweep.metric,
                 "Metrics to show; pictures use the first: " + metric_choices(kSweepNeeds))
      ->type_name("LIST");
  app.add_option("--memory", flags->sweep.memory,
                 "Memory limit to compare with, for example 24GiB. Default: the memory of --hardware")
      ->type_name("BYTES");
  app.add_flag("--polynomial", flags->sweep.polynomial,
               "Compute most points from polynomials that are fitted to captures and checked against others. "
               "Default above 40 points");
  app.add_flag("--every-point", flags->sweep.every_point, "Capture every point, however many there are");
  app.add_flag("--no-crossovers,--no-turning-points", flags->sweep.no_turns, "Without the crossovers");
  app.add_option("--visualize", flags->sweep.visualize, "Also draw the curves: .svg, .png or .pdf")
      ->type_name("FILE");
  add_cost_flags(app, flags->cost);
  app.add_flag("-v,--verbose", flags->talk.verbose, "All rows, however many there are");
  add_output_flags(app, flags->output);
  app.get_option("--format")->description("Output format: txt, json, csv, md, html, svg, png or pdf");
  add_talk_flags(app, flags->talk);
  return [flags] { return run_sweep(*flags, flags->cost, flags->sweep); };
}

}  // namespace opscope
