// What PyTorch 2.13 really says, cut to the lines that matter, when its tracers meet models that they cannot
// follow: branches on values, prints, custom operators, wrong inputs. Each with the reason we give and how
// the hint begins.
#pragma once

#include <string_view>

namespace opscope {

struct TracerFailureCase {
  std::string_view tracer, exception_type, message, reason, hint;
};

inline constexpr TracerFailureCase kTracerFailureCases[] = {
    {"fx", "torch.fx.proxy.TraceError",
     "symbolically traced variables cannot be used as inputs to control flow",
     "the model branches on a tensor's shape or value, which symbolic tracing does not know",
     "--tracer export knows shapes and lengths"},
    {"dynamo", "Unsupported", "generic_jump TensorVariable()", "the model branches on a tensor's value",
     "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Data-dependent branching\n"
     "        # File \"/models/nets.py\", line 15, in forward, code: if x.sum()>0: return self.f(x)\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 15, in forward",
     "the model branches on a tensor's value, at nets.py:15", "for one graph"},
    {"export", "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode",
     "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: "
     "none)\n"
     "The following call raised this error:\n"
     "  File \"/models/nets.py\", line 15, in forward",
     "the model takes a decision on a tensor's value, at nets.py:15",
     "--tracer dynamo splits the graph there"},
    {"onnx", "torch.onnx._internal.exporter._errors.TorchExportError",
     "Failed to export the model with torch.export. \x1b[96mThis is step 1/3\x1b[0\n"
     "<class 'torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode'>: Could not guard on "
     "data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: none)\n"
     "The following call raised this error:\n"
     "  File \"/models/nets.py\", line 15, in forward",
     "the model takes a decision on a tensor's value, at nets.py:15",
     "write the choice with torch.where or torch.cond"},
    {"fx", "torch.fx.proxy.TraceError",
     "Proxy object cannot be iterated. This can be attempted when the Proxy",
     "the model loops over or unpacks an input, a shape or *args, whose length symbolic tracing does not "
     "know",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.TypeError", "'Proxy' object cannot be interpreted as an integer",
     "the model counts or indexes with a tensor's size or value, which symbolic tracing does not know",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.RuntimeError", "'len' is not supported in symbolic tracing by default. If you want thi",
     "the model asks for the length of a tensor or an input, which symbolic tracing does not know",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.TypeError",
     "int() argument must be a string, a bytes-like object or a real number, not 'Proxy'",
     "the model turns a tensor's size or value into an int, which symbolic tracing does not know",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.TypeError", "float() argument must be a string or a real number, not 'Proxy'",
     "the model turns a tensor's size or value into a float, which symbolic tracing does not know",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.TypeError", "'Proxy' object does not support item assignment",
     "the model writes into a tensor or into its **kwargs by index or key, which symbolic tracing cannot "
     "record",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.TypeError", "`__cuda_array_interface__` must be a dict",
     "the model makes a tensor of a size, which symbolic tracing does not know",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.TypeError", "cond must be a bool, but got <class 'torch.fx.proxy.Proxy'>",
     "the model checks a tensor's size or value, which symbolic tracing does not know",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.ValueError", "invalid __array_struct__",
     "the model turns a tensor into a NumPy array, which symbolic tracing cannot record",
     "try --tracer export"},
    {"export", "builtins.RuntimeError", ".numpy() is not supported for tensor subclasses.",
     "the model turns a tensor into a NumPy array", "--tracer dynamo splits the graph there"},
    {"fx", "builtins.NameError", "module is not installed as a submodule",
     "the model calls a module that is not one of its submodules: a global, or one in a plain list",
     "make it a submodule (nn.ModuleList)"},
    {"fx", "builtins.RuntimeError",
     "scripted() Expected a value of type 'Tensor (inferred)' for argument 'x' but instead found type "
     "'Proxy'.",
     "the model calls a TorchScript function, which symbolic tracing cannot record",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.ValueError",
     "vmap(Linear(in_features=4, out_features=4, bias=True), in_dims=0, ...)(<inputs>): Got in_dim=0 for an "
     "input but the input is of type <class 'torch.fx.proxy.Proxy'>. We cannot vmap over non-Tensor argu",
     "the model calls torch.vmap, which symbolic tracing cannot record",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.RuntimeError", "Keys for dictionaries used as an argument cannot contain a Node. Got k",
     "the model uses a tensor as the key of a dict", "try --tracer export"},
    {"dynamo_export", "torch._dynamo.variables.base.AsPythonConstantNotImplementedError",
     "TensorVariable() is not a constant", "the model uses a tensor where Python needs a constant",
     "try --tracer export"},
    {"fx", "builtins.NotImplementedError", "argument of type: <class 'nets.Box'>",
     "the model passes or returns something of type nets.Box, which symbolic tracing cannot record",
     "--tracer export knows shapes and lengths"},
    {"export", "builtins.RuntimeError",
     "Found <class 'nets.Box'> in output, which is not a known type. If this",
     "the model returns an object of type nets.Box, which is no tensor and no plain container of them",
     "--tracer dynamo takes any inputs and results"},
    {"dynamo_export", "torch._dynamo.exc.UserError",
     "It looks like one of the outputs with type `<class 'nets.Box'>` is not",
     "the model returns an object of type nets.Box, which is no tensor and no plain container of them",
     "--tracer dynamo takes any inputs and results"},
    {"dynamo_export", "builtins.AssertionError",
     "Encountered unrecognized type UserDefinedObjectVariable(Box) at output",
     "the model returns an object of type Box, which is no tensor and no plain container of them",
     "--tracer dynamo takes any inputs and results"},
    {"fx", "builtins.NotImplementedError", "argument of type: <class 'torch._C._TensorMeta'>",
     "the model passes a class of tensors to an operation", "--tracer export knows shapes and lengths"},
    {"export", "builtins.RuntimeError",
     "Creating a new Tensor subclass Fancy but the raw Tensor object is alre",
     "the model turns tensors into a subclass of its own (Fancy)", "--tracer dynamo splits the graph there"},
    {"fx", "builtins.TypeError", "zeros() takes 1 positional argument but 2 were given",
     "the model passes sizes to a function in a way that symbolic tracing cannot record",
     "--tracer export knows shapes and lengths"},
    {"fx", "builtins.AssertionError", "tensor wanted",
     "the model raises AssertionError for symbolic values: tensor wanted",
     "--tracer export knows shapes and lengths"},
    {"dynamo", "break", "Unsupported Tensor.item() call with capture_scalar_outputs=False",
     "the model turns a tensor into a Python number (item, int, float, bool)", "for one graph"},
    {"dynamo_export", "torch._dynamo.exc.UserError",
     "Consider annotating your code using torch._check*(). Could not guard on data-dependent expression zuf0 "
     "> 0.5 (unhinted: zuf0 > 0.5).  (Size-like symbols: none)\n"
     "  File \"/models/nets.py\", line 57, in forward\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 57, in forward",
     "the model takes a decision on a tensor's value, at nets.py:57",
     "--tracer dynamo splits the graph there"},
    {"export", "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode",
     "Could not extract specialized integer from data-dependent expression T",
     "the model needs a tensor's value as a size or a count", "--tracer dynamo splits the graph there"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Tensor.tolist() with non-integer tensor\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 65, in forward",
     "the model turns a tensor into a list of numbers (tolist), at nets.py:65", "for one graph"},
    {"dynamo", "break",
     "Dynamic shape operator\n"
     "  Explanation: Operator `aten.nonzero.default`'s output shape depends",
     "aten::nonzero makes a tensor whose size depends on values", "--tracer export keeps the size open"},
    {"dynamo", "break",
     "Dynamic shape operator\n"
     "  Explanation: Operator `aten._unique2.default`'s output shape depends",
     "aten::_unique2 makes a tensor whose size depends on values", "--tracer export keeps the size open"},
    {"dynamo", "break",
     "Dynamic shape operator\n"
     "  Explanation: Operator `aten.repeat_interleave.Tensor`'s output shape",
     "aten::repeat_interleave.Tensor makes a tensor whose size depends on values",
     "--tracer export keeps the size open"},
    {"dynamo", "break", "Data dependent operator", "the model reads a tensor's value as a Python number",
     "for one graph"},
    {"export", "builtins.RuntimeError",
     "The tensor has a non-zero number of elements, but its data is not allocated yet.",
     "the model reads values that do not exist while tracing: a tensor made of tensors' values",
     "--tracer dynamo splits the graph there"},
    {"export", "builtins.RuntimeError",
     "Cannot access data pointer of Tensor (e.g. FakeTensor, FunctionalTenso",
     "the model reaches into a tensor's memory, which does not exist while tracing",
     "--tracer dynamo splits the graph there"},
    {"export", "builtins.RuntimeError",
     "We found a fake tensor in the exported program constant's list. This t",
     "the model keeps a tensor that exists only while tracing, as a gradient or a cache",
     "--tracer dynamo splits the graph there"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "using `torch.autograd.grad` with `torch._dynamo.config.trace_autograd_\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 359, in forward",
     "the model computes gradients (torch.autograd.grad), at nets.py:359",
     "take the backward pass out of forward"},
    {"dynamo", "break",
     "Failed to trace builtin operator\n"
     "  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['str'",
     "the model prints", "for one graph"},
    {"dynamo_export", "torch._dynamo.exc.Unsupported",
     "Failed to trace builtin operator\n"
     "  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['str'\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 101, in forward",
     "the model prints, at nets.py:101", "--tracer export runs it while tracing"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Failed to trace builtin operator\n"
     "  Explanation: Dynamo does not know how to trace builtin operator `open` with argument types ['str',\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 300, in forward",
     "the model opens a file, at nets.py:300", "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Failed to trace builtin operator\n"
     "  Explanation: Dynamo does not know how to trace builtin operator `sorted` with argument types ['Ten\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 178, in forward",
     "the model sorts by tensors' values (sorted), at nets.py:178", "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Failed to trace builtin operator\n"
     "  Explanation: Dynamo does not know how to trace builtin operator `range` with argument types ['Tens\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 185, in forward",
     "the model counts up to a tensor's value (range), at nets.py:185", "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Attempted to call function marked as skipped\n"
     "  Developer debug context: module: _warnings, qualname: warn, skip rea\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 113, in forward",
     "the model issues a warning (warnings.warn), at nets.py:113", "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Attempted to call function marked as skipped\n"
     "  Developer debug context: module: time, qualname: sleep, skip reason:\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 511, in forward",
     "the model asks for the time or waits (time.sleep), at nets.py:511", "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Attempted to call function marked as skipped\n"
     "  Developer debug context: module: <unknown module>, qualname: Random.\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 291, in forward",
     "the model draws a number from Python's random, at nets.py:291", "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Attempted to call function marked as skipped\n"
     "  Developer debug context: module: torch.nn.utils.rnn, qualname: pack_padded_sequence, skip reason:\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 418, in forward",
     "the model packs sequences, whose layout depends on their lengths (pack_padded_sequence), at "
     "nets.py:418",
     "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Unresolved GetAttrVariable comparison\n"
     "  Explanation: Cannot compare GetAttrVariable(LoggingLoggerVariable(),\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 109, in forward",
     "the model logs, at nets.py:109", "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Attempted to copy.deepcopy a tensor\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 308, in forward",
     "the model copies a tensor with copy.deepcopy, at nets.py:308", "for one graph"},
    {"dynamo", "break",
     "Skip inlining `torch.compiler.disable()`d function\n"
     "  Explanation: Skip inlining function <function Disabled.outside at 0x",
     "the model calls Disabled.outside, which is kept from Dynamo (torch.compiler.disable)",
     "--tracer static follows it"},
    {"dynamo", "break", "Call to `torch._dynamo.graph_break()`",
     "the model asks for a graph break (torch._dynamo.graph_break)", "--tracer static follows it"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "torch.jit.script/freeze modules unsupported\n"
     "  Developer debug context: RecursiveScriptModule(original_name=Linear)\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 370, in forward",
     "the model contains a TorchScript module (Linear), at nets.py:370", "--tracer static follows it"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Attempted to use `torch.nn.Parameter()` constructor with Dynamo\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 145, in forward",
     "the model makes parameters while it runs, at nets.py:145", "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Attempted to wrap RNN, GRU, or LSTM\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 422, in forward",
     "the model has an RNN, GRU or LSTM, which Dynamo leaves to Python, at nets.py:422",
     "try --tracer export"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Attempted to wrap sparse Tensor with VariableTracker\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 366, in forward",
     "the model uses a sparse tensor, at nets.py:366", "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "An opaque object was created in the middle of the program.\n"
     "  Developer debug context: Opaque object type: <class 'torch._C.Generator'>.\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 537, in forward",
     "the model makes a torch.Generator while it runs, at nets.py:537", "for one graph"},
    {"onnx", "torch.onnx._internal.exporter._errors.ConversionError",
     "Failed to decompose the FX graph for ONNX compatibility. \x1b[96mThis is",
     "a part of the graph cannot be broken down into what ONNX knows", "--export FILE.pt2 keeps it as it is"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Unsupported Tensor.resize_() call\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 241, in forward",
     "the model resizes a tensor in place (resize_), at nets.py:241", "for one graph"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Unsupported Tensor.requires_grad_() call\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 354, in forward",
     "the model switches gradients on while it runs (requires_grad_), at nets.py:354",
     "take the backward pass out of forward"},
    {"export", "builtins.RuntimeError",
     "element 0 of tensors does not require grad and does not have a grad_fn",
     "the model runs a backward pass, and tracing runs without gradients",
     "take the backward pass out of forward"},
    {"dynamo", "torch._dynamo.exc.Unsupported",
     "Operator does not support running with fake tensors\n"
     "  Developer debug context: unsupported operator: mylib.thing.default\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 489, in forward",
     "mylib.thing has no rule for the shapes of its results, at nets.py:489",
     "give it one with torch.library.register_fake"},
    {"export", "torch._subclasses.fake_tensor.UnsupportedOperatorException", "mylib.thing.default",
     "mylib.thing has no rule for the shapes of its results", "give it one with torch.library.register_fake"},
    {"onnx", "torch.onnx._internal.exporter._errors.TorchExportError",
     "Failed to export the model with torch.export. \x1b[96mThis is step 1/3\x1b[0\n"
     "<class 'torch._subclasses.fake_tensor.UnsupportedOperatorException'>: mylib.thing.default",
     "mylib.thing has no rule for the shapes of its results", "give it one with torch.library.register_fake"},
    {"export", "builtins.ValueError",
     "Unsupported input type <class 'nets.Box'>. Export only supports pytree",
     "an input is of type nets.Box, which is no tensor and no plain container of them",
     "--tracer dynamo takes any inputs and results"},
    {"dynamo", "builtins.TypeError", "Missing.forward() missing 2 required positional arguments: 'x' and 'y'",
     "the model was not given its arguments: 'x' and 'y'", "give the inputs that the model takes"},
    {"export", "builtins.TypeError", "missing a required argument: 'x'",
     "the model was not given its input 'x'", "give the inputs that the model takes"},
    {"dynamo", "builtins.TypeError", "TooMany.forward() takes 2 positional arguments but 3 were given",
     "the model was given more inputs than it takes", "give the inputs that the model takes"},
    {"dynamo_export", "torch._dynamo.exc.TorchRuntimeError",
     "RuntimeError when making fake tensor call\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 247, in forward",
     "an operation of the model fails: something, at nets.py:247", "try --tracer eager"},
    {"export", "builtins.RuntimeError", "a and b must have same reduction dim, but got [2, 5] X [4, 4].",
     "an input does not fit the weights it is multiplied with: [2, 5] X [4, 4]",
     "give the inputs that the model takes"},
    {"dynamo", "builtins.RuntimeError", "mat1 and mat2 must have the same dtype, but got Long and Float",
     "an input and the weights it is multiplied with have different dtypes: Long and Float",
     "give the inputs that the model takes"},
    {"dynamo_export", "torch._dynamo.exc.TorchRuntimeError",
     "RuntimeError when making fake tensor call\n"
     "  Explanation: Dynamo failed to run FX node with fake tensors: call_method reshape(*(FakeTensor(..., "
     "size=(s77, s27)), 3, 3), **{}): got RuntimeError(\"shape '[3, 3]' is invalid for input of size s27*s\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 260, in forward",
     "the model reshapes a tensor to a shape that does not hold its elements: [3, 3], at nets.py:260",
     "give the inputs that the model takes"},
    {"dynamo_export", "torch._dynamo.exc.Unsupported",
     "Observed exception\n"
     "  Developer debug context: raised exception ValueError('wrong width torch.Size([s77, s27])')\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 269, in forward",
     "the model raises ValueError('wrong width torch.Size([s77, s27])'), at nets.py:269",
     "try --tracer eager"},
    {"export", "builtins.ValueError", "wrong width torch.Size([2, 4])",
     "the model raises ValueError: wrong width torch.Size([2, 4])", "try --tracer eager"},
    {"onnx", "torch.onnx._internal.exporter._errors.TorchExportError",
     "Failed to export the model with torch.export. \x1b[96mThis is step 1/3\x1b[0\n"
     "<class 'ValueError'>: wrong width torch.Size([2, 4])",
     "the model raises ValueError: wrong width torch.Size([2, 4])", "try --tracer eager"},
    {"fx", "builtins.NotImplementedError", "Module [NotImpl] is missing the required \"forward\" function",
     "NotImpl has no forward", "try --tracer eager"},
    {"dynamo", "torch._dynamo.exc.InternalTorchDynamoError",
     "RecursionError: maximum recursion depth exceeded\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 278, in forward\n"
     "  File \"/models/nets.py\", line 277, in go\n"
     "  File \"/models/nets.py\", line 277, in go\n"
     "  File \"/models/nets.py\", line 277, in go",
     "the model calls itself without end, or deeper than Python allows, at nets.py:277",
     "try --tracer eager"},
    {"dynamo", "torch._dynamo.exc.TorchRuntimeError",
     "RuntimeError when making fake tensor call\n"
     "  Explanation: Dynamo failed to run FX node with fake tensors: call_method cuda(*(FakeTensor(..., "
     "size=(2, 4)),), **{}): got RuntimeError('PyTorch is not linked with support for cuda devices')\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 468, in forward",
     "the model moves tensors to CUDA, and this PyTorch has none, at nets.py:468", "try --tracer eager"},
    {"onnx", "torch.onnx._internal.exporter._errors.ConversionError",
     "Failed to convert the exported program to an ONNX model. \x1b[96mThis is\n"
     "<class 'torch.onnx._internal.exporter._errors.DispatchError'>: No ONNX function found for "
     "<OpOverload(op='aten._linalg_svd', overl",
     "ONNX has no counterpart of aten::_linalg_svd", "--export FILE.pt2 keeps it as it is"},
    {"fx", "builtins.ValueError", "code: co_varnames is too small",
     "forward is wrapped by a decorator whose arguments symbolic tracing cannot read",
     "--tracer export knows shapes and lengths"},
    {"export", "builtins.RuntimeError",
     "Found <class 'transformers.cache_utils.DynamicCache'> in output, which",
     "the model returns its cache of keys and values (DynamicCache); with use_cache=False it returns tensors "
     "only",
     "--tracer dynamo takes any inputs and results"},
    {"dynamo_export", "torch._dynamo.exc.InternalTorchDynamoError",
     "PendingUnbackedSymbolNotFound: Pending unbacked symbols {zuf0} not in\n"
     "from user code:\n"
     "  File \"/env/lib/python3.11/site-packages/ultralytics/nn/tasks.py\", line 202, in _predict_once",
     "a number that the model reads from a tensor is lost on the way through its graph, at tasks.py:202",
     "try --tracer export"},
    {"dynamo", "builtins.ValueError", "You must specify exactly one of input_ids or inputs_embeds",
     "the model was not given an input that it must have: input_ids or inputs_embeds",
     "give the inputs that the model takes"},
    {"dynamo", "torch._dynamo.exc.UserError",
     "Consider annotating your code using torch._check*(). Could not guard on data-dependent expression 4*u1 "
     "> 4000 (unhinted: 4*u1 > 4000).  (Size-like symbols: u1)\n"
     "  File \"/env/lib/python3.11/site-packages/torchvision/models/detection/rpn.py\", line 289, in "
     "filter_proposals",
     "the model takes a decision on a size that depends on values, at rpn.py:289",
     "--tracer export keeps the size open"},
    {"dynamo_export", "torch._dynamo.exc.UserError",
     "Consider annotating your code using torch._check*(). Could not guard on data-dependent expression "
     "Eq(u0, 0) (unhinted: Eq(u0, 0)).  (Size-like symbols: u0)\n"
     "  File \"/models/nets.py\", line 74, in forward\n"
     "from user code:\n"
     "   File \"/models/nets.py\", line 74, in forward",
     "the model takes a decision on a size that depends on values, at nets.py:74",
     "--tracer dynamo splits the graph there"},
};

}  // namespace opscope
