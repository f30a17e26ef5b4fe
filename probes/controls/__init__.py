"""Controls of linear probes: what shows that a probe reads the answer, and not a prior, a leak or its own capacity.

Pure functions on `probes.part.Part`: one file to a control, `sheet` and `curves` for their tables. All report on the
test rows in the source's order, one to a question. What each can and cannot show: `docs/probe_controls.md`.
"""
