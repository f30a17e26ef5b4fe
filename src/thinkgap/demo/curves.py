"""The curves of a training as a picture: losses, label accuracy and tokens by step. It knows no model."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from thinkgap.tracking.plots import plain_style


def curves_picture(points: Sequence[Mapping[str, Any]]) -> bytes:
    """Curves as SVG."""
    with plain_style() as pyplot:
        return _drawn(pyplot, points)


def _drawn(pyplot: Any, points: Sequence[Mapping[str, Any]]) -> bytes:
    figure, panels = pyplot.subplots(1, 3, figsize=(13, 3.6))
    for panel, kind, title in zip(
        panels,
        ("loss/", "validation/direct/", "validation/tokens/"),
        ("training loss by lesson (nats)", "Direct on validation facts", "reply tokens right on validation facts"),
        strict=True,
    ):
        for name in sorted({name for point in points for name in point if name.startswith(kind)}):
            own = [(point["step"], point[name]) for point in points if name in point]
            panel.plot(*zip(*own, strict=True), label=name.removeprefix(kind), linewidth=1)
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("step")
        if panel.lines:
            panel.legend(fontsize=7)
    panels[0].set_yscale("log")
    overall = [(point["step"], point["validation/direct"]) for point in points if "validation/direct" in point]
    if overall:
        panels[1].plot(*zip(*overall, strict=True), label="all", color="black", linewidth=2)
        panels[1].legend(fontsize=7)
    figure.tight_layout()
    sink = io.BytesIO()
    figure.savefig(sink, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return sink.getvalue()
