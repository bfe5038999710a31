"""A Hugging Face LLaMA: its inner model wrapped, profiled, and then generating as before.

The model is a small one with random weights and the tokens are numbers made here, so that nothing is downloaded; with a
checkpoint, `from_pretrained` and its tokenizer take their place.

    python examples/profiler_hf_llama.py
    cat llama_profile_module.txt
"""

import argparse

import torch
import transformers

from opscope import Profiler


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--new-tokens", type=int, default=12)
    options = parser.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = transformers.LlamaConfig(
        vocab_size=512, hidden_size=128, intermediate_size=352, num_hidden_layers=options.layers,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
        bos_token_id=1, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval().to(device)
    ids = torch.randint(2, 512, (1, 8), device=device)
    dry_inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    generate = {"max_new_tokens": options.new_tokens, "do_sample": False}
    before = model.generate(**dry_inputs, **generate)

    # Wrap the inner model and indicate which kwarg carries tokens
    model.model = Profiler(model.model, granularity="module", token_kwarg="input_ids", auto_profile=False, capture_ops=False)

    # Module-level graph
    model.model.profile_once(**dry_inputs)
    model.model.export("llama_profile", module_include_edges=True, include_stats=True, overwrite_module=True)

    # Optional operator-level detail graph
    model.model.profile_detail(**dry_inputs)
    model.model.export("llama_profile", detail_include_edges=True, include_stats=True, overwrite_module=False)

    model.model.graph.stats()
    after = model.generate(**dry_inputs, **generate)
    print("generated", after[0, ids.shape[1] :].tolist())
    print("as before the Profiler:", torch.equal(before, after))


if __name__ == "__main__":
    main()
