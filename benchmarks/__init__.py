"""Measurements of misstep against its targets: `python -m benchmarks`."""
