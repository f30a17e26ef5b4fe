"""`python -m analysis.compare`: paired differences by hand, what is paired, flips, settings, exit statuses."""

from __future__ import annotations

import csv
import io
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.compare import compare_runs, main
from analysis.comparing.fail_on import FailOn, parse_fail_on
from analysis.comparing.pairs import Compared
from analysis.comparing.tables import Comparison
from probes.predictions import Probed, write_predictions
from tests.analysis.annotation_runs import response
from tests.conftest import ROOT
from tests.probes.predicted import prediction_rows, table_of
from tests.store.examples import record
from tests.test_load_runs import write_run
from thinkgap.errors import ConfigError, StoreError
from thinkgap.metrics import Estimate
from thinkgap.nothinking.levels import judgements_table, pairs_of, relevance_table, write_levels
from thinkgap.nothinking.store import RESPONSES_FILE, write_responses
from thinkgap.types import Judgement, Relevance


def native(slots: Sequence[int], groups: Sequence[str] | None = None, **changes: Any) -> list[Any]:
    """Items q0, q1, ... with gold in slot 1 and these predictions, under `direct`."""
    names = groups or [f"q{place}" for place in range(len(slots))]
    return [record(f"q{place}", pred_slot=slot, group_id=names[place], **changes) for place, slot in enumerate(slots)]


def found(comparison: Comparison, figure: str, place: str) -> Compared:
    return next(one for one in comparison.compared if one.key == (figure, place))


def four(path: Path, groups: Sequence[str] | None = None) -> tuple[Path, Path]:
    """A: right, right, right, wrong. B: wrong, wrong, right, right."""
    return (
        write_run(path / "a", native((1, 1, 1, 2), groups)),
        write_run(path / "b", native((0, 0, 1, 1), groups)),
    )


def test_a_difference_by_hand(tmp_path: Path) -> None:
    one = found(compare_runs(*four(tmp_path)), "accuracy", "direct")
    assert (one.first, one.second, one.difference.value, one.difference.n) == (0.75, 0.5, -0.25, 4)
    # d = -1, -1, 0, 1: see tests/metrics/test_paired.py.
    assert one.difference.low == pytest.approx(-1.773480, abs=2e-6)
    assert (one.b, one.c, one.p_value) == (2, 1, 1.0)
    assert (one.lost, one.gained) == (("q0", "q1"), ("q3",))
    first = found(compare_runs(*four(tmp_path / "again")), "first_slot", "direct")
    assert (first.first, first.second, first.b, first.c) == (0.0, 0.5, 0, 2)


def test_intervals_are_clustered_by_group(tmp_path: Path) -> None:
    one = found(compare_runs(*four(tmp_path, ("g", "g", "h", "h"))), "accuracy", "direct")
    # Deviations -0.75, -0.75, 0.25, 1.25 sum to -1.5 and 1.5: 2 (2.25 + 2.25) / 16 = 0.75^2; t(1) = 12.706.
    assert one.difference.low == pytest.approx(-0.25 - 12.7062 * 0.75, abs=1e-3)


