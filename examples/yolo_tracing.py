"""A YOLO model up the ladder of tracers, and its Dynamo graph.

    python examples/yolo_tracing.py [MODEL] [--image-size 640] [--save-graph FILE]
"""

import argparse
import sys

import opscope
from opscope.dynamo import save_graph_to_file, trace_model_with_dynamo

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="yolov8n.yaml")
    parser.add_argument("--image-size", type=int, default=640)
    parser.add_argument("--save-graph", metavar="FILE", help="write the graph as Python that runs by itself")
    options = parser.parse_args()
    try:
        model = opscope.load_yolo_model(options.model)
        inputs = opscope.inputs_for(model, image_size=options.image_size).make()

        graph = opscope.trace(model, inputs)
        for rung in graph.rungs:
            print(f"{rung.tracer:14} {rung.outcome:10} {rung.reason}")
        print(f"\n{graph.tracer}: {len(graph.nodes)} nodes, {graph.profile().totals.macs:,} MACs\n")

        extractor = trace_model_with_dynamo(model, inputs, model_name=options.model, max_nodes=20)
        graphs = len(extractor.graph_modules)
        print(f"\nDynamo: {extractor.statistics.nodes} nodes in {graphs} graph{'' if graphs == 1 else 's'}")
        if options.save_graph:
            save_graph_to_file(extractor, options.save_graph)
            print(f"saved {options.save_graph}")
    except opscope.Error as problem:
        sys.exit(f"{problem}\n  {problem.hint}")
