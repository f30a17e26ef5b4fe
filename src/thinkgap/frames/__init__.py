"""Finished runs as tidy data frames: `thinkgap.load`. Reads files; loads no model and computes no figure."""

from thinkgap.frames.load import Runs, load

__all__ = ["Runs", "load"]
