"""What CUDA's kernels hold beside their results: probes of cuBLAS's and cuDNN's pools, attention, convolutions, and every op of a few training steps."""
import gc, json, os, sys, time, warnings
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
warnings.simplefilter("ignore")
OUT = os.environ.get("OUT", "/tmp")
dev = "cuda"
A = torch.cuda.memory_allocated
R = lambda k: torch.cuda.memory_stats()[k]
def req(): return R("requested_bytes.all.current")
def reqpeak(): return R("requested_bytes.all.peak")
def reset():
    torch.cuda.synchronize(); torch.cuda.reset_peak_memory_stats()
res = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name(), "props": str(torch.cuda.get_device_properties(0))}
def save(name, what):
    json.dump(what, open(os.path.join(OUT, name), "w"))

# 1. pools
pools = {}
def pool(name, f):
    gc.collect(); torch.cuda.synchronize(); b = req(); f(); gc.collect(); torch.cuda.synchronize(); pools[name] = req() - b
for dt in (torch.float32, torch.bfloat16):
    n = str(dt)[6:]
    def mm():
        x = torch.rand(64, 64, device=dev, dtype=dt); y = x @ x; del x, y
    pool("mm " + n, mm)
    def bmm():
        x = torch.rand(4, 64, 64, device=dev, dtype=dt); y = x @ x; del x, y
    pool("bmm " + n, bmm)
    def lin():
        x = torch.rand(64, 64, device=dev, dtype=dt); y = F.linear(x, x, x[0]); del x, y
    pool("linear bias " + n, lin)
    def conv():
        x = torch.rand(1, 8, 16, 16, device=dev, dtype=dt); w = torch.rand(8, 8, 3, 3, device=dev, dtype=dt); y = F.conv2d(x, w); del x, y, w
    pool("conv " + n, conv)
def mmb():
    x = torch.rand(64, 64, device=dev, requires_grad=True); (x @ x).sum().backward()
pool("mm in backward (device thread)", mmb)
def lstm():
    m = nn.LSTM(32, 32, 2).to(dev); x = torch.rand(5, 2, 32, device=dev); y = m(x); del m, x, y
pool("lstm", lstm)
res["pools"] = pools
print(json.dumps(pools, indent=1), flush=True)

# 2. attention
BK = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn", -1: "error"}
rows = []
def attn(dt, B, H, HK, L, S, D, DV, mask, drop, causal, grad, layout):
    try:
        def mk(h, l, d):
            if layout == "blhd": t = torch.rand(B, l, h, d, device=dev, dtype=dt).transpose(1, 2)
            else: t = torch.rand(B, h, l, d, device=dev, dtype=dt)
            return t.detach().requires_grad_(grad)
        q, k, v = mk(H, L, D), mk(HK, S, D), mk(HK, S, DV)
        m = None
        if mask == "bool": m = torch.ones(B, 1, L, S, device=dev, dtype=torch.bool)
        if mask == "float": m = torch.zeros(B, 1, L, S, device=dev, dtype=dt)
        if mask == "float-exp": m = torch.zeros(B, 1, 1, S, device=dev, dtype=dt).expand(B, 1, L, S)
        gqa = H != HK
        choice = BK[torch._fused_sdp_choice(q, k, v, m, drop, causal, scale=None, enable_gqa=gqa)]
        for _ in range(2):
            gc.collect(); reset(); b = req()
            o = F.scaled_dot_product_attention(q, k, v, m, drop, causal, enable_gqa=gqa)
            torch.cuda.synchronize(); after = req() - b; fpeak = reqpeak() - b
            row = dict(dt=str(dt)[6:], B=B, H=H, HK=HK, L=L, S=S, D=D, DV=DV, mask=mask, drop=drop, causal=causal, grad=grad, layout=layout, choice=choice, out=o.numel() * o.element_size(), after=after, fpeak=fpeak, ostride=list(o.stride()), qstride=list(q.stride()))
            if grad:
                g = torch.ones_like(o).contiguous() if layout == "bhld" else torch.rand(B, L, H, DV, device=dev, dtype=dt).transpose(1, 2)
                reset(); b2 = req()
                o.backward(g)
                torch.cuda.synchronize(); row["bafter"] = req() - b2; row["bpeak"] = reqpeak() - b2
                row["gstride"] = [list(t.grad.stride()) for t in (q, k, v)]
                q.grad = k.grad = v.grad = None
                del g
            del o
        rows.append(row)
    except Exception as e:
        rows.append(dict(dt=str(dt)[6:], B=B, H=H, HK=HK, L=L, S=S, D=D, DV=DV, mask=mask, drop=drop, causal=causal, grad=grad, layout=layout, error=str(e)[:200]))
