"""Fuzzing of what reads foreign bytes: `python -m fuzz.extraction -max_total_time=3600` (needs `pip install atheris`).

Each module is one target: a function `check(data)` that takes any bytes and raises only where the library breaks its
word. Inputs that once failed, and a few that reach most code, are kept in `fuzz/corpus/TARGET/`; the quick tests replay
them without atheris.
"""
