"""The questions that take more than one profile: compare, diff, sweep, fit, check."""
