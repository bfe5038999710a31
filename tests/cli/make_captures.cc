// Writes the captures that the tests of the program read into the folder given.
#include <string>

#include "analyse/diff_models.h"
#include "analyse/measured_models.h"
#include "analyse/small_models.h"
#include "analyse/traced_models.h"
#include "analyse/training_model.h"
#include "base/files.h"
#include "graph/graph.h"
#include "graph/measured_graph.h"
#include "hardware/predict/calibration.h"
#include "report/core/document.h"

namespace {

// Of a GPU with round numbers: what is predicted of it can be worked out by hand.
std::string lab_calibration() {
  std::string text = "calibration = \"" + std::to_string(opscope::kCalibrationVersion) + "\"\n" +
                     "device = \"lab\"\ndevice_name = \"Lab GPU\"\nkind = \"gpu\"\nmade = \"measured\"\n"
                     "[facts]\ndate = \"2026-01-02\"\ntorch = \"2.13.0\"\n"
                     "[host]\nop = \"2 us\"\nmodule_call = \"1 us\"\ndispatch = \"8 us\"\nview = \"1 us\"\n"
                     "backward_op = \"10 us\"\nlaunch = \"5 us\"\nsynchronise = \"10 us\"\n"
                     "[runs]\ncount = 10\nspread = \"0.05\"\nerror_median = \"0.03\"\nerror_p90 = \"0.1\"\n";
  for (const char* family : {"conv", "matmul"})
    text +=
        std::string("[families.") + family +
        ".float32]\nflop_rate = \"10 TFLOP/s\"\nbyte_rate = \"1 TB/s\"\n" +
        "seconds = \"4 us\"\nspread = \"0.1\"\nerror_median = \"0.05\"\nerror_p90 = \"0.2\"\npoints = 100\n";
  for (const char* family : {"norm", "pool", "pointwise", "copy", "reduction"})
    text +=
        std::string("[families.") + family + ".float32]\nflop_rate = \"0\"\nbyte_rate = \"1 TB/s\"\n" +
        "seconds = \"2 us\"\nspread = \"0.1\"\nerror_median = \"0.05\"\nerror_p90 = \"0.2\"\npoints = 100\n";
  return text + "\n[measured]\nops = []\n";
}

// A net before and after an edit: blocks wider and one more, an activation of another class, the stem
// renamed.
opscope::Graph edited(bool after) {
  using namespace opscope::test;
  const auto body = block("", {linear("up", after ? 64 : 32), relu("act"), linear("down", 16)}, true);
  std::vector<Part> parts{linear(after ? "entry" : "stem", 16),
                          sequence("layers", std::vector<Part>(after ? 4 : 3, body)), relu("act"),
                          linear("head", 10)};
  if (after) parts[2] = unknown("act");
  return PartBuilder::make(parts);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace opscope;
  if (argc != 2) return 2;
  const std::string folder = std::string(argv[1]) + "/";
  write_file(folder + "resnet18.json", write_json(test::ResNet18::make()));
  write_file(folder + "measured.json", write_json(test::measured_resnet18(false)));
  write_file(folder + "measured_cuda.json", write_json(test::measured_resnet18(true)));
  write_file(folder + "training.json", write_json(test::training_step()));
  write_file(folder + "unknown.json", write_json(test::shared_and_unknown()));
  write_file(folder + "net_before.json", write_json(edited(false)));
  write_file(folder + "net_after.json", write_json(edited(true)));
  write_file(folder + "resnet18_fx.json", write_json(test::as_fx(test::ResNet18::make())));
  write_file(folder + "cut.json", write_json(test::cut_in_three()));
  write_file(folder + "cut_static.json", write_json(test::cut_in_three(false)));
  write_file(folder + "cut_hybrid.json", write_json(test::by_hybrid()));
  for (const bool on_device : {false, true}) {
    const std::string name = on_device ? "measured_gpu" : "measured_cpu";
    Graph graph = test::ResNet18::make();
    write_file(folder + name + ".json", write_json(test::measure(graph, {.on_device = on_device})));
    write_file(folder + (on_device ? "sleepy_gpu.json" : "sleepy.json"),
               write_json(test::add_sleep(graph, graph.ops[10].scope)));
  }
  Graph step = test::training_step();
  write_file(folder + "measured_training.json", write_json(test::measure(step)));
  Graph newer = test::shared_and_unknown();
  std::string text = write_json(newer);
  const std::string key = "\"schema_version\": ";
  text.replace(text.find(key) + key.size(), 1, "99");
  write_file(folder + "newer.json", text);
  write_file(folder + "broken.json", write_json(newer).substr(0, 2000));
  write_file(folder + "profile.json", to_json(make_profile(newer, {})));
  write_file(folder + "text.json", "these are not the captures you are looking for\n");
  write_file(folder + "lab.toml", lab_calibration());
  const std::string device =
      "id = \"mine\"\nname = \"My GPU\"\nkind = \"gpu\"\n[peaks.vector]\n"
      "float32 = { value = \"8 TFLOP/s\", source = \"page: FP32\" }\n[launch]\noverhead = { value = \"3 us\" "
      "}\n";
  write_file(folder + "my_gpu.toml", device +
                                         "[memory]\nsize = { value = \"32 MiB\" }\n"
                                         "bandwidth = { value = \"400 GB/s\" }\n");
  write_file(folder + "slow_gpu.toml", device + "[memory]\nbandwith = { value = \"400 GB/s\" }\n");
}
