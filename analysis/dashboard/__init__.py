"""Panels in W&B that compare runs: a workspace and a report, built from the figures that runs log."""