t0 = time.time()
for dt in (torch.float32, torch.bfloat16, torch.float16):
    for grad in (False, True):
        for (B, H, HK, L, S, D, DV) in [(4, 12, 12, 128, 128, 64, 64), (4, 12, 12, 512, 512, 64, 64), (2, 32, 8, 512, 512, 64, 64), (2, 16, 16, 200, 200, 80, 80), (2, 6, 6, 197, 197, 33, 33), (2, 8, 8, 1024, 77, 40, 40), (1, 8, 8, 256, 256, 128, 128), (1, 8, 8, 256, 256, 256, 256), (3, 16, 16, 300, 300, 192, 128), (8, 32, 8, 1, 1024, 128, 128), (1, 4, 4, 2048, 2048, 512, 512), (2, 32, 8, 1025, 1025, 128, 128)]:
            for mask in ("", "bool", "float", "float-exp"):
                for drop in (0.0, 0.1):
                    for causal in (False, True):
                        if causal and (mask or L != S): continue
                        if drop and (not grad): continue
                        for layout in ("blhd", "bhld"):
                            if layout == "bhld" and (mask == "float-exp"): continue
                            attn(dt, B, H, HK, L, S, D, DV, mask, drop, causal, grad, layout)
res["attention"] = rows
save("attention.json", res)
print("attention", len(rows), time.time() - t0, flush=True)

# 3. convolutions
import torchvision
def sigs(name, size=224):
    found = []
    m = getattr(torchvision.models, name)(weights=None).eval() if name not in ("googlenet", "inception_v3") else getattr(torchvision.models, name)(weights=None, init_weights=False, aux_logits=False).eval()
    hooks = [c.register_forward_hook(lambda c, i, o: found.append((c.in_channels, c.out_channels, tuple(c.kernel_size), tuple(c.stride), tuple(c.padding), tuple(c.dilation), c.groups, tuple(i[0].shape[2:])))) for c in m.modules() if isinstance(c, nn.Conv2d)]
    m.to("meta")(torch.empty(1, 3, size, size, device="meta"))
    return found
conv_sigs = set()
for name in ("vgg16", "resnet18", "resnet50", "regnet_y_8gf", "regnet_x_400mf", "inception_v3", "mobilenet_v2", "efficientnet_b0", "convnext_tiny", "densenet121", "googlenet", "shufflenet_v2_x1_0", "alexnet", "squeezenet1_0", "mnasnet1_0", "resnext50_32x4d"):
    try: conv_sigs |= set(sigs(name, 299 if name == "inception_v3" else 224))
    except Exception as e: print(name, e)
