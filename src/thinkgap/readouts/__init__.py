"""Readouts: from what a pass or a run left to figures and their tables."""
