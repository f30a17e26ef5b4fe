"""`evaluation=no_thinking` over a served model: a real server on this machine answers by script."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.backends.served.loopback import KEY, KEY_ENV, Answer, Loopback, chat
from tests.evaluation.no_thinking_runs import MODES, cell, items_file, settings, started
from tests.items import mcq, shown
from thinkgap.backends.served import ServedError
from thinkgap.data.images import image_ref
from thinkgap.errors import ConfigError
from thinkgap.evaluation.messages import messages_of
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.prompts.conditions import mode_conditions
from thinkgap.schema import EvaluateConfig

RIGHT = {"Which is the largest?": "B", "Does ice float?": "yes", "What is 3 + 4?": "7"}


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv(KEY_ENV, KEY)


def text_of(body: dict[str, Any]) -> str:
    return body["messages"][-1]["content"]


def said(body: dict[str, Any]) -> Answer:
    """The right answer in a box, with reasoning in a channel where thinking is on."""
    (answer,) = [answer for question, answer in RIGHT.items() if question in text_of(body)]
    reasoning = {"reasoning": "Let me see."} if body["reasoning"]["effort"] == "high" else {}
    return Answer(chat(f"\\boxed{{{answer}}}", **reasoning))


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Loopback]:
    script = getattr(request, "param", said)
    with Loopback(lambda body, before: script(body)) as found:
        yield found


@pytest.fixture
def cfg(server: Loopback, tmp_path: Path) -> Callable[..., EvaluateConfig]:
    items = items_file(tmp_path / "items.jsonl")

    def composed_with(*overrides: str, mode: str = "mode=paper") -> EvaluateConfig:
        # OpenRouter's way of switching thinking, sent to the server here.
        model = ["model=qwen3_235b_a22b", "model.name=served", f"model.served.base_url={server.url}"]
        model += [f"model.served.api_key_env={KEY_ENV}", "model.served.max_retries=0"]
        return settings(*model, *overrides, items=items, mode=mode)

    return composed_with


def test_every_item_is_asked_under_every_mode(
    cfg: Callable[..., EvaluateConfig], server: Loopback, tmp_path: Path
) -> None:
    sheets, rows, manifest = started(cfg(), tmp_path / "run")
    assert len(server.calls) == len(rows) == 3 * len(MODES)
    assert {body["max_tokens"] for body in server.calls} == {5}
    assert {body["temperature"] for body in server.calls} == {0.0}
    first = next(body for body in server.calls if "ice" in text_of(body) and "Give the final answer" in text_of(body))
    assert text_of(first) == (
        "Context: Ice is lighter than water.\nQuestion: Does ice float?\n"
        "Give the final answer directly without any reasoning.\n"
        r"Put only the final yes/no answer in boxed{}, e.g. \boxed{yes}."
    )
    assert {row["mode"]: row["thinking"] for row in rows} == dict.fromkeys(MODES, "disabled") | {"think_on": "enabled"}
    assert {row["served_model"] for row in rows} == {"served-id"}
    assert {row["model"] for row in rows} == {"served"}
    assert all(row["correct"] for row in rows)
    assert {row["mode"] for row in rows if row["reasoning"]} == {"think_on"}
    assert cell(sheets["nothinking"], "etr_prefix", mode="think_on").value == 0
    assert cell(sheets["nothinking"], "etr_content", mode="think_on").value == 1
    assert cell(sheets["nothinking"], "etr_strict", mode="strict").value == 1
    assert manifest["requests"]["answered"] == manifest["requests"]["planned"] == 18
    assert manifest["failed_requests"] == manifest["notes"] == []
    written = [file.read_text(encoding="utf-8") for file in (tmp_path / "run").glob("*.json")]
    assert not any(KEY in text for text in written)


def test_replies_are_stored_and_a_further_mode_asks_only_what_is_new(
    cfg: Callable[..., EvaluateConfig], server: Loopback, tmp_path: Path
) -> None:
    run_no_thinking(cfg(mode="mode=[strict,soft]"), tmp_path / "first")
    assert len(server.calls) == 6
    _, rows, manifest = started(cfg(mode="mode=[strict,soft,cot]"), tmp_path / "second")
    assert len(server.calls) == 9
    assert len(rows) == 9
    assert (manifest["requests"]["stored"], manifest["requests"]["answered"]) == (6, 3)
    before = (tmp_path / "first" / "responses.parquet").read_bytes()
    run_no_thinking(cfg(mode="mode=[strict,soft]"), tmp_path / "first")
    assert len(server.calls) == 9
    assert (tmp_path / "first" / "responses.parquet").read_bytes() == before
    run_no_thinking(cfg("evaluation.reuse=false", mode="mode=strict"), tmp_path / "apart")
    assert len(server.calls) == 12
    assert (tmp_path / "apart" / "replies" / "served.sqlite").exists()


def failing(body: dict[str, Any]) -> Answer:
    if "ice" in text_of(body):
        return Answer({"error": {"message": "not today"}}, status=400)
    return said(body)


@pytest.mark.parametrize("server", [failing], indirect=True)
def test_requests_that_failed_are_counted_and_are_no_rows(
    cfg: Callable[..., EvaluateConfig], tmp_path: Path, server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    sheets, rows, manifest = started(cfg(mode="mode=[strict,soft]"), tmp_path / "run")
    assert sorted(row["item_id"] for row in rows) == ["m", "m", "o", "o"]
    assert cell(sheets["nothinking"], "accuracy", mode="strict").value == 1, "of two, and not 2/3"
    assert cell(sheets["nothinking"], "n", mode="strict") == 2
    assert cell(sheets["nothinking_outcomes"], "empty", mode="strict").value == 0
    (note,) = manifest["notes"]
    assert note.startswith("2 of 6 requests failed (1 under strict, 1 under soft) and are in no table")
    assert note in capsys.readouterr().out
    assert [(one["item"], one["mode"]) for one in manifest["failed_requests"]] == [("b", "strict"), ("b", "soft")]
    assert "not today" in manifest["failed_requests"][0]["error"]
    assert manifest["requests"]["errors"] == 2
    server._script = lambda body, before: said(body)
    n_before = len(server.calls)
    _, rows, manifest = started(cfg(mode="mode=[strict,soft]"), tmp_path / "run")
    assert len(server.calls) == n_before + 2, "what failed is asked again, and nothing else"
    assert (len(rows), manifest["notes"]) == (6, [])


@pytest.mark.parametrize(
    "server", [lambda body: Answer({"error": {"message": "not today"}}, status=400)], indirect=True
)
def test_a_run_without_any_response_is_refused(cfg: Callable[..., EvaluateConfig], tmp_path: Path) -> None:
    with pytest.raises(ServedError, match="none of 3 requests was answered: .*not today"):
        run_no_thinking(cfg(mode="mode=strict"), tmp_path / "run")
    assert not (tmp_path / "run" / "responses.parquet").exists()


def test_an_estimate_asks_nothing(
    cfg: Callable[..., EvaluateConfig], server: Loopback, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_no_thinking(cfg(mode="mode=strict"), tmp_path / "run")
    n_before = len(server.calls)
    capsys.readouterr()
    (sheet,) = run_no_thinking(cfg("evaluation.estimate=true", mode="mode=[strict,soft]"), tmp_path / "estimate")
    assert len(server.calls) == n_before
    assert not (tmp_path / "estimate").exists()
    assert [row[:4] for row in sheet.rows] == [("strict", 3, 3, 0), ("soft", 3, 0, 3), ("all", 6, 3, 3)]
    assert sheet.rows[1][5] == 3 * 5, "three calls of 5 new tokens at most"
    assert "What served would be asked" in capsys.readouterr().out


def test_modes_that_a_profile_cannot_honour_are_left_out_with_a_note(
    cfg: Callable[..., EvaluateConfig], server: Loopback, tmp_path: Path
) -> None:
    given = ["model.served.temperature_plain=omit"]
    _, rows, manifest = started(cfg(*given, mode="mode=[strict,prefix_assistant]"), tmp_path / "run")
    assert {row["mode"] for row in rows} == {"strict"}
    assert all("temperature" not in body for body in server.calls)
    assert [note.partition(":")[0] for note in manifest["notes"]] == ["prefix_assistant", "strict"]
    assert "cannot be given the opening of its turn" in manifest["notes"][0]
    assert manifest["notes"][1] == "strict: temperature 0 was asked for and not sent, as the model's profile says."
    with pytest.raises(ConfigError, match="none of the modes that were asked for: prefix_assistant: unavailable"):
        run_no_thinking(cfg(mode="mode=prefix_assistant"), tmp_path / "alone")
    with pytest.raises(ConfigError, match="served.timeout=0"):
        run_no_thinking(cfg("model.served.timeout=0", mode="mode=strict"), tmp_path / "profile")


@pytest.mark.parametrize("server", [lambda body: Answer(chat("B} as 17 > 12"))], indirect=True)
def test_a_prefill_is_sent_and_the_reply_goes_on_from_it(
    cfg: Callable[..., EvaluateConfig], server: Loopback, tmp_path: Path
) -> None:
    _, rows, _ = started(
        cfg("model.served.prefill=continue_final_message", mode="mode=prefix_assistant"), tmp_path / "run"
    )
    assert {json.dumps(body["messages"][-1]) for body in server.calls} == {
        json.dumps({"role": "assistant", "content": r"The answer is \boxed{"})
    }
    found = next(row for row in rows if row["item_id"] == "m")
    assert (found["answer"], found["rule"], found["etr_prefix"]) == ("B", "forced_prefix", True)


def test_images_are_sent_where_the_text_names_them(cfg: Callable[..., EvaluateConfig], picture: Any) -> None:
    images = (picture(4, 4, 1), picture(4, 4, 2))
    item = shown(mcq(question="Is <image 2> larger?", images=images))
    (strict,) = mode_conditions(cfg(mode="mode=strict").mode)
    messages, prefill = messages_of(item, strict, "Be brief.")
    assert prefill == ""
    assert messages[0] == {"role": "system", "content": "Be brief."}
    parts = messages[1]["content"]
    assert [part["type"] for part in parts] == ["image_url", "text", "image_url", "text"]
    assert parts[1]["text"] == "Question: Is "
    assert parts[3]["text"].startswith(" larger?\nOptions:\nA. twelve\n")
    for part, image in zip(parts[::2], images, strict=True):
        kind, _, data = part["image_url"]["url"].partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data) == image.load()


def test_an_image_in_another_format_becomes_png() -> None:
    import io

    from PIL import Image

    from thinkgap.data.images import data_uri

    sink = io.BytesIO()
    Image.new("RGB", (3, 2), (255, 0, 0)).save(sink, "BMP")
    uri = data_uri(image_ref(sink.getvalue()).load())
    assert uri.startswith("data:image/png;base64,")
    with Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) as image:
        assert (image.size, image.getpixel((0, 0))) == ((3, 2), (255, 0, 0))


def _knows(body: dict[str, Any]) -> Answer:
    """17.5 is the largest: by label, as a text without labels, of a proposal, and without options."""
    text = text_of(body)
    if "Proposed answer: " in text:
        return Answer(chat(r"\boxed{yes}" if "Proposed answer: 17.5\n" in text else r"\boxed{no}"))
    lines = [line for line in text.splitlines() if line.endswith(" 17.5")]
    if not lines:
        return Answer(chat(r"\boxed{35/2}"))
    return Answer(chat(rf"\boxed{{{lines[0].removeprefix('- ').removesuffix('. 17.5')}}}"))


@pytest.mark.parametrize("server", [_knows], indirect=True)
def test_items_in_all_their_forms_are_asked_and_read_back(
    cfg: Callable[..., EvaluateConfig], server: Loopback, tmp_path: Path
) -> None:
    items = tmp_path / "numbers.jsonl"
    row = {
        "id": "n",
        "question": "What is the largest of 12, 17.5 and 3?",
        "choices": ["12", "17.5", "3"],
        "answer": "B",
    }
    items.write_text(json.dumps(row) + "\n", encoding="utf-8")
    forms = [
        "evaluation.variants.rewrites=[verification,open_numeric]",
        "evaluation.variants.surface=[shuffle,numeric,roman,bullets]",
        f"dataset.path={items}",
    ]
    sheets, rows, _ = started(cfg(*forms, mode="mode=strict"), tmp_path / "run")
    assert len(server.calls) == len(rows) == 8
    assert all(row["correct"] for row in rows), [(row["presentation"], row["content"]) for row in rows]
    assert cell(sheets["verification"], "balanced_accuracy", mode="strict").value == 1
    assert cell(sheets["open_numeric"], "exact", mode="strict").value == 0  # right, and written in another way
    for variant in ("surface_shuffle", "letters_numeric", "letters_roman", "surface_bullets"):
        assert cell(sheets["surface"], "consistency", variant=variant).value == 1
