"""A saved probe says in another process what it said here, and refuses what it was not fitted for."""

from __future__ import annotations

import hashlib
import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save
from torch import Tensor

import probes
from probes import artefacts
from probes.artefacts import CARD, README, WEIGHTS, load_probe, probe_folder, save_probe
from probes.card import Card, Figure, Split, make_card
from probes.heads import Place
from probes.linear_probe import LinearProbe, Standard
from probes.prompt_hash import facts_hash, prompt_hash
from probes.saved_probe import SavedProbe
from tests.conftest import ROOT
from tests.test_config import composed
from thinkgap.errors import DataError, StoreError, ThinkgapError
from thinkgap.evaluation.native import run_native
from thinkgap.metrics import Estimate
from thinkgap.metrics.intervals import MISSING
from thinkgap.store.features import features_of_run
from thinkgap.store.manifest import read_manifest

PLACE = Place("let_me_think", "layer_1")
FIGURES = (
    Figure.of("probe accuracy", Estimate(0.75, 0.5, 0.875, 8)),
    Figure.of("native accuracy", MISSING, "the test split was not read"),
)
CAPTURE = ("evaluation.capture.enabled=true", "evaluation.capture.final_norm=true")


@pytest.fixture(scope="module")
def evaluated(tiny_model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`evaluated(*overrides, family=)`: the folder of a finished run on 12 generated items, one for all tests."""
    root = tmp_path_factory.mktemp("runs")
    made: dict[tuple[str, ...], Path] = {}

    def run(*overrides: str, family: str = "llama") -> Path:
        key = (family, *overrides)
        if key not in made:
            defaults = ["model=local", f"model.path={tiny_model(family)}", f"model.name={family}", "logger=none"]
            defaults += ["dataset=toy_facts", "dataset.limit=12", "trigger=let_me_think", f"paths.cells_dir={root}"]
            made[key] = root / f"run-{len(made)}"
            run_native(composed(*defaults, *overrides), made[key])
        return made[key]

    return run


@dataclass(frozen=True)
class Made:
    """A saved probe, the run whose states it was fitted on, and those rows."""

    folder: Path
    run: Path
    probe: LinearProbe
    card: Card
    states: Tensor
    gold: Tensor
    k: Tensor


@pytest.fixture(scope="module")
def saved(evaluated: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A probe that fits 24 rows of 64 numbers exactly, by least squares."""
    run = evaluated(*CAPTURE, "evaluation.permutations=2")
    found = features_of_run(run, [PLACE.state], PLACE.condition)
    states, gold, k = found.states[:, 0], *(torch.tensor(found.rows[name].to_pylist()) for name in ("gold_slot", "k"))
    standard = Standard.of(states)
    wanted = torch.nn.functional.one_hot(gold, int(k.max())).float()
    probe = LinearProbe(standard, torch.linalg.pinv(standard(states)) @ (wanted - wanted.mean(0)), wanted.mean(0))
    card = make_card(
        read_manifest(run),
        PLACE,
        role="study",
        labels="ABCDE",
        d=states.shape[1],
        bias=True,
        dataset="toy_facts",
        splits=[Split("fit", "train", 12, 24)],
        solver="exact",
        setting="C=0.1",
        seed=3,
        figures=FIGURES,
    )
    folder = probe_folder(tmp_path_factory.mktemp("training"), PLACE.condition, "study")
    save_probe(folder, probe, card)
    return Made(folder, run, probe, card, states, gold, k)


def again(saved: Made, folder: Path, **changes: Any) -> SavedProbe:
    """The same probe with another card."""
    save_probe(folder, saved.probe, replace(saved.card, **changes))
    return load_probe(folder)


def test_what_is_read_is_what_was_written(saved: Made) -> None:
    found = load_probe(saved.folder)
    assert found.card == saved.card
    for one, other in (
        (found.probe.weight, saved.probe.weight),
        (found.probe.bias, saved.probe.bias),
        (found.probe.standard.mean, saved.probe.standard.mean),
        (found.probe.standard.scale, saved.probe.standard.scale),
    ):
        assert one.dtype is torch.float32
        assert one.shape == other.shape
        assert one.numpy().tobytes() == other.contiguous().numpy().tobytes()


def test_the_card_says_what_the_manifest_does(saved: Made) -> None:
    stored, manifest = json.loads((saved.folder / CARD).read_text()), read_manifest(saved.run)
    condition = next(one for one in manifest["conditions"] if one["name"] == "let_me_think")
    for key in ("class", "revision"):
        assert stored["model"][key] == manifest["model"][key] is not None
    for key in ("text", "placement", "thinking", "kind", "label_ids"):
        assert stored["prompt"][key] == condition[key]
    assert (stored["model_name"], stored["state"], stored["layer"]) == ("llama", "layer_1", 1)
    assert stored["prompt_hash"] == prompt_hash(manifest, "let_me_think")
    assert stored["weights_sha256"] == hashlib.sha256((saved.folder / WEIGHTS).read_bytes()).hexdigest()
    assert stored["libraries"]["thinkgap"] == manifest["libraries"]["thinkgap"] is not None
    assert stored["figures"][0] == {
        "name": "probe accuracy", "n": 8, "value": 0.75, "low": 0.5, "high": 0.875, "reason": "",
    }  # fmt: skip
    assert stored["date"] is None


def test_the_readme_says_what_the_card_does(saved: Made) -> None:
    text = (saved.folder / README).read_text()
    for part in (
        "let_me_think, layer_1 (study)", '"Let me think step by step."', saved.card.prompt_hash, "LlamaForCausalLM",
        "train: 12 items, 24 rows", "exact, C=0.1, with bias, seed 3", "5 (A B C D E)", "50.0 to 87.5",
        "n/a (the test split was not read)", "the residual after layer 1 (counted from 0)", "states [n, 64]",
    ):  # fmt: skip
        assert part in text
    assert str(saved.folder.parents[3]) not in text


def test_equal_probes_give_equal_bytes_whatever_was_there(saved: Made, tmp_path: Path) -> None:
    again(saved, tmp_path, seed=4, date="2026-01-01")
    assert "2026-01-01" in (tmp_path / README).read_text()
    save_probe(tmp_path, saved.probe, saved.card)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == sorted([CARD, README, WEIGHTS])
    for name in names:
        assert (tmp_path / name).read_bytes() == (saved.folder / name).read_bytes()


def test_it_says_the_same_in_another_process(saved: Made, tmp_path: Path) -> None:
    code = (
        "import sys, probes\n"
        "assert not {'torch', 'pandas', 'pyarrow'} & set(sys.modules)\n"
        "probe = probes.load(sys.argv[1])\n"
        "rows = probe.read_run(sys.argv[2])\n"
        "rows.to_json(sys.argv[3], orient='split')\n"
    )
    arguments = [str(saved.folder), str(saved.run), str(tmp_path / "rows.json")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stored = json.loads((tmp_path / "rows.json").read_text())
    names = ["item_id", "presentation", "condition", "k", "gold_slot", "pred_slot", "probe_slot", "probe_correct"]
    assert stored["columns"] == names
    expected = saved.probe.slots(saved.states, saved.k)
    table = dict(zip(names, zip(*stored["data"], strict=True), strict=True))
    assert list(table["probe_slot"]) == expected.tolist()
    # As many free numbers as it takes to be right everywhere: one row out of place would show.
    assert list(table["gold_slot"]) == saved.gold.tolist() == expected.tolist()
    assert all(table["probe_correct"])
    assert len(set(zip(table["item_id"], table["presentation"], strict=True))) == 24
    native = features_of_run(saved.run, [PLACE.state], PLACE.condition).rows["pred_slot"].to_pylist()
    assert list(table["pred_slot"]) == native
    assert native != saved.gold.tolist()


@pytest.fixture
def small(saved: Made, tmp_path: Path) -> SavedProbe:
    """D = 2, K = 3, worked by hand below."""
    standard = Standard(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0]))
    weight = torch.tensor([[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]])
    card = replace(saved.card, d=2, n_slots=3, labels=("A", "B", "C"))
    save_probe(tmp_path / "small", LinearProbe(standard, weight, torch.tensor([0.0, 0.5, 0.0])), card)
    return load_probe(tmp_path / "small")


