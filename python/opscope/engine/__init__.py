"""The capture engine's Python side: abstract runs, the guards around them, and the model's tensors."""
