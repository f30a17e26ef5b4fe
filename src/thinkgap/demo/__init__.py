"""The demo: a small world of handwritten digits, its export, and what is trained on it.

Nothing is imported here, so that the world can be used by `thinkgap.data` and the rest may use `thinkgap.data`.
"""