def test_logits_and_slots_by_hand(small: SavedProbe) -> None:
    # (3, 2): ((3-1)/2, (2-2)/4) = (1, 0) -> (1, 0 + 1/2, -1). (1, 6): (0, 1) -> (0, 1 + 1/2, 1). (-3, 2): (-2, 0) ->
    # (-2, 1/2, 2), whose third slot an item with two options lacks.
    states = torch.tensor([[3.0, 2.0], [1.0, 6.0], [-3.0, 2.0], [-3.0, 2.0]])
    absent = float("-inf")
    expected = [[1.0, 0.5, -1.0], [0.0, 1.5, 1.0], [-2.0, 0.5, 2.0], [-2.0, 0.5, absent]]
    assert small.logits(states, [3, 3, 3, 2]).tolist() == expected
    assert small.slots(states, torch.tensor([3, 3, 3, 2])).tolist() == [0, 1, 2, 1]
    assert small.slots(states, 3).tolist() == [0, 1, 2, 2]
    # An item with more options than were ever fitted has the first three.
    assert small.slots(states, 9).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arrays_will_do_even_read_only_ones(small: SavedProbe, dtype: type) -> None:
    states = np.array([[3, 2], [1, 6], [-3, 2]], dtype)
    states.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert small.slots(states, np.array([3, 3, 2])).tolist() == [0, 1, 1]
        assert small.slots(states[:0], 3).tolist() == []


