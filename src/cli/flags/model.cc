// The model flags on the command line.
#include "cli/flags/model.h"

#include <CLI/CLI.hpp>

namespace opscope {
namespace {

void add_building_flags(CLI::App& app, ModelFlags& flags) {
  app.add_option(
         "--task", flags.task,
         "Task of a transformers or YOLO model, which decides its head: text-generation, segment, ...")
      ->type_name("TASK");
  app.add_option("--dtype", flags.dtype, "Dtype of weights and inputs: float16, bfloat16, ...")
      ->type_name("DTYPE");
  app.add_option("--device", flags.device, "Device to load the model on: cpu, cuda, ...")
      ->type_name("DEVICE");
  app.add_flag("--trust", flags.trust,
               "Allow pickles (.pt, .pth) and code that comes with a model. Both can run arbitrary code");
  app.add_flag("--download", flags.download,
               "Allow downloads of configs and weights that are not on this machine");
  app.add_option("--tracer", flags.tracer,
                 "How the graph is captured: auto, static (tensors without data), eager (a real run), "
                 "PyTorch's fx, dynamo or export, or hybrid (the first of PyTorch's that works)")
      ->type_name("TRACER");
}

void add_input_flags(CLI::App& app, ModelFlags& flags) {
  repeatable(app.add_option("--input-shape", flags.input_shape,
                            "Shape of an input: 1 3 224 224 or 1,3,224,224. Repeat the flag for each input"))
      ->type_name("SIZES");
  app.add_option("--batch", flags.batch, "Batch size of the inputs that opscope makes")->type_name("N");
  app.add_option("--seq-len", flags.seq_len, "Sequence length in tokens, default 128")->type_name("N");
  app.add_option("--image-size", flags.image_size, "Image size: side length, or HEIGHTxWIDTH")
      ->type_name("SIZE");
  repeatable(app.add_option("--input", flags.input,
                            "One input by its name, for example input_ids=1x128:int64. Repeatable"))
      ->type_name("NAME=SHAPE[:DTYPE]");
  app.add_option("--phase", flags.phase,
                 "prefill (the whole prompt) or decode (one new token with a KV cache of --past-len tokens)")
      ->type_name("PHASE");
  app.add_option("--past-len", flags.past_len, "Tokens in the KV cache, for --phase decode, default 128")
      ->type_name("N");
  repeatable(app.add_option("--limit", flags.limit,
                            "Upper bound of a data-dependent size, for example nms=100. Repeatable"))
      ->type_name("NAME=N");
  repeatable(
      app.add_option("--dim", flags.dim,
                     "Size of a dynamic dimension of a .pt2 or ONNX file, for example batch=8. Repeatable"))
      ->type_name("NAME=N");
}

}  // namespace

void add_model_flags(CLI::App& app, ModelFlags& flags) {
  app.add_option("MODEL", flags.positional,
                 "A name from `opscope list` (a prefix torchvision:, timm:, hf: or yolo: picks the library), "
                 "a Hugging Face id or folder, a .pt2, .onnx or TorchScript file, file.py:function, "
                 "package.module:attribute, or a saved capture");
  app.add_option("--model", flags.model, "The model, given as a flag")->type_name("MODEL");
  add_capture_flags(app, flags);
}

void add_capture_flags(CLI::App& app, ModelFlags& flags) {
  add_input_flags(app, flags);
  add_building_flags(app, flags);
  app.add_flag("--training", flags.training, "A whole training step: forward, backward and optimizer");
  app.add_option(
         "--optimizer", flags.optimizer,
         "Optimizer for --training: sgd (default), sgd-momentum, adam, adamw, adagrad, rmsprop or none")
      ->type_name("NAME");
  app.add_flag("--source-lines", flags.source_lines, "Record the source line of each op");
  add_registry_flags(app, flags.registry, flags.no_cache);
}

}  // namespace opscope
