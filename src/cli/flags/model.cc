// The model flags on the command line.
#include "cli/flags/model.h"

#include <CLI/CLI.hpp>

namespace opscope {
namespace {

void add_building_flags(CLI::App& app, ModelFlags& flags) {
  app.add_option("--task", flags.task,
                 "The head of a transformers or YOLO model: text-generation, segment, ...")
      ->type_name("TASK");
  app.add_option("--dtype", flags.dtype, "Weights and inputs in this type: float16, bfloat16, ...")
      ->type_name("DTYPE");
  app.add_option("--device", flags.device, "Device to load the model on: cpu, cuda, ...")
      ->type_name("DEVICE");
  app.add_flag("--trust", flags.trust,
               "Open pickles (.pt, .pth) and a model's own code: both can run anything");
  app.add_flag("--download", flags.download, "Fetch configs and weights that are not on this machine");
  app.add_option("--tracer", flags.tracer,
                 "auto, static (no data), eager (a real run), or PyTorch's fx, dynamo, export or hybrid")
      ->type_name("TRACER");
}

void add_input_flags(CLI::App& app, ModelFlags& flags) {
  repeatable(app.add_option("--input-shape", flags.input_shape,
                            "1 3 224 224 or 1,3,224,224; repeat it for each input"))
      ->type_name("SIZES");
  app.add_option("--batch", flags.batch, "Batch size of the model's own inputs")->type_name("N");
  app.add_option("--seq-len", flags.seq_len, "Tokens that a language model reads; 128")->type_name("N");
  app.add_option("--image-size", flags.image_size, "Side of the image, or HEIGHTxWIDTH")->type_name("SIZE");
  repeatable(
      app.add_option("--input", flags.input, "One input by its name: input_ids=1x128:int64; repeatable"))
      ->type_name("NAME=SHAPE[:DTYPE]");
  app.add_option("--phase", flags.phase, "prefill, or decode: one token behind a cache of --past-len")
      ->type_name("PHASE");
  app.add_option("--past-len", flags.past_len, "Tokens in the cache, for --phase decode; 128")
      ->type_name("N");
  repeatable(app.add_option("--limit", flags.limit,
                            "Upper bound of a size that only data tells: nms=100; repeatable"))
      ->type_name("NAME=N");
  repeatable(
      app.add_option("--dim", flags.dim, "A dynamic dimension of a .pt2 or ONNX file: batch=8; repeatable"))
      ->type_name("NAME=N");
}

}  // namespace

void add_model_flags(CLI::App& app, ModelFlags& flags) {
  app.add_option(
      "MODEL", flags.positional,
      "A name (opscope list; torchvision:, timm:, hf: or yolo: insists), a Hugging Face folder or id, "
      "a .pt2, .onnx or TorchScript file, file.py:callable, package.module:attr, or a saved capture");
  app.add_option("--model", flags.model, "The same, as a flag")->type_name("MODEL");
  add_capture_flags(app, flags);
}

void add_capture_flags(CLI::App& app, ModelFlags& flags) {
  add_input_flags(app, flags);
  add_building_flags(app, flags);
  app.add_flag("--training", flags.training, "A step of training: forward, backward and the optimizer");
  app.add_option("--optimizer", flags.optimizer,
                 "Of the training: sgd (default), sgd-momentum, adam, adamw, adagrad, rmsprop or none")
      ->type_name("NAME");
  app.add_flag("--source-lines", flags.source_lines, "Record the line of the model that ran each op");
  add_registry_flags(app, flags.registry, flags.no_cache);
}

}  // namespace opscope
