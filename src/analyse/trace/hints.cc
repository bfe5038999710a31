// What to do about a tracer's failure. A hint names flags of the command line, and only what other tracers
// really follow: export takes what depends on shapes, dynamo splits the graph at what depends on values, and
// opscope's own engine (static) follows both.
#include "analyse/trace/failure_rows.h"

namespace opscope {
namespace {

struct HintRow {
  Cure cure;
  std::string_view tracer;  // "" for those without a row of their own
  std::string_view hint;
};

constexpr HintRow kHints[] = {
    {Cure::kUnknown, "dynamo",
     "try --tracer export, or --tracer static; --verbose shows all that PyTorch says"},
    {Cure::kUnknown, "export",
     "try --tracer dynamo, or --tracer static; --verbose shows all that PyTorch says"},
    {Cure::kUnknown, "mlir", "try --export FILE.pt2; --verbose shows all that PyTorch says"},
    {Cure::kUnknown, "onnx", "try --export FILE.pt2; --verbose shows all that PyTorch says"},
    {Cure::kUnknown, "",
     "--tracer hybrid takes the first tracer that works; --verbose shows all that PyTorch says"},
    {Cure::kBranch, "dynamo",
     "for one graph, write the choice with torch.where or torch.cond; --tracer static follows it as it is"},
    {Cure::kBranch, "mlir", "write the choice with torch.where or torch.cond: the file holds one graph"},
    {Cure::kBranch, "onnx", "write the choice with torch.where or torch.cond: the file holds one graph"},
    {Cure::kBranch, "", "--tracer dynamo splits the graph there; torch.where or torch.cond keep it whole"},
    {Cure::kSize, "dynamo",
     "--tracer export keeps the size open; --tracer static bounds it, and --limit nonzero=100 or nms=100 "
     "says how far"},
    {Cure::kSize, "mlir", "the file holds one graph: make the size fixed, as topk does"},
    {Cure::kSize, "onnx", "the file holds one graph: make the size fixed, as topk does"},
    {Cure::kSize, "",
     "--tracer dynamo splits the graph there; --tracer static bounds the size, as far as --limit nonzero=100 "
     "or nms=100 says"},
    {Cure::kShape, "dynamo", "try --tracer export, or --tracer static"},
    {Cure::kShape, "dynamo_export", "try --tracer export, or --tracer dynamo"},
    {Cure::kShape, "fx",
     "--tracer export knows shapes and lengths; --tracer dynamo also takes what depends on values"},
    {Cure::kShape, "", "try --tracer dynamo, or --tracer static"},
    {Cure::kPython, "dynamo",
     "for one graph, take it out of forward; what runs between the parts is counted all the same"},
    {Cure::kPython, "dynamo_export",
     "--tracer export runs it while tracing; --tracer dynamo splits the graph there"},
    {Cure::kPython, "", "take it out of forward, or try --tracer dynamo, which splits the graph there"},
    {Cure::kRewrite, "dynamo",
     "for one graph, write it with tensor operations; --tracer static follows it as it is"},
    {Cure::kRewrite, "dynamo_export",
     "try --tracer export, or --tracer dynamo, which splits the graph there"},
    {Cure::kRewrite, "fx", "try --tracer export, or --tracer dynamo, which splits the graph where it must"},
    {Cure::kRewrite, "mlir", "write it with tensor operations: the file holds one graph"},
    {Cure::kRewrite, "onnx", "write it with tensor operations: the file holds one graph"},
    {Cure::kRewrite, "", "--tracer dynamo splits the graph there; or write it with tensor operations"},
    {Cure::kOuter, "dynamo", "--tracer static follows it; for one graph, take it out of the model"},
    {Cure::kOuter, "dynamo_export", "try --tracer export, or --tracer dynamo, which splits the graph there"},
    {Cure::kOuter, "fx", "make it a submodule (nn.ModuleList), or try --tracer export"},
    {Cure::kOuter, "", "make it a submodule (nn.ModuleList), or try --tracer dynamo"},
    {Cure::kResult, "dynamo", "try --tracer static, which takes any inputs and results"},
    {Cure::kResult, "fx", "try --tracer dynamo, which takes any inputs and results"},
    {Cure::kResult, "mlir", "take and return tensors, or lists, tuples and dicts of them"},
    {Cure::kResult, "onnx", "take and return tensors, or lists, tuples and dicts of them"},
    {Cure::kResult, "",
     "--tracer dynamo takes any inputs and results; export takes tensors in lists, tuples, dicts and "
     "registered dataclasses"},
    {Cure::kCustomOp, "", "give it one with torch.library.register_fake, or run it for real: --tracer eager"},
    {Cure::kInputs, "",
     "give the inputs that the model takes: --input NAME=1x128:int64, or --input-shape 1 3 224 224"},
    {Cure::kModel, "",
     "try --tracer eager: if that fails too, the model or its inputs are at fault, not the tracer"},
    {Cure::kGradient, "", "take the backward pass out of forward, or try --tracer static or eager"},
    {Cure::kFormat, "",
     "--export FILE.pt2 keeps it as it is; for this format, write it with other operations"},
    {Cure::kInstall, "", "install it, or leave this one out: --tracer hybrid takes what there is"},
    {Cure::kMemory, "", "take smaller inputs, or --tracer static, which computes shapes and no values"},
};

// By cure and tracer, every cure's general row last: the first row that fits is the one.
constexpr bool in_order() {
  for (std::size_t i = 1; i < std::size(kHints); ++i) {
    const auto& before = kHints[i - 1];
    const auto& row = kHints[i];
    const bool next_cure = static_cast<int>(row.cure) == static_cast<int>(before.cure) + 1;
    if (next_cure != before.tracer.empty()) return false;
    if (row.cure == before.cure && !row.tracer.empty() && !(before.tracer < row.tracer)) return false;
  }
  return kHints[0].cure == Cure::kUnknown && std::end(kHints)[-1].cure == Cure::kMemory;
}
static_assert(in_order());

}  // namespace

std::string_view hint_for(Cure cure, std::string_view tracer) {
  for (const auto& row : kHints) {
    if (row.cure == cure && (row.tracer == tracer || row.tracer.empty())) return row.hint;
  }
  return kHints[0].hint;
}

}  // namespace opscope
