"""`evaluation=no_thinking` over local models and files: what is asked, kept, resumed and refused."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from transformers import AutoTokenizer

from tests.evaluation.no_thinking_runs import ITEMS, MODES, cell, items_file, rows_of, settings, started
from tests.items import mcq
from tests.test_config import composed
from tests.tracking.wandb_file import read as read_wandb
from thinkgap.backends.load import load_format
from thinkgap.data.present import identity
from thinkgap.errors import ConfigError, DataError, LabelError, StoreError
from thinkgap.evaluation import evaluate, responses_local
from thinkgap.evaluation import generate as generated
from thinkgap.evaluation.asking import question_of
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.nothinking.reading import read
from thinkgap.nothinking.store import read_responses, to_analysed
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.prompts.conditions import mode_conditions
from thinkgap.readouts.sheet import Missing
from thinkgap.schema import EvaluateConfig, ModelConfig, ModeSpec
from thinkgap.scoring.reply import Reply
from thinkgap.types import Presentation, Question

FILES = Path(__file__).parents[1] / "importers" / "files"
SAID = {"m": r"The answer is \boxed{B}", "b": r"\boxed{no}", "o": r"\boxed{7.0} as 3 and 4 make it."}


@pytest.fixture
def cfg(tiny_model: Callable[[str], Path], tmp_path: Path) -> Callable[..., EvaluateConfig]:
    """`cfg(*overrides, mode=)`: settings of a tiny model without a thinking switch, on the three items."""
    items = items_file(tmp_path / "items.jsonl")

    def composed_with(*overrides: str, family: str = "llama", mode: str = "mode=paper") -> EvaluateConfig:
        return settings(
            "model=local",
            f"model.path={tiny_model(family)}",
            f"model.name={family}",
            *overrides,
            items=items,
            mode=mode,
        )

    return composed_with


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`scripted(said, finish=)`: replies are these texts, by item and whatever the mode."""

    def script(said: dict[str, str], finish: str = "stop") -> None:
        def replies(groups: Any, decoder: Any, *rest: Any, **named: Any) -> list[list[Reply]]:
            tokenizer = decoder.backend.fmt.tokenizer
            return [[_reply(one, tokenizer, said, finish) for one in group] for group in groups]

        monkeypatch.setattr(responses_local, "generate_replies", replies)

    return script


def _reply(prepared: PreparedPrompt, tokenizer: Any, said: dict[str, str], finish: Any) -> Reply:
    text = said[prepared.prompt.presentation.item.id]
    ids = tuple(tokenizer(text, add_special_tokens=False)["input_ids"])
    return Reply(prepared.prompt, ids, finish, (), ids[0] if ids else 0)


def test_a_run_leaves_responses_tables_and_a_note_on_what_was_not_asked(
    cfg: Callable[..., EvaluateConfig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    sheets, rows, manifest = started(cfg(), folder)
    assert [(row["item_id"], row["mode"]) for row in rows] == [
        (item, mode) for item in ("b", "m", "o") for mode in sorted(MODES[1:])
    ]
    for row in rows:
        assert (row["model"], row["dataset"], row["thinking"]) == ("llama", "jsonl", "disabled")
        assert row["completion_tokens"] <= 5
        assert row["trace_tokens"] >= row["visible_tokens"] >= 0
        assert row["truncated"] == (row["finish_reason"] == "length")
    notes = ["think_on: unavailable, as llama has no switch for its own thinking."]
    assert manifest["notes"] == notes
    assert manifest["datasets"]["jsonl"]["items"] == 3
    assert [row[2] for row in sheets["nothinking"].rows] == list(MODES[1:]), "modes in the order asked for"
    assert {row[3] for row in sheets["nothinking"].rows} == {3}
    printed = capsys.readouterr().out
    assert "### No-thinking by data set" in printed
    assert notes[0] in printed
    assert notes[0] in (folder / "no_thinking.md").read_text(encoding="utf-8")
    assert {f"{name}.csv" for name in sheets} == {file.name for file in folder.glob("*.csv")}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            mcq(choices=("x", "y", "z"), gold=2, context="c", subject="s", meta={"area": "a"}),
            {
                "answer": "C",
                "labels": ("A", "B", "C"),
                "options": ("x", "y", "z"),
                "problem": "Context: c\nQuestion: Which number is the largest?\nOptions:\nA. x\nB. y\nC. z",
                "parts": ("c", "Which number is the largest?", "x", "y", "z"),
                "subject": "s",
                "area": "a",
                "contents": (0, 1, 2),
            },
        ),
        (
            mcq(choices=("Yes", "No"), gold=1, answer_space="bool", answer="No"),
            {
                "space": "bool",
                "answer": "no",
                "problem": "Question: Which number is the largest?",
                "parts": ("Which number is the largest?",),
            },
        ),
        (
            mcq(choices=(), gold=None, answer_space="open", answer="72", group_id="g"),
            {
                "space": "open",
                "answer": "72",
                "group_id": "g",
                "problem": "Question: Which number is the largest?",
                "parts": ("Which number is the largest?",),
            },
        ),
    ],
)
def test_questions(item: Any, expected: dict[str, Any]) -> None:
    common = {"item_id": "i0", "group_id": "i0", "dataset": "d", "space": "mcq", "split": "test"}
    assert question_of("d", identity(item)) == Question(**{**common, **expected})


