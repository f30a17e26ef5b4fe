"""Steps of a demo training by hand."""

from __future__ import annotations

from thinkgap.demo.batches import Writer
from thinkgap.demo.training import DemoTraining, Progress
from thinkgap.schema import DemoConfig


def new_training(cfg: DemoConfig, writer: Writer, progress: Progress | None = None) -> DemoTraining:
    """A training whose steps can be taken without Lightning's loop."""
    module = DemoTraining(cfg, writer.model.train(), writer, progress or Progress())
    module.manual_backward = lambda loss: loss.backward()
    return module
