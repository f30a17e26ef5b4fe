"""Published figures: how many there are, values read by eye from the papers, and their own arithmetic."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from analysis.reference import STUDIES, Published, catalogue, figure, figures, measures
from analysis.reference.blocks import FOLDER, read_yaml
from tests.analysis.reference_spots import SPOTS
from tests.conftest import ROOT

COUNTS = {
    "prefix": {"table1": 22, "table2": 30, "table3": 12, "text": 53},
    "inertia": {
        **{"B.1": 6, "B.2": 12, "D.1": 12, "D.2": 19, "D.3": 12, "D.4": 12, "D.5": 12, "D.6": 12, "D.7": 24, "D.8": 3},
        **{
            "D.9": 36,
            "E.1": 36,
            "F.1": 10,
            "H.1": 45,
            "H.2": 18,
            "I.1": 72,
            "I.2": 70,
            "I.3": 34,
            "I.4": 50,
            "I.5": 60,
        },
        **{"text": 15},
    },
}


def number(one: Published) -> Decimal:
    return Decimal(one.printed.replace(",", ""))


def table(study: str, name: str) -> list[Published]:
    return [one for one in figures(study) if one.table == name]


@pytest.mark.parametrize("study", STUDIES)
def test_counts_and_catalogue(study: str) -> None:
    counts = Counter(one.table for one in figures(study))
    assert counts == COUNTS[study]
    for entry in catalogue(study):
        assert (entry.id in counts) == (entry.values in ("full", "part")), entry
        assert entry.title
        assert entry.needs


def test_no_figure_was_changed_by_accident() -> None:
    """Whoever changes a figure compares it with the print again, and then writes the new digest here."""
    texts = [
        "|".join((one.study, one.table, *one.keys.values(), one.measure, one.printed, str(one.n), one.channels))
        for study in STUDIES
        for one in figures(study)
    ]
    assert hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()[:16] == "1d3d5997c1875bfe"


@pytest.mark.parametrize("line", SPOTS)
def test_values_read_by_eye(line: str) -> None:
    study, name, measure, keys, printed = line.split(" ")
    pairs = dict(pair.split("=") for pair in keys.split(","))
    if "variable" in pairs:
        pairs["variable"] = pairs["variable"].replace(";", ",").replace("_", " ")
    assert figure(study, name, measure, **pairs).printed == printed


def test_every_table_has_three_spots() -> None:
    spots = Counter(tuple(line.split(" ")[:2]) for line in SPOTS)
    assert {(study, name) for study, counts in COUNTS.items() for name in counts} == set(spots)
    assert min(spots.values()) >= 3


def test_catalogue_holds_all_assets_of_the_studies() -> None:
    prefix, inertia = ([entry.id for entry in catalogue(study)] for study in STUDIES)
    assert prefix == ["figure1", "table1", "table2", "table3", "figure2", "figure3", "text"]
    main = [name for name in inertia if re.fullmatch(r"(table|figure)\d", name)]
    assert len(main) == 12
    # The study's page counts 27 assets in its appendix.
    assert len(inertia) - len(main) - 1 == 27
    assert Counter(entry.kind for entry in catalogue("inertia")) == {"table": 28, "figure": 11, "text": 1}
    assert len(catalogue()) == len(prefix) + len(inertia)


def test_each_etr_says_its_channels() -> None:
    kinds = {one.table: one.channels for one in figures("inertia") if one.measure == "etr"}
    assert kinds == {
        "H.1": "all",
        "I.1": "content",
        "I.2": "content",
        "I.3": "unstated",
        "I.4": "content",
        "I.5": "content",
    }
    assert not any(one.channels for one in figures("prefix"))


def test_differences_are_those_of_the_printed_values() -> None:
    checked = 0
    # What is subtracted: measure of the difference -> its measure, and the key that names the reference.
    kinds = {"difference": "accuracy", "etr_difference": "etr", "qrel_difference": "qrel"}
    kinds |= {"gold_rank_change": "gold_rank", "reasoning_top_change": "reasoning_top"}
    for one in (*figures("prefix"), *figures("inertia")):
        if (base := kinds.get(one.measure)) is None:
            continue
        own, reference = dict(one.keys), dict(one.keys)
        key = "condition" if one.study == "prefix" else "variant"
        reference[key] = "direct" if key == "condition" else "identity"
        here, there = (number(figure(one.study, one.table, base, **keys)) for keys in (own, reference))
        # Three roundings, half a unit of the last place each.
        assert abs(number(one) - (here - there)) <= Decimal("1.5").scaleb(-one.decimals), one
        checked += 1
    assert checked == 6 + 6 + 2 + 3 * 4 + 2 * 5 + 5


def test_arithmetic_of_the_prefix_study() -> None:
    for condition in ("direct", "let_me_think"):
        probe = number(figure("prefix", "table2", "accuracy", condition=condition, readout="probe"))
        native = number(figure("prefix", "table1", "accuracy", dataset="scienceqa", condition=condition))
        assert number(figure("prefix", "text", "gap", condition=condition)) == probe - native
    for k in (2, 4):
        direct, prefix = (
            number(figure("prefix", "text", "accuracy", k=k, condition=name)) for name in ("direct", "let_me_think")
        )
        assert number(figure("prefix", "text", "accuracy_fall", k=k)) == direct - prefix
    for measure, change, up in (("label_mass", "label_mass_fall", 0), ("reasoning_mass", "reasoning_mass_factor", 1)):
        masses = [figure("prefix", "table3", measure, condition=name).value for name in ("direct", "let_me_think")]
        factor = figure("prefix", "table3", change)
        assert factor.rounded(masses[up] / masses[1 - up]) == pytest.approx(factor.value, abs=0.01)


def test_sizes_add_up() -> None:
    sizes = sum(number(one) for one in table("inertia", "B.1"))
    assert sizes == 36_350 == number(figure("inertia", "text", "items", dataset="", variant=""))
    responses = {one.keys["model"]: number(one) for one in table("inertia", "E.1") if one.measure == "responses"}
    assert responses["qwen3_4b"] == 6 * sizes == 218_100
    subset = [one for one in table("inertia", "text") if one.keys["variant"] == "frontier_subset"]
    assert sum(number(one) for one in subset if one.keys["dataset"]) == 5_687
    assert responses["gpt_5_4"] == 6 * number(figure("inertia", "text", "items", variant="frontier_subset", dataset=""))
    assert sum(responses.values()) == number(figure("inertia", "text", "responses", study_mode="")) == 572_688
    # Of the outputs that both judges labelled, those of GPT-5.4 and Gemini are missing in the text.
    both = {one.keys["model"]: one.n or 0 for one in table("inertia", "D.5") if one.keys["outputs"] == "all"}
    assert both.pop("") == sum(both.values()) + 2 * 34_122
    areas = {(one.keys["model"], one.keys["area"]): one.n or 0 for one in table("inertia", "I.1")}
    assert sum(n for (model, _), n in areas.items() if model == "qwen3_4b") == 14_042
    assert number(figure("inertia", "text", "responses", study_mode="M2")) == 4 * 2_100


def test_rates_follow_from_counts() -> None:
    for model in {one.keys["model"] for one in table("inertia", "E.1")}:
        for top, bottom, rate in (("copies", "responses", "copy_rate"), ("answer_first", "boxed", "answer_first_rate")):
            share = 100 * figure("inertia", "E.1", top, model=model).value
            share /= figure("inertia", "E.1", bottom, model=model).value
            found = figure("inertia", "E.1", rate, model=model)
            assert found.rounded(share) == found.value, (model, rate)


def test_means_of_annotators_and_of_proposals() -> None:
    means = [one for one in figures("inertia") if one.keys["annotator"] == "mean"]
    for one in means:
        each = [
            figure("inertia", one.table, one.measure, **{**one.keys, "annotator": f"A{i}"}).value for i in range(1, 6)
        ]
        assert abs(sum(each) / 5 - one.value) <= 10**-one.decimals, one
    assert len(means) == 2 + 4 + 6
    for one in table("inertia", "I.4"):
        if (one.keys["variant"], one.measure) == ("verification", "accuracy"):
            parts = [f"verification_{sign}" for sign in ("positive", "negative")]
            both = [figure("inertia", "I.4", "accuracy", **{**one.keys, "variant": part}).value for part in parts]
            assert abs(sum(both) / 2 - one.value) <= 0.1 + 1e-9


def test_tables_that_give_one_figure_twice_agree() -> None:
    for space in ("bool", "mcq", "open"):
        for mode in ("M2", "M5"):
            twice = [
                figure("inertia", name, "eir", judge="gpt_5_5", study_mode=mode, space=space) for name in ("D.3", "D.4")
            ]
            assert twice[0].printed == twice[1].printed
    for one in table("inertia", "I.2"):
        if not one.keys["subject"]:
            assert figure("inertia", "I.1", one.measure, **{**one.keys, "subject": ""}).printed == one.printed


def test_all_printed_values_are_in_range() -> None:
    for one in (*figures("prefix"), *figures("inertia")):
        if one.unit == "percent":
            assert 0 <= one.value <= 100
        if one.unit in ("cosine", "correlation", "alpha", "probability"):
            assert -1 <= one.value <= 1
        assert not one.source.endswith(", ")
    assert {one.measure for study in STUDIES for one in figures(study)} == set(measures())


@pytest.mark.parametrize("folder", ["model", "dataset", "encoder", "judge"])
def test_names_are_those_of_our_settings(folder: str) -> None:
    used = {one.keys[folder] for study in STUDIES for one in figures(study)} - {""}
    assert used <= {file.stem for file in (ROOT / "conf" / folder).glob("*.yaml")}
    triggers = {one.keys["condition"] for one in figures("prefix")} - {""}
    assert triggers <= {file.stem for file in (ROOT / "conf" / "trigger").glob("*.yaml")}


def test_modes_are_ours_in_the_order_of_the_study() -> None:
    preset = yaml.safe_load((ROOT / "conf" / "mode" / "paper.yaml").read_text(encoding="utf-8"))["defaults"]
    modes = {one.keys["study_mode"]: one.keys["mode"] for one in figures("inertia") if one.keys["study_mode"]}
    for name, ours in modes.items():
        assert preset[int(name[1]) - 1] == ours
    assert {"M1", "M2", "M3", "M5", "M6"} == set(modes)


def digits(text: str) -> str:
    """The unsigned numbers of a text, each between blanks."""
    return "".join(f" {found.replace(',', '')} " for found in re.findall(r"\d[\d,]*(?:\.\d+)?", text))


@pytest.mark.parametrize("study", STUDIES)
def test_rows_stand_in_the_text_of_the_study(study: str, shared_data: Path) -> None:
    paper = shared_data.parent / "papers" / f"{study}_study.txt"
    if not paper.is_file():
        pytest.skip(f"the text of the study is not here: {paper}")
    text = digits(paper.read_text(encoding="utf-8"))
    rows = 0
    for block in read_yaml(FOLDER / f"{study}.yaml"):
        # Table 3 of the prefix study is printed the other way round, and figures of the text stand alone.
        if block["table"] == "text" or (study, block["table"]) == ("prefix", "table3"):
            continue
        heads = [column.split()[0].split("/")[0] for column in block["columns"].split("|")]
        for line in block["rows"].splitlines():
            cells = zip(heads, line.split("|"), strict=True)
            printed = [cell for head, cell in cells if head == "n" or head in measures()]
            assert digits(" ".join(printed)) in text, (block["table"], line)
            rows += 1
    assert (
        rows
        == {"prefix": 12, "inertia": 6 + 6 + 2 + 4 + 2 + 6 + 6 + 2 + 4 + 3 + 6 + 6 + 5 + 5 + 6 + 6 + 5 + 6 + 5 + 5}[
            study
        ]
    )