def test_states_that_do_not_fit_are_refused(small: SavedProbe) -> None:
    for shape in ((4, 3), (2,), (4, 1, 2)):
        with pytest.raises(DataError, match=r"states of shape \[.*reads \[n, 2\], the state 'layer_1' of llama"):
            small.slots(torch.zeros(shape), 3)
    states = torch.zeros(4, 2)
    for k in ([3, 3, 3], [3, 3, 0, 3], [3.0] * 4, 0, [[3]] * 4):
        with pytest.raises(DataError, match="number of options of each of the 4 states"):
            small.slots(states, k)  # pyright: ignore[reportArgumentType]
    states[2, 1] = torch.inf
    states[3, 0] = torch.nan
    with pytest.raises(DataError, match=r"layer_1 of row 2 is not finite \(2 of 4 are not\)"):
        small.slots(states, 3)


def test_a_run_of_another_model_is_refused(saved: Made, evaluated: Callable[..., Path]) -> None:
    other = evaluated(*CAPTURE, family="qwen3")
    message = r"reads states of llama; .* is of another model \(class: LlamaForCausalLM on the card, Qwen3ForCausalLM"
    with pytest.raises(StoreError, match=message):
        load_probe(saved.folder).read_run(other)
    with pytest.raises(StoreError, match="another model"):
        load_probe(saved.folder).read_run(other, other_prompts=True)


