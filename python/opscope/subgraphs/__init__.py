"""Subgraphs as the partitioner finds them, described with their tensors, for other tools."""
