"""People label traces: draw a blinded sample, make its page, read the files that come back, print the agreement.

The command is `python -m analysis.annotate`; how it is used is in `docs/annotation.md`. Reads stored responses only.
"""
