"""One self-contained HTML page of finished runs: verdicts, tables, plots, items, and two runs side by side.

The command is `python -m analysis.report`; how it is used is in `docs/report.md`. Loads no model.
"""
