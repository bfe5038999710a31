"""Real runs: timed ops, peak memory of the allocators, the profiler of a training loop."""