def test_a_run_of_another_revision_is_refused(saved: Made, tmp_path: Path) -> None:
    probe = again(saved, tmp_path, model={**saved.card.model, "revision": "sha256:0"})
    with pytest.raises(StoreError, match=r"\(revision: sha256:0 on the card, sha256:[0-9a-f]{64} there\)"):
        probe.read_run(saved.run)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        (
            "trigger.conditions.let_me_think.text=Hm.",
            "text is 'Let me think step by step.' on the card and 'Hm.' there",
        ),
        ("trigger.placement=assistant", "placement is 'user' on the card and 'assistant' there"),
        ("prompt.instruction=Answer.", "prompt.instruction is '' on the card and 'Answer.' there"),
    ],
)
def test_another_prompt_under_the_same_name_is_refused_unless_asked_for(
    saved: Made, evaluated: Callable[..., Path], override: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    probe, other = load_probe(saved.folder), evaluated(*CAPTURE, override)
    with pytest.raises(StoreError) as caught:
        probe.read_run(other)
    assert told in str(caught.value)
    assert "other_prompts=True" in str(caught.value)
    with caplog.at_level(logging.WARNING):
        rows = probe.read_run(other, other_prompts=True)
    assert told in caplog.text
    states = features_of_run(other, [PLACE.state], PLACE.condition).states[:, 0]
    assert rows.probe_slot.tolist() == saved.probe.slots(states, torch.tensor(rows.k.tolist())).tolist()


def test_another_condition_is_another_prompt(saved: Made, caplog: pytest.LogCaptureFixture) -> None:
    probe = load_probe(saved.folder)
    with pytest.raises(StoreError, match="another prompt than condition 'direct'.*text is 'Let me think"):
        probe.read_run(saved.run, "direct")
    rows = probe.read_run(saved.run, "direct", other_prompts=True)
    assert set(rows.condition) == {"direct"}
    assert "reads condition 'direct'" in caplog.text
    with pytest.raises(StoreError, match="no condition 'think'; did you mean 'let_me_think'"):
        probe.read_run(saved.run, "think")


def test_a_run_with_fewer_labels_has_the_same_prompt(
    saved: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    more: Mapping[str, Any] = {**saved.card.prompt, "label_ids": saved.card.prompt["label_ids"] | {"F": [54]}}
    probe = again(saved, tmp_path, prompt=more, prompt_hash=facts_hash(more))
    assert probe.card.prompt_hash != saved.card.prompt_hash
    assert probe.read_run(saved.run).probe_correct.all()
    assert not caplog.records


def test_rows_with_more_options_than_it_knows_are_told(
    saved: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    probe = LinearProbe(saved.probe.standard, saved.probe.weight[:, :2], saved.probe.bias[:2])
    save_probe(tmp_path, probe, replace(saved.card, n_slots=2, labels=("A", "B")))
    rows = load_probe(tmp_path).read_run(saved.run)
    assert set(rows.probe_slot) <= {0, 1}
    assert f"{int((saved.k > 2).sum())} of 24 rows" in caplog.text
    assert (rows.probe_correct == (rows.probe_slot == rows.gold_slot)).all()


@pytest.mark.parametrize(
    ("capture", "state", "layer", "told"),
    [
        ((), "layer_1", 1, r"kept nothing\. .*capture.enabled=true evaluation.capture.layers=\[1\]"),
        (("evaluation.capture.enabled=true", "evaluation.capture.layers=[0]"), "final_norm", None,
         r"kept layer_0\. .*evaluation.capture.final_norm=true"),
        (("evaluation.capture.enabled=true", "evaluation.capture.layers=[0]"), "embeddings", None,
         "evaluation.capture.embeddings=true"),
    ],
)  # fmt: skip
def test_a_state_that_was_not_kept_is_refused_with_the_setting_that_keeps_it(
    saved: Made, evaluated: Callable[..., Path], tmp_path: Path,
    capture: tuple[str, ...], state: str, layer: int | None, told: str,
) -> None:  # fmt: skip
    probe = again(saved, tmp_path, state=state, layer=layer)
    with pytest.raises(StoreError, match=f"reads the state '{state}'; .*{told}"):
        probe.read_run(evaluated(*capture))


def test_states_of_another_width_are_refused(small: SavedProbe, saved: Made) -> None:
    with pytest.raises(DataError, match=r"states of shape \[24, 64\]: the probe .* reads \[n, 2\]"):
        small.read_run(saved.run)


def test_a_state_that_is_not_finite_is_named_by_its_item(saved: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    found = features_of_run(saved.run, [PLACE.state], PLACE.condition)
    found.states[5, 0, 7] = torch.nan
    monkeypatch.setattr("probes.saved_probe.features_of_run", lambda *_: found)
    item, presentation = found.rows["item_id"][5].as_py(), found.rows["presentation"][5].as_py()
    with pytest.raises(DataError, match=rf"layer_1 of item {item} \({presentation}\) in .* is not finite \(1 of 24"):
        load_probe(saved.folder).read_run(saved.run)


def test_what_is_no_finished_run_is_refused(saved: Made, tmp_path: Path) -> None:
    probe = load_probe(saved.folder)
    with pytest.raises(StoreError, match="holds no records"):
        probe.read_run(tmp_path)
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "part-r000-000000.parquet").write_bytes(b"")
    with pytest.raises(StoreError, match="holds an unfinished run"):
        probe.read_run(tmp_path)


def copied(saved: Made, folder: Path, tensors: Mapping[str, Tensor] | None = None, **card: Any) -> Path:
    """The probe with other tensors, whose digest is right, and other fields of card.json."""
    stored = json.loads((saved.folder / CARD).read_text()) | card
    data = (saved.folder / WEIGHTS).read_bytes()
    if tensors is not None:
        data = save({name: tensor.contiguous() for name, tensor in tensors.items()})
        stored["weights_sha256"] = hashlib.sha256(data).hexdigest()
    (folder / WEIGHTS).write_bytes(data)
    (folder / CARD).write_text(json.dumps(stored))
    return folder


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"weight": torch.zeros(64, 4)},
            r"its weight is torch.float32 \[64, 4\]; the card says torch.float32 \[64, 5\]",
        ),
        ({"weight": torch.zeros(5, 64)}, r"its weight is torch.float32 \[5, 64\]"),
        ({"bias": torch.zeros(5, dtype=torch.float64)}, "its bias is torch.float64"),
        ({"weight": torch.full((64, 5), torch.nan)}, "its weight is not finite"),
        ({"mean": torch.full((64,), torch.inf)}, "its mean is not finite"),
        ({"scale": torch.zeros(64)}, "its scale is not positive"),
        ({"extra": torch.zeros(1)}, "it has bias, extra, mean, scale, weight instead of weight, bias, mean, scale"),
        ({"scale": None}, "it has bias, mean, weight instead of"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(
    saved: Made, tmp_path: Path, change: Mapping[str, Tensor | None], told: str
) -> None:
    tensors = {**load_file(saved.folder / WEIGHTS), **change}
    with pytest.raises(StoreError, match=f"damaged probe: {told}.*; delete its folder and start"):
        load_probe(copied(saved, tmp_path, {name: one for name, one in tensors.items() if one is not None}))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema": 2}, "has schema 2, this version of thinkgap reads 1"),
        ({"d": "64"}, "its d is '64', not a whole number"),
        ({"d": 65}, r"the card says torch.float32 \[65, 5\]"),
        ({"labels": ["A"]}, "1 labels for 5 slots"),
        ({"prompt": {"text": ""}}, "its prompt_hash is not that of its prompt"),
        ({"unknown": 1}, "card.json: .*unexpected keyword argument 'unknown'"),
        ({"splits": [{}]}, "card.json: .*missing"),
        ({"splits": 7}, "card.json: .*not iterable"),
        ({"weights_sha256": "0"}, "the sha256 of probe.safetensors is not that of its card"),
        ({"figures": [{"name": "x", "n": 1, "value": None}]}, "figure x: it needs a value, or the reason"),
    ],
)
def test_cards_that_do_not_fit_are_refused(saved: Made, tmp_path: Path, change: dict[str, Any], told: str) -> None:
    with pytest.raises(StoreError, match=told):
        load_probe(copied(saved, tmp_path, **change))


