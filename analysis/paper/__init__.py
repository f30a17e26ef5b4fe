"""The tables and figures of both studies from finished runs, beside the published ones: `python -m analysis.paper`."""
