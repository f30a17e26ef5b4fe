"""The native evaluation end to end, on tiny models of the true classes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.test_config import composed
from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ConfigError, DataError, StoreError
from thinkgap.evaluation import native, prepare
from thinkgap.evaluation.describe import run_title
from thinkgap.evaluation.native import Finished
from thinkgap.readouts.sheet import Missing
from thinkgap.readouts.table import tables_of_run
from thinkgap.store.records import read_records


@pytest.fixture
def run(run: Callable[..., Finished]) -> Callable[..., Finished]:
    """`run(*overrides, ...)` without cells: a run that is compared with another must not take its figures from them."""
    return partial(run, "evaluation.batch_size=4", "evaluation.reuse=false")


def test_records_reproduce_the_printed_table(run: Callable[..., Finished], capsys: pytest.CaptureFixture[str]) -> None:
    finished = run("trigger=paper")
    printed = capsys.readouterr().out
    assert (finished.folder / "table.md").read_text() in printed
    assert tables_of_run(finished.folder) == [finished.table]
    assert [row.condition for row in finished.table.rows] == [
        "direct",
        "let_me_think",
        "lets_think",
        "lets_solve",
        "lets_reason",
        "reasoning",
    ]
    assert {row.n for row in finished.table.rows} == {12}
    from analysis.table import main

    assert main([str(finished.folder)]) == 0
    assert (finished.folder / "table.md").read_text().strip() in capsys.readouterr().out


def test_figures_equal_a_naive_evaluation(run: Callable[..., Finished], tiny_backend: Callable[[str], Any]) -> None:
    """Every record against the model called plainly on the record's own prompt, and accuracy counted by hand."""
    from tests.backends.test_families import plain_logits
    from thinkgap.data import load_dataset_items
    from thinkgap.data.present import identity
    from thinkgap.prompts.build import PromptBuilder
    from thinkgap.prompts.conditions import all_conditions

    finished = run()
    config = composed("dataset=toy_facts", "dataset.limit=12", "trigger=let_me_think")
    backend = tiny_backend("llama")
    builder = PromptBuilder(backend.fmt, all_conditions(config.trigger, config.mode, config.prompt))
    records = {record.key: record for record in read_records(finished.folder)}
    right = {"direct": 0, "let_me_think": 0}
    for item in load_dataset_items(config.dataset).items:
        for prepared in builder.build(identity(item)):
            prompt = prepared.prompt
            record = records.pop((item.id, "identity", prompt.condition.name, "native"))
            logprobs = torch.log_softmax(plain_logits(backend, prepared), dim=-1)
            expected = [float(logprobs[ids[0]]) for ids in prompt.label_ids]
            assert list(record.label_logprobs) == pytest.approx(expected, abs=1e-4)
            assert record.pred_slot == expected.index(max(expected))
            assert record.label_mass == pytest.approx(sum(torch.tensor(expected).exp().tolist()), rel=1e-3)
            assert record.top_token_id == int(logprobs.argmax())
            assert record.prompt_sha256 == prompt.sha256
            right[prompt.condition.name] += record.pred_slot == item.gold
    assert not records
    assert {row.condition: round(row.accuracy.value * 12) for row in finished.table.rows} == right


def test_the_manifest_says_what_was_measured(run: Callable[..., Finished]) -> None:
    manifest = json.loads((run().folder / "manifest.json").read_text())
    assert manifest["n_items"] == 12
    assert manifest["model"]["class"] == "LlamaForCausalLM"
    assert manifest["model"]["dtype"] == "float32"
    assert manifest["model"]["revision"].startswith("sha256:")
    assert manifest["libraries"]["transformers"]
    assert manifest["config"]["dataset"]["limit"] == 12
    direct, let = manifest["conditions"]
    assert (direct["requests"], let["requests"]) == ("label", "rationale")
    assert let["text"] == "Let me think step by step."
    assert let["example_prompt_end"].endswith("Let me think step by step.<|im_end|>\n<|im_start|>assistant\n")
    assert let["label_ids"] == direct["label_ids"]
    assert set(direct["label_ids"]) >= {"A", "B"}


