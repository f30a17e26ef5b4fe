"""A step of the training against a plain computation of the same gradient."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from by_hand import new_training
from torch import nn

from thinkgap.demo.batches import IGNORED, Pass, School, Writer
from thinkgap.demo.lessons import LESSONS
from thinkgap.demo.phases import rate_factor
from thinkgap.demo.training import Lessons
from thinkgap.schema import DemoConfig

Settings = Callable[..., DemoConfig]
NewPupil = Callable[..., Writer]


def gradients(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def test_a_step_is_that_of_one_plain_pass(
    school: School, pupil: NewPupil, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = pupil()
    cfg = settings(dict.fromkeys(("caption", "statements", "matching", "direct"), 6) | {"rationale": 1})
    module = new_training(cfg, writer)
    passes = Lessons(cfg, school, writer, module.progress).at(0)
    assert len(passes) > 1
    for optimizer in module.optimizers_by_name.values():
        monkeypatch.setattr(optimizer, "step", lambda: None)
        monkeypatch.setattr(optimizer, "zero_grad", lambda: None)
    module.training_step(passes, 0)
    found, tally = gradients(writer.model), module.tally

    writer.model.zero_grad()
    losses, accuracy = plain_figures(writer, passes)
    assert tally.accuracy == pytest.approx(accuracy, abs=1e-5)
    assert any(accuracy.values())
    assert tally.loss == pytest.approx({name: loss.item() for name, loss in losses.items()}, abs=1e-4)
    torch.stack([*losses.values()]).sum().backward()
    wanted = gradients(writer.model)
    norm = torch.stack([gradient.norm() for gradient in wanted.values()]).norm()
    assert norm > 1, "gradients that would not be cut"
    assert found.keys() == wanted.keys() == dict(writer.model.named_parameters()).keys()
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient / norm, atol=1e-4, rtol=1e-3, msg=name)


def plain_figures(writer: Writer, passes: list[Pass]) -> tuple[dict[str, torch.Tensor], dict[str, float]]:
    """Mean token loss and accuracy by lesson, all sequences in one padded pass, with a mask."""
    width = max(one.labels.shape[1] for one in passes)
    pad = writer.tokenizer.pad_token_id
    ids = torch.cat(
        [nn.functional.pad(one.inputs["input_ids"], (0, width - one.labels.shape[1]), value=pad) for one in passes]
    )
    labels = torch.cat(
        [nn.functional.pad(one.labels, (0, width - one.labels.shape[1]), value=IGNORED) for one in passes]
    )
    shown = [one for one in passes if "pixel_values" in one.inputs]
    pictures = {name: torch.cat([one.inputs[name] for one in shown]) for name in ("pixel_values", "image_grid_thw")}
    writer.model.model.rope_deltas = None
    logits = writer.model(
        input_ids=ids,
        attention_mask=(ids != pad).int(),
        mm_token_type_ids=(ids == writer.image_token).int(),
        **pictures,
    ).logits
    lessons = [lesson for one in passes for lesson in one.lessons]
    losses, accuracy = {}, {}
    for lesson in dict.fromkeys(lessons):
        rows = [row for row, own in enumerate(lessons) if own == lesson]
        losses[lesson] = nn.functional.cross_entropy(logits[rows].flatten(0, 1), labels[rows].flatten())
        right = (logits[rows].argmax(-1) == labels[rows])[labels[rows] != IGNORED]
        accuracy[lesson] = float(right.float().mean())
    return losses, accuracy


def test_steps_follow_the_rates_and_lower_the_loss(school: School, pupil: NewPupil, settings: Settings) -> None:
    cfg = settings(steps=30, warmup=4, cooldown=0.5)
    writer = pupil(lively=False)
    module = new_training(cfg, writer)
    passes = Lessons(cfg, school, writer, module.progress).at(0)
    losses = []
    for step in range(20):
        module.training_step(passes, step)
        losses.append(sum(module.tally.loss.values()))
        for optimizer, peak in ((module.muon, cfg.matrix_rate), (module.adamw, cfg.other_rate)):
            assert [group["lr"] for group in optimizer.param_groups] == [peak * rate_factor(cfg, step)]
    assert losses[0] == pytest.approx(len(LESSONS) * torch.log(torch.tensor(480.0)).item(), rel=0.05)
    assert losses[-1] < 0.7 * losses[0]
    assert not gradients(writer.model), "gradients of one step would be added to the next one's"