def test_the_right_label_is_that_of_the_slot_in_which_the_content_is_shown() -> None:
    """Content 1 stands in slot 2, which is labelled R."""
    question = question_of("d", Presentation(mcq(), (2, 0, 1), ("P", "Q", "R")))
    assert (question.answer, question.options[2]) == ("R", "seventeen and a half")


def test_accuracy_and_lengths_of_scripted_replies(
    cfg: Callable[..., EvaluateConfig], scripted: Callable[..., None], tmp_path: Path, tiny_backend: Callable[..., Any]
) -> None:
    scripted(SAID)
    sheets, rows, _ = started(cfg(mode="mode=[strict,think_off]"), tmp_path / "run")
    by_item = {row["item_id"]: row for row in rows if row["mode"] == "strict"}
    # B is right; yes was right and no was said; 7.0 is 7, as numbers.
    assert {item: row["correct"] for item, row in by_item.items()} == {"m": True, "b": False, "o": True}
    assert {item: row["etr_strict"] for item, row in by_item.items()} == {"m": False, "b": True, "o": False}
    assert {item: row["etr_prefix"] for item, row in by_item.items()} == {"m": False, "b": True, "o": True}
    tokenizer = tiny_backend("llama").fmt.tokenizer
    assert by_item["m"]["trace"] == "The answer is"
    assert by_item["m"]["trace_tokens"] == len(tokenizer("The answer is")["input_ids"])
    assert by_item["b"]["trace_tokens"] == 0
    assert by_item["m"]["content"] == SAID["m"]
    assert cell(sheets["nothinking"], "accuracy", mode="strict").value == pytest.approx(2 / 3)
    assert cell(sheets["nothinking"], "etr_prefix", mode="strict").value == pytest.approx(2 / 3)


def test_a_prefill_is_the_prompts_and_the_reply_goes_on_from_it(
    cfg: Callable[..., EvaluateConfig], scripted: Callable[..., None], tmp_path: Path
) -> None:
    r"""Under `prefix_assistant` the reply to `The answer is \boxed{` is "B}" and so on."""
    scripted({"m": "B}", "b": "yes} since ice is lighter", "o": "The answer is 7."})
    _, rows, _ = started(cfg(mode="mode=[prefix_assistant,strict]"), tmp_path / "run")
    found = {(row["mode"], row["item_id"]): row for row in rows}
    forced = {item: found["prefix_assistant", item] for item in "mbo"}
    assert {item: (row["answer"], row["rule"]) for item, row in forced.items()} == {
        "m": ("B", "forced_prefix"),
        "b": ("yes", "forced_prefix"),
        "o": ("7", "statement"),
    }
    assert (forced["m"]["content"], forced["m"]["trace"], forced["m"]["post"]) == ("B}", "", "")
    assert forced["m"]["etr_strict"]
    assert (forced["b"]["post"], forced["b"]["etr_strict"], forced["b"]["etr_prefix"]) == (
        "since ice is lighter",
        False,
        True,
    )
    # Without the prefill the same reply holds no box.
    assert found["strict", "b"]["answer"] is None