conv_sigs = sorted(conv_sigs)
print("conv signatures", len(conv_sigs), flush=True)
conv_rows = []
t0 = time.time()
def conv_probe(sig, B, dt, cl, back):
    ci, co, ks, st, pa, di, g, hw = sig
    x = torch.rand(B, ci, *hw, device=dev, dtype=dt); w = torch.rand(co, ci // g, *ks, device=dev, dtype=dt)
    if cl: x = x.to(memory_format=torch.channels_last); w = w.to(memory_format=torch.channels_last)
    out = []
    for _ in range(2):
        reset(); b = req()
        y = F.conv2d(x, w, None, st, pa, di, g)
        torch.cuda.synchronize(); f = reqpeak() - b; a = req() - b
        r = [f - a, list(y.shape), a - y.numel() * y.element_size()]
        if back:
            gy = torch.rand_like(y)
            for m in ([True, False, False], [False, True, False], [True, True, False]):
                reset(); b = req()
                gr = torch.ops.aten.convolution_backward(gy, x, w, None, st, pa, di, False, [0, 0], g, m)
                torch.cuda.synchronize(); r.append(reqpeak() - req()); del gr
        del y
        out = r
    return out
def hwsig(hw): return hw
limit = float(os.environ.get("CONV_SECONDS", "150"))
plan = [(sig, B, dt, cl) for B, dt, cl in ((32, torch.float32, False), (32, torch.bfloat16, False), (1, torch.float32, False), (8, torch.float32, False), (8, torch.bfloat16, True), (32, torch.bfloat16, True), (32, torch.float32, True), (4, torch.float16, False)) for sig in conv_sigs]
for sig, B, dt, cl in plan:
    if time.time() - t0 > limit: print("stopped at", len(conv_rows), "of", len(plan)); break
    try: conv_rows.append([list(sig), B, str(dt)[6:], cl, conv_probe(sig, B, dt, cl, True)])
    except Exception as e: conv_rows.append([list(sig), B, str(dt)[6:], cl, str(e)[:100]])
save("conv.json", conv_rows)
print("conv", len(conv_rows), time.time() - t0, flush=True)

# 4. every op of training steps
class Ops(TorchDispatchMode):
    def __init__(self): super().__init__(); self.rows = {}
    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        torch.cuda.reset_peak_memory_stats(); b = req()
        r = op(*args, **(kwargs or {}))
        a, p = req(), reqpeak()
        sig = []
        def see(t):
            if isinstance(t, torch.Tensor): sig.append((str(t.dtype)[6:], list(t.shape), list(t.stride())))
            elif isinstance(t, (list, tuple)):
                if t and all(isinstance(i, int) for i in t): sig.append(list(t))
                else: [see(i) for i in t[:24]]
            elif isinstance(t, (int, float, bool)) or t is None: sig.append(t)
        see(args); see(list((kwargs or {}).values()))
        outs = []
        def out(t):
            if isinstance(t, torch.Tensor): outs.append((str(t.dtype)[6:], list(t.shape)))
            elif isinstance(t, (list, tuple)): [out(i) for i in t[:24]]
        out(r)
        if p - max(a, b) > 0:
            key = str(op) + json.dumps(sig)
            if key not in self.rows: self.rows[key] = dict(op=str(op), args=sig, outs=outs, temp=p - max(a, b), net=a - b, n=0)
            self.rows[key]["n"] += 1
        return r
class Loss(nn.Module):
    def __init__(self, m): super().__init__(); self.m = m
    def forward(self, **k):
        o = self.m(**k)
        o = o if isinstance(o, torch.Tensor) else getattr(o, "logits", None) if getattr(o, "logits", None) is not None else o[0]
        return o.float().mean()
import transformers as tf
tok = lambda b, l, *n: {k: torch.randint(0, 1000, (b, l), device=dev) for k in n}
img = lambda b, s=224, n="pixel_values": {n: torch.rand(b, 3, s, s, device=dev)}
M = {
 "bert": (lambda: tf.BertModel(tf.BertConfig()), lambda: tok(8, 200, "input_ids", "attention_mask")),
 "gpt2": (lambda: tf.GPT2LMHeadModel(tf.GPT2Config(use_cache=False)), lambda: tok(4, 300, "input_ids")),
 "t5": (lambda: tf.T5ForConditionalGeneration(tf.T5Config(use_cache=False)), lambda: tok(8, 128, "input_ids", "decoder_input_ids")),
 "llama": (lambda: tf.LlamaForCausalLM(tf.LlamaConfig(use_cache=False, hidden_size=768, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=12, num_key_value_heads=4, vocab_size=32000)), lambda: tok(4, 300, "input_ids")),
 "whisper": (lambda: tf.WhisperModel(tf.WhisperConfig(use_cache=False)), lambda: {"input_features": torch.rand(4, 80, 3000, device=dev), "decoder_input_ids": torch.randint(0, 1000, (4, 64), device=dev)}),
 "vit": (lambda: tf.ViTForImageClassification(tf.ViTConfig()), lambda: img(8)),
 "swin": (lambda: tf.SwinForImageClassification(tf.SwinConfig()), lambda: img(8)),
 "resnet50": (lambda: torchvision.models.resnet50(), lambda: img(16, n="x")),
 "convnext_tiny": (lambda: torchvision.models.convnext_tiny(), lambda: img(8, n="x")),
 "efficientnet_b0": (lambda: torchvision.models.efficientnet_b0(), lambda: img(8, n="x")),
 "mixtral": (lambda: tf.MixtralForCausalLM(tf.MixtralConfig(use_cache=False, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2, vocab_size=8000)), lambda: tok(2, 128, "input_ids")),
}
op_rows, whole = {}, []
for name, (build, inputs) in M.items():
    for dt, auto in ((torch.float32, None), (torch.bfloat16, None), (torch.float32, torch.bfloat16)):
        try:
            torch.manual_seed(0); gc.collect(); torch.cuda.empty_cache()
            base = req()
            inp = inputs()
            inp = {k: v.to(dt) if v.is_floating_point() and auto is None else v for k, v in inp.items()}
            model = Loss(build().to(dt)).to(dev).train()
            if "x" in inp:  # torchvision takes it by place
                inner = model.m; model.m = type("W", (nn.Module,), {"forward": lambda s, x: s.net(x)})(); model.m.net = inner
            opt = torch.optim.AdamW(model.parameters())
            def step():
                opt.zero_grad()
                with torch.autocast("cuda", dtype=auto or torch.bfloat16, enabled=auto is not None): loss = model(**inp)
                loss.backward(); opt.step()
            step(); step(); opt.zero_grad(); gc.collect(); torch.cuda.empty_cache(); reset()
            start = req() - base
            step(); torch.cuda.synchronize()
            w = dict(model=name, dt=str(dt)[6:], auto=str(auto), start=start, req=reqpeak() - base, alloc=torch.cuda.max_memory_allocated(), base=base)
            opt.zero_grad(); gc.collect(); reset()
            ops = Ops()
            with ops: step()
            for k, r in ops.rows.items():
                op_rows.setdefault(k, dict(r, model=name, auto=str(auto)))
            whole.append(w)
            del model, opt, inp
        except Exception as e:
            whole.append(dict(model=name, dt=str(dt), auto=str(auto), error=repr(e)[:300]))
        print(whole[-1], flush=True)
save("ops.json", {"whole": whole, "ops": list(op_rows.values())})
print("ops", len(op_rows), flush=True)
