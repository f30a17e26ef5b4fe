"""Measurements of how fast and how exact scoring is: `python -m benchmarks.scoring --help`. Not part of the package."""