def test_items_are_paired_by_name_and_the_rest_is_counted(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", native((1, 1, 1, 2)))
    b = write_run(tmp_path / "b", [record("q3", pred_slot=1), record("q1", pred_slot=0), record("q9"), record("q8")])
    one = found(compare_runs(a, b), "accuracy", "direct")
    # Of A q1 right and q3 wrong, of B the reverse.
    assert (one.difference.n, one.first, one.second, one.difference.value) == (2, 0.5, 0.5, 0.0)
    assert (one.lost, one.gained) == (("q1",), ("q3",))
    assert (one.only_first, one.only_second) == (2, 2)


def test_label_mass_is_a_paired_mean(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", native((1, 1, 1, 1)))
    b = write_run(tmp_path / "b", [record(f"q{i}", label_mass=mass) for i, mass in enumerate((0.5, 0.25, 0.25, 0.25))])
    one = found(compare_runs(a, b), "label_mass", "direct")
    # d = 0.25, 0, 0, 0: mean 0.0625, standard error 0.125 / 2, t(3) = 3.182446.
    assert one.difference.value == 0.0625
    assert one.difference.high == pytest.approx(0.0625 + 3.182446 * 0.0625, abs=1e-6)
    assert math.isnan(one.p_value)


def test_readouts_and_presentations(tmp_path: Path) -> None:
    rows = [
        *native((1, 2)),
        *native((1, 1), condition="think"),
        *native((1, 2), readout="generation"),
        *native((-1, 1), readout="likelihood_sum"),
        *native((2, 2), presentation="permutation_1"),
    ]
    b = write_run(tmp_path / "b", [*native((1, 1)), *native((0, 1), readout="likelihood_sum"), record("q0", "new")])
    comparison = compare_runs(write_run(tmp_path / "a", rows), b)
    places = [one.key for one in comparison.compared]
    assert places == [
        ("accuracy", "direct"),
        ("first_slot", "direct"),
        ("label_mass", "direct"),
        ("accuracy_likelihood_sum", "direct"),
    ]
    assert ("accuracy_generation", "direct") in comparison.only_first
    assert ("accuracy", "think") in comparison.only_first
    assert ("accuracy", "new") in comparison.only_second
    # Permutations would give 2 of 4; no answer is wrong.
    assert found(comparison, "accuracy", "direct").first == 0.5
    assert found(comparison, "accuracy_likelihood_sum", "direct").first == 0.5


def test_the_same_run_twice_is_all_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, _ = four(tmp_path)
    assert main([str(a), str(a), "--fail-on", "*<0,*>0,*>-1"]) == 1
    assert main([str(a), str(a), "--fail-on", "*<0,*>0"]) == 0
    for one in compare_runs(a, a).compared:
        assert (one.difference.value, one.b, one.c, one.only_first, one.only_second) == (0.0, 0, 0, 0, 0)
        assert one.first == one.second
    out = capsys.readouterr().out
    assert (
        "| accuracy   | direct | 4 | 75.0 | 75.0 |                 0.0 | 1.000 | 0 | 0 |         0 |         0 |" in out
    )
    assert "No answer that both runs have turned" in out
    assert "No setting, library or fact of the model differs." in out


def thinking_run(path: Path, traces: Sequence[str], cosines: Sequence[float], labels: Sequence[str | None]) -> Path:
    rows = [
        *(response(f"q{place}", trace, model=path.name, dataset="set") for place, trace in enumerate(traces)),
        response("q0", "other", mode="strict", model=path.name, dataset="set"),
    ]
    path.mkdir(parents=True)
    write_responses(path / RESPONSES_FILE, rows)
    pairs = pairs_of(rows)
    cosine = dict(zip([*filter(None, traces), "other"], [*cosines, 0.125], strict=True))
    said = dict(zip([*filter(None, traces), "other"], [*labels, None], strict=True))
    relevance = {pair: Relevance(cosine[pair.trace], 3, 3, False, 0.0, 0.0) for pair in pairs}
    judged: dict[Any, Judgement] = {
        pair: Judgement(said[pair.trace], status="ok" if said[pair.trace] else "failed")  # pyright: ignore[reportArgumentType]
        for pair in pairs
    }
    write_levels(
        path, relevance_table(rows, {"enc": relevance}), judgements_table(rows, {"rules": judged}, {"rules": "rules"})
    )
    return path


def test_figures_of_no_thinking_runs_by_hand(tmp_path: Path) -> None:
    explicit, generic = "explicit_reasoning", "generic_or_off_topic"
    a = thinking_run(tmp_path / "a", ("", "", "so it is", "hence"), (0.5, 0.75), (explicit, None))
    b = thinking_run(
        tmp_path / "b", ("", "thus", "so it is", "hence it"), (0.25, 0.75, 0.5), (generic, generic, explicit)
    )
    comparison = compare_runs(a, b)
    strict = found(comparison, "etr_strict", "set/think_off")
    assert (strict.first, strict.second, strict.lost, strict.gained) == (0.5, 0.25, ("q1",), ())
    # An empty trace has cosine 0: A 0, 0, 0.5, 0.75; B 0, 0.25, 0.75, 0.5.
    qrel = found(comparison, "qrel_enc", "set/think_off")
    assert (qrel.first, qrel.second, qrel.difference.value) == (0.3125, 0.375, 0.0625)
    # An empty trace is no inference; A has no label of q3: q0 to q2 are paired, q2 explicit in A alone.
    eir = found(comparison, "eir_rules", "set/think_off")
    assert (eir.difference.n, eir.first, eir.second, eir.lost) == (3, pytest.approx(1 / 3), 0.0, ("q2",))
    assert (eir.only_first, eir.only_second) == (0, 1)
    # The models have other names, and each run has but one.
    assert found(comparison, "accuracy", "set/think_off").difference.n == 4
    assert found(comparison, "etr_prefix", "set/strict").difference.n == 1
    assert ("text of the question", "set/think_off", 4, 1.0) in comparison.prompts


def test_probes_are_compared_by_role(tmp_path: Path) -> None:
    def run(name: str, study: Sequence[int], best: str) -> Path:
        rows = prediction_rows(
            [0, 1, 0],
            {"direct": [0, 0, 0]},
            {
                Probed("direct", "direct", "study", "final_norm"): study,
                Probed("direct", "direct", "best", best): [0, 1, 0],
                Probed("direct", "direct", "layer", "layer_1"): [1, 1, 1],
            },
        )
        (tmp_path / name).mkdir()
        write_predictions(tmp_path / name, [table_of(rows)])
        return tmp_path / name

    comparison = compare_runs(run("a", [0, 1, 0], "layer_1"), run("b", [0, 0, 1], "layer_2"))
    study = found(comparison, "probe_accuracy", "direct/direct/study")
    assert (study.first, study.second, study.lost) == (1.0, pytest.approx(1 / 3), ("q1", "q2"))
    assert found(comparison, "probe_accuracy", "direct/direct/best").difference.value == 0.0
    assert found(comparison, "probe_accuracy", "direct/direct/layer/layer_1").first == pytest.approx(1 / 3)
    assert found(comparison, "accuracy", "direct").first == pytest.approx(2 / 3)


def test_settings_and_prompts_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def manifest(dtype: str, **more: Any) -> dict[str, Any]:
        facts = {"revision": f"sha256:{dtype}", "dtype": dtype, "structure_check_error": len(dtype)}
        condition = {"name": "direct", "label_ids": [1, 2], **more}
        return {
            "config": {"model": {"name": "m", "dtype": dtype}, "paths": {"cells_dir": dtype}, "seed": 0},
            "model": facts,
            "libraries": {"torch": "2.0" if more else "2.1", "thinkgap": "0.1.0"},
            "conditions": [condition, *([{"name": "new", "text": "Think!", "label_ids": [1]}] if more else [])],
            "session": {"seconds": len(dtype)},
            "started": dtype,
        }

    a = write_run(tmp_path / "a", native((1, 1)), **manifest("float32"))
    other = [record("q0"), record("q1", prompt_sha256="0" * 64)]
    b = write_run(tmp_path / "b", other, **manifest("bfloat16", label_ids=[1, 3]))
    comparison = compare_runs(a, b)
    assert comparison.settings == [
        ("model.revision", '"sha256:float32"', '"sha256:bfloat16"'),
        ("model.dtype", '"float32"', '"bfloat16"'),
        ("config.model.dtype", '"float32"', '"bfloat16"'),
        ("conditions.direct.label_ids", "[1, 2]", "[1, 3]"),
        ("conditions.new", "absent", '"Think!"'),
        ("libraries.torch", '"2.1"', '"2.0"'),
    ]
    assert comparison.prompts == [("prompt_sha256", "direct", 2, 0.5)]
    assert main([str(a), str(b)]) == 0
    assert '| model.dtype                 | "float32"        | "bfloat16"        |' in capsys.readouterr().out


def test_another_right_answer_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write_run(tmp_path / "a", native((1, 1)))
    b = write_run(tmp_path / "b", [record("q0"), record("q1", gold_slot=2)])
    assert main([str(a), str(b)]) == 0
    assert "accuracy:direct: 1 of 2 items have another right answer in B" in capsys.readouterr().out


def test_csv_holds_every_flip_and_the_text_twenty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write_run(tmp_path / "a", native([1] * 25))
    b = write_run(tmp_path / "b", native([0] * 23 + [1, 1]))
    assert main([str(a), str(b)]) == 0
    text = capsys.readouterr().out
    assert "- accuracy:direct, right to wrong (23): q0, q1, q10, " in text
    assert ", and 3 more (--csv lists all)" in text
    file = tmp_path / "new" / "compared.csv"
    assert main([str(a), str(b), "--csv", "--out", str(file)]) == 0
    assert capsys.readouterr().out == ""
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    flips = [row for row in rows if row["table"] == "flips" and row["figure"] == "accuracy"]
    assert {row["item_id"] for row in flips} == {f"q{place}" for place in range(23)}
    assert {row["flip"] for row in flips} == {"1 to 0"}
    figures = {row["figure"]: row for row in rows if row["table"] == "figures"}
    assert float(figures["accuracy"]["difference"]) == -0.92
    assert (figures["accuracy"]["b"], figures["accuracy"]["only_a"]) == ("23", "0")


def test_conditions_are_parsed() -> None:
    assert parse_fail_on("accuracy<-2") == [FailOn("accuracy", True, -2.0, False)]
    assert parse_fail_on(" etr_* > 5.5 significant , accuracy:set/think_off<.5") == [
        FailOn("etr_*", False, 5.5, True),
        FailOn("accuracy:set/think_off", True, 0.5, False),
    ]
    for bad in (
        "",
        "accuracy",
        "accuracy<",
        "<-2",
        "accuracy<=2",
        "accuracy<-2%",
        "accuracy<-2 sure",
        "a<1,,b<1",
        "a<nan",
    ):
        with pytest.raises(ConfigError, match="is no condition"):
            parse_fail_on(bad)


def one(value: float, low: float = math.nan, high: float = math.nan, **changes: Any) -> Compared:
    fields = {
        "figure": "accuracy", "place": "direct", "kind": "rate", "first": 0.0, "second": 0.0,
        "difference": Estimate(value, low, high, 10), "p_value": 1.0, "b": 0, "c": 0, "only_first": 0, "only_second": 0,
        "lost": (), "gained": (), "other_gold": 0,
    }  # fmt: skip
    return Compared(**(fields | changes))


def test_conditions_hold_beyond_the_limit_only() -> None:
    [below], [above] = parse_fail_on("accuracy<-2"), parse_fail_on("accuracy>2")
    assert below.holds(one(-0.021))
    assert not below.holds(one(0.5 - 0.52))  # -0.020000000000000018
    assert not below.holds(one(0.5))
    assert above.holds(one(0.5))
    assert not above.holds(one(-0.5))
    assert not below.holds(one(math.nan))
    [sure] = parse_fail_on("accuracy<-2 significant")
    assert sure.holds(one(-0.05, -0.09, -0.01))
    assert not sure.holds(one(-0.05, -0.11, 0.01))
    # All items differ alike: no interval, so the test of pairs decides, and a mean's difference counts.
    assert sure.holds(one(-1.0, p_value=0.002))
    assert not sure.holds(one(-1.0, p_value=0.5))
    assert sure.holds(one(-0.1, kind="mean", p_value=math.nan))


def test_exit_statuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = map(str, four(tmp_path))
    assert main([a, b, "--fail-on", "accuracy<-30"]) == 0
    assert main([a, b, "--fail-on", "accuracy<-20"]) == 1
    assert "fails accuracy<-20: accuracy:direct -25.0 [-177.3, +127.3] points (n = 4)" in capsys.readouterr().err
    assert main([a, b, "--fail-on", "accuracy<-20 significant"]) == 0
    assert main([a, b, "--fail-on", "accuracy:direct<-30", "--fail-on", "first*>10"]) == 1
    capsys.readouterr()
    for arguments, message in (
        (["--fail-on", "accurracy<-2"], "no figure of both runs matches; they have accuracy, first_slot, label_mass"),
        (["--fail-on", "accuracy"], "is no condition"),
        (["--out", f"{a}/records.parquet/x"], "records.parquet"),
    ):
        assert main([a, b, *arguments]) == 2
        assert message in capsys.readouterr().err
    assert main([a, str(tmp_path / "none")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert main([a, str(tmp_path / "*")]) == 2
    assert "stands for 2 runs (a, b)" in capsys.readouterr().err


def test_runs_without_anything_in_common(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", native((1, 1)))
    with pytest.raises(StoreError, match="no figure in common: A has accuracy, first_slot, label_mass; B has accuracy"):
        compare_runs(a, write_run(tmp_path / "b", [record("q0", "think")]))
    with pytest.raises(StoreError, match="no item in common"):
        compare_runs(a, write_run(tmp_path / "c", [record("other")]))


def test_a_condition_on_a_figure_without_items_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write_run(tmp_path / "a", [record("q0"), record("q1", "think")])
    b = write_run(tmp_path / "b", [record("q0"), record("q2", "think")])
    assert main([str(a), str(b), "--fail-on", "accuracy<-2"]) == 2
    shown = capsys.readouterr()
    assert "accuracy:think has no item that both runs count" in shown.err
    assert "n/a (1)" in shown.out
    assert main([str(a), str(b), "--fail-on", "accuracy:direct<-2"]) == 0


def test_as_a_command_it_loads_no_model_library(tmp_path: Path) -> None:
    a, b = four(tmp_path)
    code = (
        "import sys; from analysis.compare import main; status = main(sys.argv[1:]); "
        "heavy = {'torch', 'transformers', 'wandb', 'hydra'} & set(sys.modules); "
        "assert not heavy, heavy; sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(a), str(b)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"A: {a}\nB: {b}\n")


def test_hostile_names_are_spelled_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = "q\x1b[2J\u202e"
    a = write_run(tmp_path / "a", [record(bad)], config={"x": "\x1b[2J"})
    b = write_run(tmp_path / "b", [record(bad, pred_slot=0)], config={"x": "y"})
    assert main([str(a), str(b)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