def test_a_mode_of_ones_own_is_read_by_what_it_opens_and_not_by_its_name(
    cfg: Callable[..., EvaluateConfig], scripted: Callable[..., None], tmp_path: Path
) -> None:
    scripted(dict.fromkeys("mbo", "7}"))
    asked = cfg(mode="mode=strict")
    asked.mode.conditions |= {
        "in_user": ModeSpec(user_suffix=r" So it is \boxed{"),
        "in_reply": ModeSpec(prefill=r"So it is \boxed{"),
        "answered": ModeSpec(user_suffix=r" So it is \boxed{", prefill="Sure:"),
        "prefix": ModeSpec(user_suffix=" So it is"),
    }
    _, rows, _ = started(asked, tmp_path / "run")
    found = {row["mode"]: row for row in rows if row["item_id"] == "o"}
    assert {mode: (row["open_box"], row["rule"], row["answer"]) for mode, row in found.items()} == {
        "strict": (False, "", None),
        "in_user": (True, "forced_prefix", "7"),
        "in_reply": (True, "forced_prefix", "7"),
        "answered": (False, "", None),
        "prefix": (False, "", None),
    }
    again = to_analysed(read_responses(tmp_path / "run" / "responses.parquet"))
    assert [read(row.answered).rule for row in again] == [row["rule"] for row in rows]


def test_a_reply_that_is_cut_is_told(
    cfg: Callable[..., EvaluateConfig], scripted: Callable[..., None], tmp_path: Path
) -> None:
    scripted({"m": "I think", "b": r"\boxed{yes} as", "o": "The answer is 7"}, finish="length")
    sheets, rows, _ = started(cfg(mode="mode=strict"), tmp_path / "run")
    assert {row["item_id"]: row["status"] for row in rows} == {"m": "truncated", "b": "ok", "o": "truncated"}
    assert cell(sheets["nothinking_outcomes"], "cut", mode="strict").value == 1
    assert cell(sheets["nothinking_outcomes"], "truncated", mode="strict").value == pytest.approx(2 / 3)


