"""DETR, BERT and ViT through Dynamo, from their configs: no weights, no download.

    python examples/huggingface_models.py --model bert
    python examples/huggingface_models.py --model detr --save-graph output/detr_graph.py
    python examples/huggingface_models.py --model all --layers 1          narrower runs, for a first look
"""

import argparse
import os
import sys

import opscope
from opscope.dynamo import save_graph_to_file, trace_model_with_dynamo

MODELS = {
    "detr": "facebook/detr-resnet-50",
    "bert": "bert-base-uncased",
    "vit": "google/vit-base-patch16-224",
}


def build(name, layers):
    """The model and what it is called with. With `layers` it is built anew with that many, and random weights."""
    model, input_type = opscope.load_transformer_model(MODELS[name])
    if layers:
        config = model.config
        for key in ("num_hidden_layers", "encoder_layers", "decoder_layers"):
            if hasattr(config, key):
                setattr(config, key, layers)
        model = type(model)(config).eval()
    inputs = opscope.inputs_for(model).make()
    print(f"--- {MODELS[name]}: {type(model).__name__}, takes {input_type}: {inputs}\n")
    return model, inputs


def trace(name, options):
    model, inputs = build(name, options.layers)
    extractor = trace_model_with_dynamo(model, inputs, max_nodes=options.nodes)
    totals = extractor.graph.profile().totals
    print(f"\n{totals.macs:,} MACs, {totals.flops:,} FLOPs, {totals.params:,} parameters")
    if options.save_graph:
        path = path_for(name, options)
        for note in save_graph_to_file(extractor, path):
            print(note)
        print(f"saved {path}")


def path_for(name, options):
    """graph.py, or one for each model: graph_bert.py, graph_vit.py."""
    stem, ending = os.path.splitext(options.save_graph)
    return options.save_graph if options.model != "all" else f"{stem}_{name}{ending}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=[*MODELS, "all"], default="all")
    parser.add_argument("--save-graph", metavar="FILE", help="write the graph as Python that runs by itself")
    parser.add_argument("--layers", type=int, help="that many layers instead of the config's")
    parser.add_argument("--nodes", type=int, default=20, help="nodes to print of each partition")
    options = parser.parse_args()
    try:
        for name in MODELS if options.model == "all" else [options.model]:
            trace(name, options)
    except opscope.Error as problem:  # transformers not installed, out of memory, ...
        sys.exit(f"{problem}\n  {problem.hint}")