def test_a_killed_run_resumes_to_the_same_records(
    run: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = run("scoring=plain", folder="whole")
    from thinkgap.evaluation import predict

    monkeypatch.setattr(predict, "_SHARD_RECORDS", 1)
    computed: list[int] = []
    original = HFBackend.next_token_logits

    def dies_later(self: HFBackend, prompts: Sequence[Any]) -> torch.Tensor:
        computed.append(len(prompts))
        if len(computed) == 3:
            raise RuntimeError("killed")
        return original(self, prompts)

    monkeypatch.setattr(HFBackend, "next_token_logits", dies_later)
    with pytest.raises(RuntimeError, match="killed"):
        run("scoring=plain", folder="killed")
    assert not (tmp_path / "killed" / "records.parquet").exists()
    resumed = run("scoring=plain", folder="killed")
    assert len(computed) == 3 + 4, "two of the six batches were kept"
    for name in ("records.parquet", "table.md"):
        assert (resumed.folder / name).read_bytes() == (whole.folder / name).read_bytes(), name
    again = run("scoring=plain", folder="killed")
    assert len(computed) == 7, "a finished run computes nothing"
    assert again.table == whole.table


def test_a_killed_packed_run_resumes_to_the_same_records(
    run: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    overrides = ["evaluation.permutations=3", "evaluation.batch_tokens=150", "trigger=paper"]
    whole = run("scoring=packed", *overrides, folder="whole")
    from thinkgap.evaluation import predict
    from thinkgap.scoring import engine

    monkeypatch.setattr(predict, "_SHARD_RECORDS", 1)
    passes: list[list[int]] = []
    original = engine.forward_packed
    dies = [True]

    def dies_later(backend: Any, batch: Any, wanted: Any) -> Any:
        passes.append([planned.trie.size for planned in batch])
        if dies and len(passes) == 3:
            raise RuntimeError("killed")
        return original(backend, batch, wanted)

    monkeypatch.setattr(engine, "forward_packed", dies_later)
    with pytest.raises(RuntimeError, match="killed"):
        run("scoring=packed", *overrides, folder="killed")
    killed = passes.copy()
    dies.clear()
    passes.clear()
    resumed = run("scoring=packed", *overrides, folder="killed")
    assert passes[0] in killed, "the batch that died is computed again as it was"
    assert resumed.manifest["scoring"]["prompts"] < whole.manifest["scoring"]["prompts"], "finished passes are kept"
    for name in ("records.parquet", "table.md"):
        assert (resumed.folder / name).read_bytes() == (whole.folder / name).read_bytes(), name
    passes.clear()
    assert run("scoring=packed", *overrides, folder="killed").table == whole.table
    assert not passes


@pytest.mark.parametrize(
    ("family", "way", "method"),
    [("llama", "auto", "packed"), ("gemma3", "auto", "packed"), ("gemma3", "branched", "branched")],
)
def test_shared_and_plain_give_the_same_table(run: Callable[..., Finished], family: str, way: str, method: str) -> None:
    overrides = ["trigger=paper", "evaluation.permutations=5", "evaluation.verify=7"]
    shared, plain = (run(*overrides, f"scoring={each}", family=family, folder=each) for each in (way, "plain"))
    assert shared.manifest["scoring"]["method"] == method
    assert shared.manifest["scoring"]["computed_tokens"] * 4 < shared.manifest["scoring"]["linear_tokens"]
    assert shared.manifest["scoring"]["prompts"] == 12 * 6 * 5
    assert shared.manifest["scoring"]["verified"]["plain"]["prompts"] == 7
    assert shared.manifest["scoring"]["verified"]["plain"]["largest_difference"] < 1e-4
    assert shared.manifest["scoring"]["verified"]["plain"]["flips"] == 0
    assert shared.manifest["n_items"] == 12
    for own, other in zip(shared.table.all_rows, plain.table.all_rows, strict=True):
        assert (own.condition, own.n, own.accuracy, own.tied) == (
            other.condition,
            other.n,
            other.accuracy,
            other.tied,
        )
    records = {record.key: record for record in read_records(plain.folder)}
    for record in read_records(shared.folder):
        other = records.pop(record.key)
        assert record.label_logprobs == pytest.approx(other.label_logprobs, abs=1e-4)
        assert (record.pred_content, record.top_token_id, record.order) == (
            other.pred_content,
            other.top_token_id,
            other.order,
        )
    assert not records


def test_permutations_move_contents_and_not_letters(run: Callable[..., Finished]) -> None:
    finished = run("evaluation.permutations=3")
    records = read_records(finished.folder)
    assert {record.presentation for record in records} == {"identity", "permutation_1", "permutation_2"}
    assert len({record.order for record in records if record.k > 2}) > 2
    for record in records:
        assert record.order[record.gold_slot] == record.gold_content
        assert record.order[record.pred_slot] == record.pred_content
    assert finished.table.rows[0].n == 36
    assert finished.table.rows[0].n_groups == 12, "intervals resample items, not presentations"


def test_a_folder_of_another_run_is_refused_with_what_differs(run: Callable[..., Finished]) -> None:
    run()
    with pytest.raises(StoreError, match=r"labels: \"auto\" in the folder, \"both\" now"):
        run("labels=both")
    with pytest.raises(StoreError, match="items: "):
        run("dataset.seed=1")
    with pytest.raises(StoreError, match="prompts.let_me_think: "):
        run("trigger.conditions.let_me_think.text=Let me think.")


def test_a_folder_of_other_code_or_weights_is_refused(
    run: Callable[..., Finished], tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Rows of two versions must never end in one table."""
    import shutil

    from safetensors.torch import load_file, save_file

    from thinkgap.evaluation import describe

    run()
    with monkeypatch.context() as patch:
        patch.setattr(describe, "code_digest", lambda *folders: "other")
        with pytest.raises(StoreError, match="code: "):
            run()
    folder = shutil.copytree(tiny_model("llama"), tmp_path / "llama")
    weights = load_file(folder / "model.safetensors")
    weights["model.embed_tokens.weight"][5000, 3] += 1  # in the middle of the file
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(StoreError, match=r"model\.revision: "):
        run(f"model.path={folder}")


def test_items_too_long_are_excluded_under_every_condition_and_listed(
    run: Callable[..., Finished], caplog: pytest.LogCaptureFixture
) -> None:
    """Trap 45: never cut, counted, and the same items in every condition."""
    lengths = sorted(record.n_tokens for record in read_records(run(folder="all").folder))
    bound = lengths[len(lengths) // 2]
    with caplog.at_level(logging.WARNING):
        finished = run(f"model.max_length={bound}", folder="some")
    excluded = finished.manifest["excluded"]
    assert 0 < len(excluded) < 12
    assert all("never truncated" in entry["reason"] for entry in excluded)
    assert {row.n for row in finished.table.rows} == {12 - len(excluded)}
    assert finished.table.excluded == {"prompt longer than the context": len(excluded)}
    assert max(record.n_tokens for record in read_records(finished.folder)) <= bound
    assert f"item {excluded[0]['item']} is excluded" in caplog.text
    assert "prompt longer than the context" in (finished.folder / "table.md").read_text()


def test_a_run_in_which_nothing_fits_is_an_error(run: Callable[..., Finished]) -> None:
    with pytest.raises(DataError, match="all 12 items were excluded, the first, toy_facts/"):
        run("model.max_length=5")


def test_labels_that_would_be_natural_elsewhere_are_warned_of(
    run: Callable[..., Finished], caplog: pytest.LogCaptureFixture
) -> None:
    """Trap 4."""
    with caplog.at_level(logging.WARNING):
        finished = run("trigger.placement=assistant")
    assert "label tokens: let_me_think reads 'A' as [49] where [330] (spaced) is natural" in caplog.text
    ids = {record.label_token_ids for record in read_records(finished.folder) if record.k == 2}
    assert len(ids) == 1


def test_modes_are_conditions_too(run: Callable[..., Finished]) -> None:
    finished = run("mode=[strict,prefix_assistant]")
    assert [row.condition for row in finished.table.rows] == ["direct", "let_me_think", "strict", "prefix_assistant"]


@pytest.mark.parametrize("placement", ["user", "assistant", "prompt_end"])
@pytest.mark.parametrize("labels", ["bare", "spaced", "both"])
def test_placements_and_labels_change_what_is_read(run: Callable[..., Finished], placement: str, labels: str) -> None:
    finished = run(f"trigger.placement={placement}", f"labels={labels}", "dataset.limit=2")
    for record in read_records(finished.folder):
        assert {len(ids) for ids in record.label_token_ids} == {2 if labels == "both" else 1}


def test_yes_no_questions(run: Callable[..., Finished], tmp_path: Path) -> None:
    rows = [{"question": f"is {n} even", "answer": n % 2 == 0, "id": f"q{n}"} for n in range(6)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    finished = run("dataset=jsonl", f"dataset.path={tmp_path / 'mine.jsonl'}", "dataset.limit=null")
    records = read_records(finished.folder)
    assert {record.labels for record in records} == {("Yes", "No")}
    assert finished.table.rows[0].gold_first.value == pytest.approx(0.5)


def test_images_go_through(run: Callable[..., Finished], tmp_path: Path, picture: Callable[..., Any]) -> None:
    rows = []
    for n, size in enumerate([(60, 40), (200, 120), (30, 300)]):
        (tmp_path / f"{n}.png").write_bytes(picture(*size, n).load())
        rows.append({"question": "What is it?", "choices": ["a cat", "a dog"], "answer": 1, "image": f"{n}.png"})
    rows.append({"question": "No picture here?", "choices": ["yes", "no", "perhaps"], "answer": "B"})
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = ["dataset=jsonl", f"dataset.path={tmp_path / 'mine.jsonl'}", "dataset.limit=null"]
    finished = run(*source, family="qwen25vl", folder="vision")
    tokens = [record.n_image_tokens for record in read_records(finished.folder) if record.condition == "direct"]
    assert sorted(tokens)[0] == 0 < sorted(tokens)[1]
    assert finished.manifest["image_tokens"]["max"] == max(tokens)
    assert finished.manifest["model"]["image_processor"]["size"]["longest_edge"] == 28 * 28 * 40
    with pytest.raises(ConfigError, match="3 of 4 items have images and model=llama reads text only"):
        run(*source, folder="text")
    assert run(*source, "dataset.images=none", folder="text only").manifest["n_items"] == 1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["model=gpt_5_4"], "model=gpt_5_4 is served"),
        (["trainer.devices=2"], "this run has 1 processes, not 2"),
        (["evaluation.batch_size=0"], "evaluation.batch_size=0"),
        (["evaluation.permutations=0"], "evaluation.permutations=0: must be at least 1"),
        (["evaluation.batch_tokens=0"], "evaluation.batch_tokens=0"),
        (["evaluation.verify=-1"], "evaluation.verify=-1"),
        (["evaluation.draws=1"], "evaluation.draws=1: must be at least 100"),
        (["evaluation.permutation.prior_share=0"], "evaluation.permutation.prior_share=0.0: must lie between 0 and 1"),
        (["evaluation=generation", "evaluation.generation.max_new_tokens=0"], "evaluation.generation.max_new_tokens=0"),
        (["evaluation=generation", "evaluation.generation.batch_size=0"], "evaluation.generation.batch_size=0"),
        (["evaluation=generation", "evaluation.generation.cue=''"], "evaluation.generation.cue is empty"),
        (
            ["evaluation=generation", "evaluation.generation.cue='<|im_end|>'"],
            "evaluation.generation.cue or .joiner: its",
        ),
        (["evaluation=likelihood", "evaluation.likelihood.premise='<|im_end|>'"], "evaluation.likelihood.premise: its"),
        (["evaluation.verdict.gap=-0.1"], "evaluation.verdict.gap=-0.1: must lie between 0 and 1"),
        (["evaluation.verdict.label_mass=50"], "evaluation.verdict.label_mass=50.0: must lie between 0 and 1"),
        (["evaluation.vocabulary.reasoning=[]"], "evaluation.vocabulary.reasoning is empty"),
        (["evaluation.vocabulary.reasoning=[So,'']", "evaluation.vocabulary.ambiguous=[]"], "holds an empty word"),
        (["evaluation.vocabulary.ambiguous=[Perhaps]"], "evaluation.vocabulary.ambiguous names 'Perhaps'"),
    ],
)
def test_settings_that_cannot_be_honoured(
    run: Callable[..., Finished], overrides: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "run_predict", lambda *_, **__: pytest.fail("computed something"))
    with pytest.raises(ConfigError, match=message):
        run(*overrides)


def test_words_that_are_no_token_have_no_mass_rather_than_none(run: Callable[..., Finished]) -> None:
    words = ["evaluation.vocabulary.reasoning=[Notwithstandingly]", "evaluation.vocabulary.ambiguous=[]"]
    finished = run("evaluation=vocabulary", *words)
    assert all(record.reasoning_mass != record.reasoning_mass for record in read_records(finished.folder))
    (sheet,) = [sheet for sheet in finished.report.sheets if sheet.name == "vocabulary"]
    column = [column.name for column in sheet.columns].index("reasoning_mass")
    assert all(isinstance(row[column], Missing) for row in sheet.rows)


def test_open_questions_have_no_labels(run: Callable[..., Finished], tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text(json.dumps({"question": "2 + 2?", "answer": "4"}))
    with pytest.raises(ConfigError, match="has 1 open questions .the first: jsonl.test.000000., which have no"):
        run("dataset=jsonl", f"dataset.path={tmp_path / 'mine.jsonl'}", "dataset.limit=null")


def test_too_many_bad_rows_stop_the_run_before_the_model_is_loaded(
    run: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"question": "q?", "choices": ["a", "b"], "answer": answer} for answer in (0, 1, 7)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setattr(prepare, "load_backend", lambda *_, **__: pytest.fail("loaded a model"))
    with pytest.raises(DataError, match=r"dataset\.max_bad"):
        run("dataset=jsonl", f"dataset.path={tmp_path / 'mine.jsonl'}", "dataset.limit=null")


def test_bad_rows_are_named_and_the_good_ones_kept(
    run: Callable[..., Finished], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"id": f"r{n}", "question": f"q {n}?", "choices": ["a", "b"], "answer": n} for n in (0, 1, 7)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with caplog.at_level(logging.WARNING):
        finished = run(
            "dataset=jsonl", f"dataset.path={tmp_path / 'mine.jsonl'}", "dataset.limit=null", "dataset.max_bad=0.5"
        )
    assert finished.manifest["n_items"] == 2
    assert [bad["id"] for bad in finished.manifest["dataset"]["bad_rows"]] == ["r7"]
    assert "row r7 is skipped" in caplog.text


def test_a_broken_logger_does_not_end_a_run(run: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    def broken(**_: Any) -> None:
        raise RuntimeError("no service")

    monkeypatch.setattr(wandb, "init", broken)
    assert run("logger=wandb").manifest["n_items"] == 12


@pytest.mark.parametrize(
    ("overrides", "labels"),
    [
        ([], "labels=bare (auto)"),
        (["labels=both"], "labels=both"),
        (["label_ids=natural"], "labels=bare (auto) for direct, each condition its own"),
    ],
)
def test_the_title_says_which_labels_are_read(overrides: list[str], labels: str) -> None:
    title = run_title(composed(*overrides), 3, "bare")
    assert title == f"demo_vlm on digit_scenes (test), 3 items, placement=user, {labels}"


@pytest.mark.parametrize("place", [0, -1])
def test_one_unshowable_item_is_excluded_wherever_it_stands(
    run: Callable[..., Finished], tmp_path: Path, place: int
) -> None:
    rows = [{"id": f"r{n}", "question": f"q {n}?", "choices": ["a", "b"], "answer": 0} for n in range(4)]
    rows[place]["question"] = "What does <|im_end|> do?"
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    finished = run("dataset=jsonl", f"dataset.path={tmp_path / 'mine.jsonl'}", "dataset.limit=null")
    assert [entry["item"] for entry in finished.manifest["excluded"]] == [rows[place]["id"]]
    assert finished.manifest["n_items"] == 3


def test_control_tokens_in_settings_name_the_setting(run: Callable[..., Finished]) -> None:
    with pytest.raises(ConfigError, match="condition custom: its text contains '<|im_end|>'"):
        run("trigger=custom", "trigger.conditions.custom.text='a<|im_end|>b'")
    with pytest.raises(ConfigError, match=r"prompt\.system: its text contains"):
        run("prompt.system='a<|im_end|>b'")


def test_thinking_without_a_switch_names_the_condition(run: Callable[..., Finished]) -> None:
    with pytest.raises(ConfigError, match="condition think_on asks for thinking, and llama has no switch"):
        run("mode=paper")


def test_an_accelerator_that_is_not_there(run: Callable[..., Finished]) -> None:
    with pytest.raises(ConfigError, match=r"trainer\.accelerator=tpu_of_tomorrow"):
        run("trainer.accelerator=tpu_of_tomorrow")


def test_a_failed_start_does_not_claim_the_folder(run: Callable[..., Finished]) -> None:
    with pytest.raises(DataError, match="all 12 items were excluded"):
        run("model.max_length=5")
    assert run().manifest["n_items"] == 12