@pytest.mark.parametrize("reuse", ["true", "false"])
def test_a_killed_run_goes_on_and_ends_the_same(
    reuse: str, cfg: Callable[..., EvaluateConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ("evaluation.generation.batch_size=1", f"evaluation.reuse={reuse}")
    whole = cfg(*small, f"paths.cells_dir={tmp_path / 'others'}")
    run_no_thinking(whole, tmp_path / "whole")
    keep, seen = generated._Keeper.keep, 0

    def killed(self: Any, reply: Reply) -> None:
        nonlocal seen
        keep(self, reply)
        seen += 1
        if seen == 7:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(generated._Keeper, "keep", killed)
        with pytest.raises(KeyboardInterrupt):
            run_no_thinking(cfg(*small), tmp_path / "killed")
    assert not (tmp_path / "killed" / "responses.parquet").exists()
    kept: list[int] = []
    monkeypatch.setattr(generated._Keeper, "keep", lambda self, reply: (kept.append(1), keep(self, reply)))
    run_no_thinking(cfg(*small), tmp_path / "killed")
    assert len(kept) == 15 - 7, "what had ended is not generated again"
    files = [(tmp_path / name / "responses.parquet").read_bytes() for name in ("whole", "killed")]
    assert files[0] == files[1]
    run_no_thinking(cfg(*small), tmp_path / "killed")
    assert len(kept) == 8
    assert (tmp_path / "killed" / "responses.parquet").read_bytes() == files[0]


def test_a_folder_of_other_settings_or_items_is_refused(cfg: Callable[..., EvaluateConfig], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run_no_thinking(cfg(mode="mode=strict"), folder)
    before = (folder / "responses.parquet").read_bytes()
    with pytest.raises(StoreError, match=r"mode\.conditions\.soft"):
        run_no_thinking(cfg(mode="mode=[strict,soft]"), folder)
    with pytest.raises(StoreError, match=r"generation\.max_new_tokens: 5 in the folder, 6 now"):
        run_no_thinking(cfg("evaluation.generation.max_new_tokens=6", mode="mode=strict"), folder)
    items_file(tmp_path / "items.jsonl", [*ITEMS[:2], ITEMS[2] | {"answer": "8"}])
    with pytest.raises(StoreError, match=r"items\.jsonl"):
        run_no_thinking(cfg(mode="mode=strict"), folder)
    assert (folder / "responses.parquet").read_bytes() == before


def test_several_data_sets_are_one_run(
    cfg: Callable[..., EvaluateConfig], scripted: Callable[..., None], tmp_path: Path
) -> None:
    """Two of the three items are in the second data set too, where they are items of their own."""
    scripted(SAID)
    other = items_file(tmp_path / "other.jsonl", ITEMS[1:])
    given = [f"+dataset@datasets.{name}=jsonl" for name in ("first", "second")]
    paths = [f"datasets.first.path={tmp_path / 'items.jsonl'}", f"datasets.second.path={other}"]
    sheets, rows, manifest = started(cfg(*given, *paths, mode="mode=strict"), tmp_path / "run")
    assert [(row["dataset"], row["item_id"]) for row in rows] == [
        *(("first", item) for item in "bmo"),
        *(("second", item) for item in "bo"),
    ]
    assert {name: one["items"] for name, one in manifest["datasets"].items()} == {"first": 3, "second": 2}
    table = sheets["nothinking_models"]
    # Right are m and o of three, and o of two: pooled 3/5, and (2/3 + 1/2) / 2 = 7/12 with data sets equal.
    assert cell(table, "accuracy", average="pooled").value == pytest.approx(3 / 5)
    assert cell(table, "accuracy", average="data sets equally").value == pytest.approx(7 / 12)


def test_items_that_cannot_be_shown_are_counted(cfg: Callable[..., EvaluateConfig], tmp_path: Path) -> None:
    items_file(tmp_path / "items.jsonl", [*ITEMS, {"id": "long", "question": "word " * 5000, "answer": "1"}])
    _, rows, manifest = started(cfg(mode="mode=strict"), tmp_path / "run")
    assert len(rows) == 3
    assert "1 of 4 items cannot be shown to this model; they are in the manifest." in manifest["notes"]
    assert "tokens" in manifest["excluded"]["jsonl"]["long"]
    items_file(tmp_path / "items.jsonl", [{"id": "long", "question": "word " * 5000, "answer": "1"}])
    with pytest.raises(DataError, match="all 1 items were left out, the first because of"):
        run_no_thinking(cfg(mode="mode=strict"), tmp_path / "none")


def test_rows_that_are_no_items_are_in_the_manifest(cfg: Callable[..., EvaluateConfig], tmp_path: Path) -> None:
    bad = {"id": "x", "question": "Which?", "choices": ["a", "b"], "answer": "Q"}
    items_file(tmp_path / "items.jsonl", [*ITEMS, bad])
    _, _, manifest = started(cfg("dataset.max_bad=0.5", mode="mode=strict"), tmp_path / "run")
    (row,) = manifest["datasets"]["jsonl"]["bad_rows"]
    assert row["id"] == "x"
    assert manifest["datasets"]["jsonl"]["rows"] == 4


def test_labels_that_are_several_tokens_are_no_obstacle(
    cfg: Callable[..., EvaluateConfig], tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    """A tokenizer that writes a capital as a mark and the small letter: A is the two tokens ^ and a."""
    folder = shutil.copytree(tiny_model("llama"), tmp_path / "marking")
    settings = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    capitals = [{"type": "Replace", "pattern": {"String": one}, "content": f"^{one.lower()}"} for one in "ABC"]
    settings["normalizer"] = {"type": "Sequence", "normalizers": capitals}
    (folder / "tokenizer.json").write_text(json.dumps(settings), encoding="utf-8")
    fmt = load_format(ModelConfig(name="marking", path=str(folder)))
    assert fmt.tokenizer.convert_ids_to_tokens(fmt.tokenizer("A", add_special_tokens=False).input_ids) == ["^", "a"]
    conditions = mode_conditions(cfg(mode="mode=strict").mode)
    with pytest.raises(LabelError, match="label 'A' is 2 tokens"):
        PromptBuilder(fmt, conditions).build(identity(mcq()))
    _, rows, _ = started(cfg(f"model.path={folder}", mode="mode=[strict,soft]"), tmp_path / "run")
    assert len(rows) == 3 * 2
    (store,) = (tmp_path / "cells").glob("*-replies-*")
    kept = [pq.read_table(file).column("label_logprobs").to_pylist() for file in store.rglob("*.parquet")]
    assert [one for file in kept for one in file] == [[]] * 6


def test_thinking_between_special_tokens_is_no_visible_text(
    cfg: Callable[..., EvaluateConfig], scripted: Callable[..., None], tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_model("llama"), tmp_path / "marked")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"extra_special_tokens": ["<think>", "</think>"]})
    tokenizer.save_pretrained(folder)
    scripted(dict.fromkeys("mbo", r"<think>17 is more.</think>\boxed{7}<|im_end|>"))
    _, rows, _ = started(cfg(f"model.path={folder}", mode="mode=strict"), tmp_path / "run")
    (row,) = [row for row in rows if row["item_id"] == "o"]
    assert row["content"] == r"<think>17 is more.</think>\boxed{7}"
    assert (row["reasoning_trace"], row["visible_trace"]) == ("17 is more.", "")
    assert (row["control_leak"], row["etr_prefix"], row["etr_content"]) == (True, False, True)


def test_a_model_with_a_switch_is_asked_to_think(cfg: Callable[..., EvaluateConfig], tmp_path: Path) -> None:
    sheets, rows, manifest = started(cfg(family="qwen3"), tmp_path / "run")
    assert [row[2] for row in sheets["nothinking"].rows] == list(MODES)
    assert {row["mode"]: row["thinking"] for row in rows} == dict.fromkeys(MODES, "disabled") | {"think_on": "enabled"}
    assert manifest["notes"] == []


@pytest.mark.parametrize(
    ("overrides", "mode", "message"),
    [
        ([], "mode=think_on", "has none of the modes that were asked for: think_on: unavailable"),
        ([], "", "give mode=paper, or"),
        (["evaluation.generation.max_new_tokens=0"], "mode=strict", "max_new_tokens=0: must be at least 1"),
        (["evaluation.generation.batch_size=0"], "mode=strict", "batch_size=0: must be at least 1"),
        (["evaluation.estimate=true"], "mode=strict", "counts the calls of a served model"),
        (["prompt.system='<|im_end|>'"], "mode=strict", "prompt.system: its text contains '<|im_end|>'"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    cfg: Callable[..., EvaluateConfig], tmp_path: Path, overrides: list[str], mode: str, message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        run_no_thinking(cfg(*overrides, mode=mode), tmp_path / "run")
    assert message in str(refused.value)
    assert not (tmp_path / "run" / "responses.parquet").exists()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["responses=some.jsonl"], "are for evaluation=no_thinking"),
        (["+dataset@datasets.boolq=boolq"], "are for evaluation=no_thinking"),
    ],
)
def test_other_evaluations_refuse_what_is_not_theirs(tmp_path: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate(composed("evaluation=native", "logger=none", *overrides), tmp_path)


def from_file(file: Path, *overrides: str) -> EvaluateConfig:
    return composed("evaluation=no_thinking", f"responses={file}", "logger=none", *overrides)


def test_responses_of_a_harness_become_tables(tmp_path: Path) -> None:
    (file,) = FILES.glob("samples_own_open_*.jsonl")
    sheets, rows, manifest = started(from_file(file), tmp_path / "run")
    assert [row["item_id"] for row in rows] == ["k1", "k2", "k3", "k4"]
    assert {(row["dataset"], row["mode"], row["trace_tokens"]) for row in rows} == {("own_open", "", None)}
    assert manifest["responses"]["format"] == "lm_eval"
    assert any("does not record why a reply ended" in note for note in manifest["notes"])
    table = sheets["nothinking"]
    expected = sum(bool(row["correct"]) for row in rows) / len(rows)
    assert cell(table, "accuracy", dataset="own_open").value == pytest.approx(expected)
    assert cell(table, "trace_tokens", dataset="own_open") == Missing("no tokenizer was given to count tokens")
    other = tmp_path / "other.jsonl"
    other.write_text(file.read_text(encoding="utf-8").partition("\n")[0] + "\n", encoding="utf-8")
    with pytest.raises(StoreError, match="responses: "):
        run_no_thinking(from_file(other), tmp_path / "run")


def test_rows_of_a_file_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    row = {"id": "1", "question": "3 + 4?", "gold": "7", "space": "open", "response": "7", "mode": "strict"}
    file = items_file(tmp_path / "mine.jsonl", [row, row | {"id": "2", "space": "opne"}])
    _, rows, manifest = started(from_file(file), tmp_path / "run")
    assert [(row["item_id"], row["dataset"]) for row in rows] == [("1", "mine")], "a file without data sets is one"
    assert "1 rows of mine.jsonl could not be used; the manifest lists them." in manifest["notes"]
    (bad,) = manifest["bad_rows"]
    assert "did you mean 'open'" in bad["reason"]
    with pytest.raises(ConfigError, match=r"responses=.*nowhere\.jsonl: No such file"):
        run_no_thinking(from_file(tmp_path / "nowhere.jsonl"), tmp_path / "none")


def test_what_a_file_holds_cannot_command_the_terminal_or_break_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "a|b\\|`<b>\x1b[31m\x9b1m\x07\r\n# c\u202e"
    row = {"question": evil, "gold": "7", "space": "open", "response": f"{evil} \\boxed{{7}}", "id": evil}
    row |= dict.fromkeys(("dataset", "mode", "model", "subject", "finish_reason", "extra" + evil), evil)
    bad = row | {"space": "mcq", "options": ["x", "y"], "gold": evil}
    file = items_file(tmp_path / "mine.jsonl", [row, row, bad, row | {"id": "other", "model": "m\ud800"}])
    sheets, rows, manifest = started(from_file(file), tmp_path / "run")
    assert len(rows) == 1
    assert len(manifest["bad_rows"]) == 3
    # What is kept is kept as it came; what is shown has every character of it that a terminal shows.
    assert rows[0]["model"] == evil
    printed = capsys.readouterr()
    shown = [*printed.out.splitlines(), *printed.err.splitlines()]
    shown += (tmp_path / "run" / "no_thinking.md").read_text(encoding="utf-8").split("\n")
    assert all(line.isprintable() for line in shown)
    assert not any(line.startswith("# c") for line in shown)
    (line,) = [line for line in shown[: len(printed.out.splitlines())] if line.startswith("| a")][:1]
    unescaped = re.findall(r"(?<!\\)(?:\\\\)*\|", line)
    assert len(unescaped) == len(sheets["nothinking"].columns) + 1


def test_an_offline_wandb_run_holds_tables_and_responses(tmp_path: Path) -> None:
    rows = [
        {"id": str(number), "question": f"{number} + 4?", "gold": str(number + 4), "space": "open", "mode": "strict",
         "response": f"\\boxed{{{number + 4}}}"}
        for number in range(3)
    ]  # fmt: skip
    file = items_file(tmp_path / "mine.jsonl", rows)
    given = ["logger=wandb", "logger.mode=offline"]
    sheets = run_no_thinking(composed("evaluation=no_thinking", f"responses={file}", *given), tmp_path / "run", "group")
    found = read_wandb(tmp_path / "run")
    assert (found["exit_code"], found["group"], found["job_type"]) == (0, "group", "evaluate")
    assert {"mine", "no_thinking"} <= set(found["tags"])
    assert "demo_vlm" not in found["tags"], "no model was asked"
    names = {"nothinking", "nothinking_outcomes", "answer_first", "copies"}
    assert names <= {sheet.name for sheet in sheets}
    assert {f"{name}.path" for name in (*(sheet.name for sheet in sheets), "responses")} <= set(found["history"])
    assert found["history"]["responses.nrows"] == 3
    file = next((tmp_path / "run").glob(f"wandb/**/{found['history']['responses.path']}"))
    stored = json.loads(file.read_text(encoding="utf-8"))
    contents = stored["columns"].index("content")
    assert [row[contents] for row in stored["data"]] == [row["response"] for row in rows]
    assert len(rows_of(tmp_path / "run")) == 3


def test_the_modes_of_the_study_are_asked_in_its_order() -> None:
    assert tuple(composed("mode=paper").mode.conditions) == MODES