@pytest.mark.parametrize("missing", ["condition", "weights_sha256", "figures", "schema"])
def test_a_card_without_a_field_is_refused(saved: Made, tmp_path: Path, missing: str) -> None:
    copied(saved, tmp_path)
    stored = json.loads((tmp_path / CARD).read_text())
    del stored[missing]
    (tmp_path / CARD).write_text(json.dumps(stored))
    with pytest.raises(StoreError, match=missing if missing != "schema" else "no probe's card or damaged"):
        load_probe(tmp_path)


def test_cut_and_corrupted_files_are_refused(saved: Made, tmp_path: Path) -> None:
    for name in (CARD, WEIGHTS):
        whole = (saved.folder / name).read_bytes()
        for content in (b"", whole[: len(whole) // 2], whole.rstrip()[:-1], b"\xff" + whole[1:], b"[]"):
            copied(saved, tmp_path)
            (tmp_path / name).write_bytes(content)
            with pytest.raises(StoreError, match=name):
                load_probe(tmp_path)
    copied(saved, tmp_path)
    flipped = bytearray((tmp_path / WEIGHTS).read_bytes())
    flipped[-1] ^= 1
    (tmp_path / WEIGHTS).write_bytes(flipped)
    with pytest.raises(StoreError, match="the sha256 of probe.safetensors"):
        load_probe(tmp_path)
    (tmp_path / WEIGHTS).write_bytes(b"not tensors")
    stored = json.loads((tmp_path / CARD).read_text())
    stored["weights_sha256"] = hashlib.sha256(b"not tensors").hexdigest()
    (tmp_path / CARD).write_text(json.dumps(stored))
    with pytest.raises(StoreError, match="probe.safetensors cannot be read"):
        load_probe(tmp_path)
    (tmp_path / WEIGHTS).unlink()
    with pytest.raises(StoreError, match="probe.safetensors is missing"):
        load_probe(tmp_path)


def test_a_writer_that_was_stopped_leaves_no_card_beside_other_weights(
    saved: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again(saved, tmp_path)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    other = LinearProbe(saved.probe.standard, saved.probe.weight + 1, saved.probe.bias)
    monkeypatch.setattr(artefacts, "write_text", stop)
    with pytest.raises(KeyboardInterrupt):
        save_probe(tmp_path, other, saved.card)
    with pytest.raises(StoreError, match="its writer was stopped: start the same command of train.py again"):
        load_probe(tmp_path)


def test_other_folders_lead_to_the_probes(saved: Made, tmp_path: Path) -> None:
    for above in saved.folder.parents[:3]:
        with pytest.raises(StoreError, match="is no saved probe .* below it are .*let_me_think/study: give one"):
            probes.load(above)
    with pytest.raises(ThinkgapError, match="is no saved probe .*RUN/probes/CONDITION/study"):
        probes.load(str(tmp_path))
    with pytest.raises(ThinkgapError, match="is no saved probe"):
        probes.load(saved.folder / WEIGHTS)


def test_a_probe_that_could_not_be_read_again_is_not_saved(saved: Made, tmp_path: Path) -> None:
    bad = LinearProbe(saved.probe.standard, saved.probe.weight * torch.nan, saved.probe.bias)
    with pytest.raises(StoreError, match="cannot be saved: its weight is not finite"):
        save_probe(tmp_path / "new", bad, saved.card)
    with pytest.raises(StoreError, match="cannot be saved: its weight is"):
        save_probe(tmp_path / "new", saved.probe, replace(saved.card, n_slots=4))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": None},
        {"value": 0.5, "reason": "none"},
        {"value": float("nan")},
        {"value": 0.5, "low": float("-inf")},
    ],
)
def test_a_figure_is_there_or_has_a_reason(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="figure x"):
        Figure("x", 3, **wrong)


def test_the_snippet_of_the_page_runs(saved: Made) -> None:
    text = (ROOT / "docs" / "probe_artefacts.md").read_text(encoding="utf-8")
    snippet = text.split("```python\n", 1)[1].split("```", 1)[0]
    for shown, real in (("outputs/training/probes/let_me_think/study", saved.folder), ("outputs/run", saved.run)):
        assert shown in snippet
        snippet = snippet.replace(shown, str(real))
    assert "outputs/" not in snippet
    names: dict[str, Any] = {}
    exec(snippet, names)
    assert names["rows"].probe_correct.all()
    assert names["slots"].tolist() == names["rows"].probe_slot.tolist() == saved.gold.tolist()
    assert list(names["rows"].columns) == first_cells(text, "column")


def first_cells(text: str, head: str) -> list[str]:
    """Names in the first column of the page's table under `head`."""
    rows = text.split(f"| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [name for row in rows for name in row.split("|")[1].replace("`", "").strip().split(", ")]


def test_the_page_names_every_field_of_a_card(saved: Made) -> None:
    text = (ROOT / "docs" / "probe_artefacts.md").read_text(encoding="utf-8")
    assert sorted(first_cells(text, "field")) == sorted(json.loads((saved.folder / CARD).read_text()))
