// The table of commands.
#include <algorithm>
#include <array>

#include "cli/main/command.h"

namespace opscope {
namespace {

constexpr std::array kCommands{
    Command{"profile", "What a model costs: its modules, totals, op types, bottlenecks and costliest layers",
            "  opscope profile resnet18\n"
            "  opscope profile vit_b_16 --depth 2 --showshape\n"
            "  opscope profile efficientnet_b0 --input-shape 1 3 384 384 --sort mem --top 5\n"
            "  opscope profile my_model.py:build --input-shape 8,3,32,32 --output profile.json\n"
            "  opscope profile resnet50 --convention torch --format csv\n"
            "  opscope profile my_model.py:build --tracer dynamo --graph-part 1\n",
            define_profile},
    Command{"explore", "The graph node by node, beside the subgraph that each runs in; where to find what",
            "  opscope explore resnet18\n"
            "  opscope explore bert-base-uncased --around 30 --context 10\n"
            "  opscope explore gpt2 --seq-len 64 --max-nodes 10\n"
            "  opscope explore resnet18 --node layer1.0.conv1\n"
            "  opscope explore resnet18 --path conv1 layer1.0.relu\n"
            "  opscope explore yolov8n --interactive\n",
            define_explore},
    Command{"fuse", "Which ops run as one kernel, why each group ends where it does, and what fusing saves",
            "  opscope fuse resnet18\n"
            "  opscope fuse bert-base-uncased --fast-memory 256KiB\n"
            "  opscope fuse resnet18 --against inductor\n",
            define_fuse},
    Command{"memory", "What memory a run takes, when it peaks, what is held then, and what would help",
            "  opscope memory resnet18\n"
            "  opscope memory bert-base-uncased --training --optimizer adam\n"
            "  opscope memory gpt2 --phase decode --output timeline.svg\n",
            define_memory},
    Command{"measure",
            "What a model really takes: every op, layer and module timed, beside what it should take",
            "  opscope measure resnet18\n"
            "  opscope measure bert-base-uncased --seq-len 128 --runs 50 --sort time\n"
            "  opscope measure resnet50 --batch 32 --on cuda --hardware h200\n"
            "  opscope measure resnet18 --training --optimizer adam --trace run.json\n"
            "  opscope measure vit_b_16 --repeat-ops --save vit.json\n",
            define_measure},
    Command{"read-trace", "Times from a torch.profiler trace, joined to a model's graph op by op",
            "  opscope read-trace trace.json resnet50 --batch 32\n"
            "  opscope read-trace trace.json.gz resnet50.json --format csv\n",
            define_read_trace},
    Command{"devices",
            "The devices that opscope knows: peaks, bandwidths, memory, and where each figure is from",
            "  opscope devices\n"
            "  opscope devices h200\n"
            "  opscope profile resnet50 --hardware h100,l4\n",
            define_devices},
    Command{"compare",
            "Models side by side: what each costs, which is best at what, and what the difference means",
            "  opscope compare resnet50 efficientnet_b0 convnext_tiny vit_b_16\n"
            "  opscope compare resnet50 vit_b_16 --hardware h100,l4\n"
            "  opscope compare resnet18 resnet50 --by module --depth 2\n"
            "  opscope compare base.json my_model.py:build --by type --metric memory-bytes\n"
            "  opscope compare 'torchvision:resnet*' mobilenet_v2 --pareto pareto.svg\n",
            define_compare},
    Command{"reconcile", "What other tools count for a model, beside opscope, and why they differ",
            "  opscope reconcile resnet18\n"
            "  opscope reconcile --models resnet18,vit_b_16 --with fvcore,torch --why\n"
            "  opscope reconcile bert-base-uncased --seq-len 512 --with all --format csv\n"
            "  opscope reconcile my_model.py:build --with torch --strict --tolerance 5%\n",
            define_reconcile},
    Command{"sweep",
            "A model over many batch sizes, lengths, image sizes and dtypes, and where its behaviour turns",
            "  opscope sweep bert-base-uncased --batch 1:256:x2 --seq-len 16:512:x2\n"
            "  opscope sweep resnet50 --batch 1,2,4,..,256 --hardware l4 --output sweep.svg\n"
            "  opscope sweep gpt2 --seq-len 128:1024:+128 --dtype fp32,bf16 --metric peak-memory-bytes\n"
            "  opscope sweep bert-base-uncased --batch 1:256 --seq-len 1:512 --format csv\n"
            "  opscope sweep model.onnx --dim batch=1,8,64 --memory 24GiB\n",
            define_sweep},
    Command{"fit", "The largest batch or length that fits a device's memory",
            "  opscope fit resnet50 --memory 24GiB\n"
            "  opscope fit bert-base-uncased --memory 16GiB --training --optimizer adam\n"
            "  opscope fit gpt2 --hardware l4 --variable seq-len --reserve 10%\n",
            define_fit},
    Command{
        "diff",
        "What changed between two versions of a model: added, removed, changed and moved, and what it costs",
        "  opscope diff resnet50 wide_resnet50_2\n"
        "  opscope diff base.json new.json --format md\n"
        "  opscope diff model.py:build --base-rev HEAD~1\n"
        "  opscope diff main:src/net.py:make src/net.py:make --exit-code\n"
        "  opscope diff resnet50 wide_resnet50_2 --output diff.svg\n",
        define_diff},
    Command{"check",
            "Whether a model keeps its budget: exit code 1 where it does not, and which modules did it",
            "  opscope check resnet18 --max flops=4.2G,params=12M\n"
            "  opscope check my_model.py:build --budget budget.toml\n"
            "  opscope check my_model.py:build --against base.json --max-increase 2%\n"
            "  opscope check my_model.py:build --against main:my_model.py:build --max-increase "
            "flops=2%,params=0\n"
            "  opscope check resnet18 --write-budget budget.toml\n",
            define_check},
    Command{"draw", "A picture of the graph: png, pdf, svg, dot, or html to look around in",
            "  opscope draw resnet18 resnet18.png\n"
            "  opscope draw bert-base-uncased bert.html --color bound\n"
            "  opscope draw yolov8n head.svg --focus model.22 --level op\n",
            define_draw},
    Command{"plot",
            "Roofline, FLOPs by type, cost by depth, or memory over time: in the terminal, or as a picture",
            "  opscope plot roofline resnet18\n"
            "  opscope plot types vit_b_16 --output types.svg\n"
            "  opscope plot icicle bert-base-uncased --output cost.png\n",
            define_plot},
    Command{"trace",
            "Which of PyTorch's tracers work on a model, what their graphs are like, and where they break",
            "  opscope trace resnet18\n"
            "  opscope trace gpt2 --tracer export --top 20\n"
            "  opscope trace my_model.py:build --tracer dynamo --graph-part 2\n"
            "  opscope trace resnet18 --tracer fx --save-graph resnet18.py --weights\n"
            "  opscope trace resnet18 --export resnet18.pt2 --export resnet18.onnx\n",
            define_trace},
    Command{"capture", "Save a model's graph to a file that profiles anywhere, without Python",
            "  opscope capture resnet18 -o resnet18.json\n"
            "  opscope profile resnet18.json\n",
            define_capture},
    Command{"explain", "How an op's, layer's or module's numbers come about",
            "  opscope explain resnet18 layer1.0.conv1\n"
            "  opscope explain resnet18 12\n"
            "  opscope explain vit_b_16 scaled_dot_product_attention --format json\n",
            define_explain},
    Command{"ops", "The cost table: every op that is known, with its formula",
            "  opscope ops\n"
            "  opscope ops conv\n"
            "  opscope ops 'aten::*norm*' --format md\n",
            define_ops},
    Command{"list", "The models that can be profiled by name",
            "  opscope list\n"
            "  opscope list resnet\n"
            "  opscope list 'vit_*' --registry my_models.py\n",
            define_list},
    Command{"completion", "A completion script for bash, zsh or fish",
            "  source <(opscope completion bash)\n"
            "  opscope completion fish | source\n",
            define_completion},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &Command::name);
  return found == kCommands.end() ? nullptr : &*found;
}

}  // namespace opscope
