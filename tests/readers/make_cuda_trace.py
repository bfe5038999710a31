"""Writes files/cuda_trace.json: what torch.profiler would record of two steps of files/cnn.onnx on a GPU.

The layout is that of Kineto's output_json.cpp and CuptiActivity.cpp; the times are made up, so that every sum in
the tests can be worked out: kernel k of step s takes (k + 1) * (s + 1) microseconds.

    python3 tests/readers/make_cuda_trace.py
"""

import json
from pathlib import Path

PID, MAIN, WORKER, STREAM = 4242, 4242, 4300, 7

KERNEL, COPY, FILL = "kernel", "gpu_memcpy", "gpu_memset"
IMAGE, FEATURES = [1, 3, 32, 32], [1, 8, 16, 16]

# Op, the calls inside it, shapes of its inputs, and its kernels: category, name, and what launches it. The first is
# not in the graph.
OPS = [
    (
        "aten::to",
        ["aten::_to_copy", "aten::copy_"],
        [IMAGE],
        [(COPY, "Memcpy HtoD (Pageable -> Device)", "cudaMemcpyAsync")],
    ),
    (
        "aten::conv2d",
        ["aten::convolution", "aten::_convolution", "aten::cudnn_convolution"],
        [IMAGE, [8, 3, 3, 3], [8]],
        [
            (FILL, "Memset (Device)", "cudaMemsetAsync"),
            (KERNEL, "void cutlass_80_simt_sgemm_conv<float, 128>(Params)", "cudaLaunchKernelExC"),
        ],
    ),
    (
        "aten::relu_",
        ["aten::clamp_min_"],
        [FEATURES],
        [(KERNEL, "void at::native::vectorized_elementwise_kernel<4, relu>(int)", "cudaLaunchKernel")],
    ),
    (
        "aten::mean",
        [],
        [FEATURES],
        [(KERNEL, "void at::native::reduce_kernel<512, 1, MeanOps>(ReduceOp)", "cudaLaunchKernel")],
    ),
    ("aten::reshape", ["aten::view"], [[1, 8, 1, 1]], []),
    (
        "aten::linear",
        ["aten::t", "aten::addmm"],
        [[1, 8], [4, 8], [4]],
        [(KERNEL, "ampere_sgemm_32x32_sliced1x4_tn", "cuLaunchKernelEx")],
    ),
]


class Trace:
    def __init__(self):
        self.host, self.runtime, self.device, self.flows = [], [], [], []
        self.external = self.correlation = 0

    def slice(self, events, category, name, thread, begin, duration, **args):
        head = {"ph": "X", "cat": category, "name": name, "pid": PID, "tid": thread}
        events.append({**head, "ts": begin, "dur": duration, "args": args})

    def call(self, name, thread, begin, duration, shapes=None):
        self.external += 1
        args = {"External id": self.external, "Record function id": 0}
        if shapes is not None:
            args["Input Dims"] = shapes
        args["Ev Idx"] = self.external - 1
        self.slice(self.host, "cpu_op", name, thread, begin, duration, **args)
        return self.external

    def kernel(self, category, name, launched_by, thread, launch, begin, duration, external, recorded=True):
        self.correlation += 1
        number = {**({"External id": external} if external else {}), "correlation": self.correlation}
        runtime = "cuda_runtime" if launched_by.startswith("cuda") else "cuda_driver"
        if recorded:
            self.slice(self.runtime, runtime, launched_by, thread, launch, 2.5, **{"cbid": 211, **number})
            flow = {"id": self.correlation, "cat": "ac2g", "name": "ac2g"}
            self.flows.append({"ph": "s", **flow, "pid": PID, "tid": thread, "ts": launch})
            self.flows.append({"ph": "f", **flow, "pid": 0, "tid": STREAM, "ts": begin, "bp": "e"})
        self.device.append(
            {
                "ph": "X", "cat": category, "name": name, "pid": 0, "tid": STREAM, "ts": begin, "dur": duration,
                "args": {**number, "device": 0, "context": 1, "stream": STREAM},
            }
        )  # fmt: skip

    def step(self, number, start):
        index = 0
        device = start + 60
        self.external += 1
        mark = f"ProfilerStep#{number}"
        self.slice(self.host, "user_annotation", mark, MAIN, start, 400, **{"External id": self.external})
        for i, (name, inner, shapes, kernels) in enumerate(OPS):
            begin = round(start + 10 + 50 * i + 0.125, 3)
            external = self.call(name, MAIN, begin, 40, shapes)
            for depth, part in enumerate(inner):
                external = self.call(part, MAIN, begin + 1 + depth, 38 - 2 * depth)
            for category, kernel, launched_by in kernels:
                duration = (index + 1) * (number - 1)
                self.kernel(category, kernel, launched_by, MAIN, begin + 10 + index, device, duration, external)
                device += duration + 1
                index += 1
        self.call("aten::rand", WORKER, start + 20, 5, [])
        # Launched by a thread that calls no op, and one of which only the device's side was recorded.
        self.kernel(KERNEL, "ncclDevKernel_AllReduce", "cudaLaunchKernel", WORKER, start + 30, device, 2, 0)
        self.kernel(KERNEL, "leftover", "", WORKER, 0, device + 3, 1, 0, recorded=False)

    def document(self):
        names = [
            {"ph": "M", "name": "process_name", "ts": 1000.0, "pid": PID, "tid": 0, "args": {"name": "python"}},
            {"ph": "M", "name": "process_labels", "ts": 1000.0, "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
        ]
        module = {"ph": "X", "cat": "python_function", "name": "nn.Module: Cnn_0", "pid": PID, "tid": MAIN}
        python = [
            {**module, "ts": 2055.0, "dur": 340.0, "args": {"Python id": 1}},
            {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 9000.0},
        ]
        return {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "computeMajor": 9}],
            "cuda_runtime_version": 12080,
            "cuda_driver_version": 12080,
            "record_shapes": 1,
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": 1790857026000000000,
            "traceEvents": [*names, *self.host, *python, *self.runtime, *self.device, *self.flows],
            "traceName": "trace.json",
        }


trace = Trace()
trace.step(2, 2000.0)
trace.step(3, 2500.0)
document = trace.document()
events = document.pop("traceEvents")
head = json.dumps(document, indent=1)[:-2]
lines = ",\n".join("  " + json.dumps(event) for event in events)
(Path(__file__).parent / "files" / "cuda_trace.json").write_text(f'{head},\n "traceEvents": [\n{lines}\n ]\n}}\n')
