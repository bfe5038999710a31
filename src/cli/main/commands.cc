// The table of commands.
#include <algorithm>
#include <array>

#include "base/choices.h"
#include "base/error.h"
#include "cli/flags/flags.h"

namespace opscope {

// Each in a file of cli/commands.
using Define = Action(CLI::App& app);
Define define_profile, define_explore, define_fuse, define_measure, define_read_trace, define_devices,
    define_predict, define_calibrate, define_compare, define_reconcile, define_sweep, define_fit, define_llm,
    define_plan, define_diff, define_check, define_draw, define_plot, define_trace, define_capture,
    define_explain, define_ops, define_list, define_cache, define_completion;

namespace {

constexpr std::array kCommands{
    Command{"profile",
            "What a model costs: module tree, totals, op types, bottlenecks and most expensive layers",
            "  opscope profile resnet18\n"
            "  opscope profile vit_b_16 --depth 2 --showshape\n"
            "  opscope profile efficientnet_b0 --input-shape 1 3 384 384 --sort mem --top 5\n"
            "  opscope profile my_model.py:build --input-shape 8,3,32,32 --output profile.json\n"
            "  opscope profile resnet50 --convention torch --format csv\n"
            "  opscope profile my_model.py:build --tracer dynamo --graph-part 1\n",
            define_profile},
    Command{"explore", "The graph node by node, with the fused subgraph of each node; search and paths",
            "  opscope explore resnet18\n"
            "  opscope explore bert-base-uncased --around 30 --context 10\n"
            "  opscope explore gpt2 --seq-len 64 --max-nodes 10\n"
            "  opscope explore resnet18 --node layer1.0.conv1\n"
            "  opscope explore resnet18 --path conv1 layer1.0.relu\n"
            "  opscope explore yolov8n --interactive\n",
            define_explore},
    Command{"fuse", "Which ops fuse into one kernel, the reason for each fusion boundary, and bytes saved",
            "  opscope fuse resnet18\n"
            "  opscope fuse bert-base-uncased --fast-memory 256KiB\n"
            "  opscope fuse resnet18 --against inductor\n",
            define_fuse},
    Command{"measure", "Measured time of every op, layer and module of real runs, compared with the roofline",
            "  opscope measure resnet18\n"
            "  opscope measure bert-base-uncased --seq-len 128 --runs 50 --sort time\n"
            "  opscope measure resnet50 --batch 32 --on cuda --hardware h200\n"
            "  opscope measure resnet18 --training --optimizer adam --trace run.json\n"
            "  opscope measure vit_b_16 --repeat-ops --save vit.json\n",
            define_measure},
    Command{"read-trace", "Times from a torch.profiler trace, matched to the ops of a model",
            "  opscope read-trace trace.json resnet50 --batch 32\n"
            "  opscope read-trace trace.json.gz resnet50.json --format csv\n",
            define_read_trace},
    Command{"predict", "How long a model takes on a device that need not be there, with an interval, and why",
            "  opscope predict resnet50 --batch 32 --hardware h200\n"
            "  opscope predict bert-base-uncased --hardware h200,l4 --mode compiled\n"
            "  opscope predict gpt2 --seq-len 512 --training --optimizer adamw --hardware a100-sxm\n"
            "  opscope predict resnet18 --hardware this\n"
            "  opscope predict vit_b_16 --hardware h200 --trace run.json\n",
            define_predict},
    Command{"calibrate", "Time a device once, so that the time of any model can be predicted on it",
            "  opscope calibrate --on cuda\n"
            "  opscope calibrate --on cpu --threads 1 --quick\n"
            "  opscope calibrate --on cuda -o my_gpu.toml\n"
            "  opscope calibrate --show h200\n"
            "  opscope predict resnet50 --batch 32 --hardware my_gpu.toml\n",
            define_calibrate},
    Command{"devices", "Known devices: peak FLOP/s, bandwidth, memory, and the source of each figure",
            "  opscope devices\n"
            "  opscope devices h200\n"
            "  opscope profile resnet50 --hardware h100,l4\n",
            define_devices},
    Command{"compare",
            "Models side by side: costs, the best model for each metric, and what the differences mean",
            "  opscope compare resnet50 efficientnet_b0 convnext_tiny vit_b_16\n"
            "  opscope compare resnet50 vit_b_16 --hardware h100,l4\n"
            "  opscope compare resnet18 resnet50 --by module --depth 2\n"
            "  opscope compare base.json my_model.py:build --by type --metric memory-bytes\n"
            "  opscope compare 'torchvision:resnet*' mobilenet_v2 --pareto pareto.svg\n",
            define_compare},
    Command{"reconcile", "What other tools count for a model, compared with opscope, and why they differ",
            "  opscope reconcile resnet18\n"
            "  opscope reconcile --models resnet18,vit_b_16 --with fvcore,torch --why\n"
            "  opscope reconcile bert-base-uncased --seq-len 512 --with all --format csv\n"
            "  opscope reconcile my_model.py:build --with torch --strict --tolerance 5%\n",
            define_reconcile},
    Command{"sweep",
            "Costs over batch sizes, sequence lengths, image sizes and dtypes, and where the crossovers are",
            "  opscope sweep bert-base-uncased --batch 1:256:x2 --seq-len 16:512:x2\n"
            "  opscope sweep resnet50 --batch 1,2,4,..,256 --hardware l4 --output sweep.svg\n"
            "  opscope sweep gpt2 --seq-len 128:1024:+128 --dtype fp32,bf16 --metric peak-memory-bytes\n"
            "  opscope sweep bert-base-uncased --batch 1:256 --seq-len 1:512 --format csv\n"
            "  opscope sweep model.onnx --dim batch=1,8,64 --memory 24GiB\n",
            define_sweep},
    Command{"fit", "The largest batch size or sequence length that fits in a given memory",
            "  opscope fit resnet50 --memory 24GiB\n"
            "  opscope fit bert-base-uncased --memory 16GiB --training --optimizer adam\n"
            "  opscope fit gpt2 --hardware l4 --variable seq-len --reserve 10%\n",
            define_fit},
    Command{"llm",
            "A language model as it is served: memory, KV cache, largest batch and context, TTFT, tokens/s",
            "  opscope llm meta-llama/Llama-3.1-8B --hardware h200\n"
            "  opscope llm Qwen/Qwen2.5-72B --hardware h200,l4 --prompt 8192 --generate 1024\n"
            "  opscope llm mistralai/Mixtral-8x7B-v0.1 --hardware h200 --batch 1:64:x2 --format json\n"
            "  opscope llm meta-llama/Llama-3.1-8B --hardware h200 --output llama.svg\n",
            define_llm},
    Command{"plan", "A model split over devices: the best split, what bounds it, and what others would do",
            "  opscope plan gpt2 --devices 4xl4 --link 10Gbit/s,50us\n"
            "  opscope plan meta-llama/Llama-2-7b-hf --devices 12xjetson-agx-orin-64gb,1xrtx-3090@cloud "
            "--link 50Mbit/s,2ms --link cloud=1Mbit/s,20ms --objective latency\n"
            "  opscope plan bert-base-uncased --devices cluster.toml --objective throughput,latency\n"
            "  opscope plan --costs costs.json --format json\n",
            define_plan},
    Command{"diff",
            "What changed between two versions of a model: layers added, removed, changed, moved; cost",
            "  opscope diff resnet50 wide_resnet50_2\n"
            "  opscope diff base.json new.json --format md\n"
            "  opscope diff model.py:build --base-rev HEAD~1\n"
            "  opscope diff main:src/net.py:make src/net.py:make --exit-code\n"
            "  opscope diff resnet50 wide_resnet50_2 --output diff.svg\n",
            define_diff},
    Command{"check",
            "Check a model against a budget: exit code 1 if a limit is exceeded, and which modules cost most",
            "  opscope check resnet18 --max flops=4.2G,params=12M\n"
            "  opscope check my_model.py:build --budget budget.toml\n"
            "  opscope check my_model.py:build --against base.json --max-increase 2%\n"
            "  opscope check my_model.py:build --against main:my_model.py:build --max-increase "
            "flops=2%,params=0\n"
            "  opscope check resnet18 --write-budget budget.toml\n",
            define_check},
    Command{"draw", "A picture of the graph: png, pdf, svg, dot, or an html page to explore",
            "  opscope draw resnet18 resnet18.png\n"
            "  opscope draw bert-base-uncased bert.html --color bound\n"
            "  opscope draw yolov8n head.svg --focus model.22 --level op\n",
            define_draw},
    Command{"plot",
            "Roofline, cost by op type, cost by module, flame graph, memory over time; text or a picture",
            "  opscope plot roofline resnet18\n"
            "  opscope plot types vit_b_16 --output types.svg\n"
            "  opscope plot icicle bert-base-uncased --output cost.png\n",
            define_plot},
    Command{"trace",
            "Which of PyTorch's tracers work on a model, what their graphs contain, and where the breaks are",
            "  opscope trace resnet18\n"
            "  opscope trace gpt2 --tracer export --top 20\n"
            "  opscope trace my_model.py:build --tracer dynamo --graph-part 2\n"
            "  opscope trace resnet18 --tracer fx --save-graph resnet18.py --weights\n"
            "  opscope trace resnet18 --export resnet18.pt2 --export resnet18.onnx\n",
            define_trace},
    Command{"capture", "Save the graph of a model to a file; all commands read it, without Python",
            "  opscope capture resnet18 -o resnet18.json\n"
            "  opscope profile resnet18.json\n",
            define_capture},
    Command{"explain", "The formula behind the numbers of an op, layer or module, with its values",
            "  opscope explain resnet18 layer1.0.conv1\n"
            "  opscope explain resnet18 12\n"
            "  opscope explain vit_b_16 scaled_dot_product_attention --format json\n",
            define_explain},
    Command{"ops", "The cost table: every known op and its formula",
            "  opscope ops\n"
            "  opscope ops conv\n"
            "  opscope ops 'aten::*norm*' --format md\n",
            define_ops},
    Command{"list", "Models that can be given by name",
            "  opscope list\n"
            "  opscope list resnet\n"
            "  opscope list 'vit_*' --registry my_models.py\n",
            define_list},
    Command{"cache", "Captures and measured times that are kept between runs: where, how many, size limit",
            "  opscope cache\n"
            "  opscope cache --limit 2GB\n"
            "  opscope cache --clear\n",
            define_cache},
    Command{"completion", "A completion script for bash, zsh or fish",
            "  source <(opscope completion bash)\n"
            "  opscope completion fish | source\n",
            define_completion},
};

// Those that a row of app/cases/question.h describes.
struct QuestionFlags : ModelCommandFlags {
  QuestionValues values{Voice::kFlags};
};

int run_question(const Question& question, const QuestionFlags& flags) {
  TextOptions text;
  const AskedGraph asked(flags, text.notes);
  const PictureOutput output(flags, text);
  if (output.is_picture() && !question.draws)
    throw Error("there is no picture of it", "--format",
                "choose " + one_of(format_names(all_formats(Format::kText))));
  const Graph graph = asked.load();
  const Profile profile = make_profile(graph, {});
  const QuestionAnswer answer = question.ask(profile, flags.values, text);
  output.is_picture() ? output.write_picture(answer.svg())
                      : output.write(answer.report(output.format(), text));
  return kExitDone;
}

Action define_question(CLI::App& app, const Question& question) {
  const auto flags = std::make_shared<QuestionFlags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  for (const QuestionOption& option : question.options) {
    std::string flag = "--" + std::string(option.name);
    std::ranges::replace(flag, '_', '-');
    const auto set = [values = &flags->values, name = option.name](const std::string& text) {
      values->texts[std::string(name)] = text;
    };
    add_setter(app, flag, set, std::string(option.type), std::string(option.help));
  }
  add_report_flags(app, *flags, std::string(question.verbose),
                   question.draws ? format_help(", svg, png or pdf") : "");
  return [flags, &question] { return run_question(question, *flags); };
}

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> rows(kCommands.begin(), kCommands.end());
    for (const Question& question : questions()) {
      const auto before = std::ranges::find(rows, question.after, &Command::name);
      rows.insert(before == rows.end() ? before : before + 1,
                  {question.name, question.summary, question.examples, nullptr, &question});
    }
    return rows;
  }();
  return all;
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(commands(), name, &Command::name);
  return found == commands().end() ? nullptr : &*found;
}

Action Command::define(CLI::App& app) const {
  return question ? define_question(app, *question) : defined_by(app);
}

}  // namespace opscope
