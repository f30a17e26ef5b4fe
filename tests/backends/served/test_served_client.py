"""Asking over real connections: faults, repeats, order, rates, and what never leaks. The server is on this machine."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.backends.served.loopback import KEY, KEY_ENV, Answer, Loopback, Script, chat, free_port, model, question
from thinkgap.backends.served import (
    Answers,
    ResponseStore,
    ServedError,
    ServedRequest,
    ask,
    ask_all,
    build_request,
)
from thinkgap.backends.served.client import IN_A_ROW
from thinkgap.errors import ConfigError, StoreError
from thinkgap.schema import ModelConfig, ServedApi, TokenField
from thinkgap.types import Thinking

Asked = Callable[..., tuple[Answers, Loopback, list[ServedRequest]]]


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """`asked(script, texts)`: what came of asking a server with that script."""

    def run(script: Script, texts: list[str] | None = None, **served: Any) -> tuple[Answers, Loopback, list[Any]]:
        with Loopback(script) as server, ResponseStore.open(tmp_path, "loopback") as store:
            cfg = model(server.url, **served)
            requests = [question(cfg, text) for text in texts or ["2 + 2?"]]
            return ask(cfg, requests, store), server, requests

    return run


def test_a_chat_reply_and_what_was_sent_for_it(asked: Asked) -> None:
    answers, server, (request,) = asked(lambda *_: Answer(chat("B")))
    outcome = answers[request]
    assert (outcome.status, outcome.error, outcome.stored) == ("ok", "", False)
    assert outcome.response is not None
    assert (outcome.response.content, outcome.response.model) == ("B", "served-id")
    assert server.paths == ["/v1/chat/completions"]
    assert server.calls == [
        {
            "model": "some/model",
            "messages": [{"role": "user", "content": "2 + 2?"}],
            "max_tokens": 16,
            "stream": False,
            "temperature": 0.0,
            "reasoning": {"effort": "none"},
        }
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    counts = answers.counts
    assert (counts.stored, counts.answered, counts.errors) == (0, 1, 0)
    assert (counts.prompt_tokens, counts.completion_tokens, counts.reasoning_tokens) == (7, 3, 0)


def test_the_responses_api(tmp_path: Path) -> None:
    reply = {
        "status": "completed",
        "model": "served-id",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "C"}]}],
        "usage": {"input_tokens": 5, "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 8}},
    }
    with Loopback(lambda *_: Answer(reply)) as server, ResponseStore.open(tmp_path, "m") as store:
        cfg = model(server.url, api=ServedApi.responses, token_field=TokenField.max_output_tokens)
        request = question(cfg)
        answers = ask(cfg, [request], store)
    assert server.paths == ["/v1/responses"]
    assert server.calls[0]["input"] == [{"role": "user", "content": "2 + 2?"}]
    assert (server.calls[0]["max_output_tokens"], "messages" in server.calls[0]) == (16, False)
    response = answers[request].response
    assert response is not None
    assert (response.content, response.finish_reason, response.reasoning_tokens) == ("C", "stop", 8)
    assert answers.counts.reasoning_tokens == 8


@pytest.mark.parametrize(
    "first",
    [
        Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "0.05"}),
        Answer({"error": {"message": "oops"}}, 500),
        Answer({"error": {"message": "busy"}}, 503),
        Answer(close=True),
        Answer(chat("late"), delay=1.5),
        Answer(chat("late"), drip=1.5),
    ],
    ids=["429", "500", "503", "closed", "hang", "drip"],
)
@pytest.mark.usefixtures("quick")
def test_a_fault_that_passes_is_not_seen(first: Answer, asked: Asked) -> None:
    answers, server, (request,) = asked(lambda _, before: first if before == 0 else Answer(chat("B")), timeout=0.4)
    response = answers[request].response
    assert response is not None
    assert (response.content, len(server.calls)) == ("B", 2)
    assert (answers.counts.answered, answers.counts.errors) == (1, 0)


def test_retry_after_is_waited_for(asked: Asked) -> None:
    wait = Answer({}, 429, {"Retry-After": "1.2"})
    _, server, _ = asked(lambda _, before: wait if before == 0 else Answer(chat()))
    # Without the header the client would wait half a second at most.
    assert server.times[1] - server.times[0] >= 1.2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(b"<html>bad gateway</html>"), "the reply is no JSON: '<html>bad gateway</html>'"),
        (Answer(b'{"choices": ['), "the reply is no JSON"),
        (Answer(b"[]"), "not an object"),
        (Answer({"choices": []}), "holds no choice"),
        (Answer({"choices": [{"index": 0}]}), "holds no message"),
        (Answer({"error": {"message": "upstream died", "code": 502}}), "upstream died (502)"),
        (Answer({"error": {"message": "too long", "code": "context"}}, 400), "status 400: too long (context)"),
        (Answer({"error": {"message": "flagged"}}, 403), "status 403: flagged"),
        (Answer(b"nothing to see", 422), "status 422"),
        (Answer(chat(), delay=2), "no answer within 0.3 s, 2 times"),
        (Answer({"error": {"message": "oops"}}, 500), "status 500: oops"),
        (Answer(close=True), "the connection broke, 2 times"),
    ],
)
@pytest.mark.usefixtures("quick")
def test_a_fault_of_one_request_leaves_the_others(answer: Answer, error: str, asked: Asked, tmp_path: Path) -> None:
    texts = [f"question {n}" for n in range(12)]

    def script(body: dict[str, Any], _: int) -> Answer:
        text = body["messages"][0]["content"]
        return answer if text == "question 5" else Answer(chat(text))

    answers, _, requests = asked(script, texts, timeout=0.3, max_retries=1)
    for text, request in zip(texts, requests, strict=True):
        outcome = answers[request]
        if text == "question 5":
            assert (outcome.status, outcome.response) == ("error", None)
            assert error in outcome.error
        else:
            assert outcome.response is not None
            assert outcome.response.content == text
    assert (answers.counts.answered, answers.counts.errors) == (11, 1)
    with ResponseStore.open(tmp_path, "loopback") as store:
        assert len(store) == 11
        assert requests[5].key not in store, "what failed is asked again"


def test_200_requests_in_any_order_none_lost_none_twice(asked: Asked) -> None:
    order = random.Random(0)
    delays = {f"question {n}": order.random() * 0.05 for n in range(200)}

    def script(body: dict[str, Any], _: int) -> Answer:
        text = body["messages"][0]["content"]
        return Answer(chat(f"answer to {text}"), delay=delays[text])

    # Asked twice each, in two orders: the same request is one call.
    texts = [*delays, *reversed(delays)]
    answers, server, requests = asked(script, texts, concurrency=16)
    assert len(server.calls) == 200
    assert {body["messages"][0]["content"] for body in server.calls} == set(delays)
    assert len(answers.outcomes) == 200
    for text, request in zip(texts, requests, strict=True):
        response = answers[request].response
        assert response is not None
        assert response.content == f"answer to {text}"
    assert (answers.counts.answered, answers.counts.completion_tokens) == (200, 600)
    assert 1 < server.most_open <= 16


def test_another_address_is_another_request(asked: Asked) -> None:
    first, before, _ = asked(lambda *_: Answer(chat()), ["a", "b"])
    second, after, _ = asked(lambda *_: Answer(chat()), ["a", "b"])
    assert before.url != after.url
    assert (first.counts.answered, second.counts.answered, second.counts.stored) == (2, 2, 0)


def test_an_added_mode_costs_only_what_is_new_and_what_is_stored_needs_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Loopback(lambda body, _: Answer(chat(body["messages"][0]["content"]))) as server:
        cfg = model(server.url)
        requests = [question(cfg, text) for text in "abc"]
        with ResponseStore.open(tmp_path, "m") as store:
            ask(cfg, requests[:2], store)
            assert len(server.calls) == 2
            answers = ask(cfg, requests, store)
            assert [body["messages"][0]["content"] for body in server.calls[2:]] == ["c"]
            assert [answers[request].stored for request in requests] == [True, True, False]
            assert (answers.counts.stored, answers.counts.answered, answers.counts.prompt_tokens) == (2, 1, 7)
            monkeypatch.delenv(KEY_ENV)
            again = ask(cfg, [*requests, *requests], store)
            assert (again.counts.stored, again.counts.answered, again.counts.prompt_tokens) == (3, 0, 0)
    responses = [again[request].response for request in requests]
    assert [response.content for response in responses if response is not None] == ["a", "b", "c"]
    assert len(server.calls) == 3


@pytest.mark.usefixtures("quick")
def test_a_server_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    cfg = model(url, max_retries=2)
    with (
        ResponseStore.open(tmp_path, "m") as store,
        pytest.raises(ServedError, match="cannot be reached.*model.served.base_url") as caught,
    ):
        ask(cfg, [question(cfg, str(n)) for n in range(500)], store)
    assert str(caught.value).count(url) == 1


@pytest.mark.usefixtures("quick")
def test_a_server_that_goes_away_ends_the_run_and_keeps_what_came(tmp_path: Path) -> None:
    with Loopback(lambda *_: Answer(chat())) as server:
        cfg = model(server.url, max_retries=1)
        gone = model(f"http://127.0.0.1:{free_port()}/v1", max_retries=1)
        requests = [question(cfg, str(n)) for n in range(5)] + [question(gone, str(n)) for n in range(100)]
        with ResponseStore.open(tmp_path, "m") as store:
            with pytest.raises(ServedError, match="cannot be reached"):
                ask(cfg, requests, store)
            assert len(store) == 5


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, f"the key is not accepted: look at the environment variable {KEY_ENV}"),
        (402, "no credit left"),
        (404, "no such address or model.*model.path=some/model"),
    ],
)
def test_what_every_request_would_get_ends_the_run(status: int, message: str, asked: Asked) -> None:
    with pytest.raises(ServedError, match=message):
        asked(lambda *_: Answer({"error": {"message": "no"}}, status), [str(n) for n in range(300)], concurrency=2)


@pytest.mark.usefixtures("quick")
def test_a_rate_limit_without_end_is_one_clear_error(tmp_path: Path) -> None:
    limit = Answer({"error": {"message": "quota used up"}}, 429, {"Retry-After": "0.01"})
    with Loopback(lambda *_: limit) as server, ResponseStore.open(tmp_path, "m") as store:
        cfg = model(server.url, max_retries=3, concurrency=4)
        with pytest.raises(ServedError, match=r"still holds after 3 further tries.*quota used up.*per_minute"):
            ask(cfg, [question(cfg, str(n)) for n in range(100)], store)
    assert len(server.calls) <= 4 * 4 * 2, "requests that were not begun are not tried"


@pytest.mark.usefixtures("quick")
def test_a_rate_limit_for_one_request_only_is_its_own_error(asked: Asked) -> None:
    """While others are answered, the server has room."""

    def script(body: dict[str, Any], _: int) -> Answer:
        if body["messages"][0]["content"] == "0":
            return Answer({}, 429, {"Retry-After": "0.1"})
        return Answer(chat(), delay=0.02)

    answers, _, requests = asked(script, [str(n) for n in range(30)], max_retries=2, concurrency=4)
    assert "rate limit" in answers[requests[0]].error
    assert (answers.counts.answered, answers.counts.errors) == (29, 1)


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.usefixtures("quick")
def test_a_server_that_answers_nobody_is_given_up(status: int, asked: Asked) -> None:
    with pytest.raises(ServedError, match=f"status {status}: never.*{IN_A_ROW} requests in a row failed"):
        asked(lambda *_: Answer({"error": {"message": "never"}}, status), list(map(str, range(100))), max_retries=0)


def test_bad_requests_in_a_row_do_not_end_a_run_that_works(asked: Asked) -> None:
    """A data set may hold more than that many items which a provider refuses."""

    def script(body: dict[str, Any], _: int) -> Answer:
        return Answer(chat()) if body["messages"][0]["content"] == "0" else Answer({}, 400)

    answers, _, _ = asked(script, list(map(str, range(60))), concurrency=1)
    assert (answers.counts.answered, answers.counts.errors) == (1, 59)


@pytest.mark.usefixtures("quick")
def test_faults_between_replies_do_not_end_a_run(asked: Asked) -> None:
    """More of them than may come in a row, but never in a row."""

    def script(body: dict[str, Any], _: int) -> Answer:
        return Answer({}, 500) if int(body["messages"][0]["content"]) % 2 else Answer(chat())

    answers, _, _ = asked(script, list(map(str, range(4 * IN_A_ROW))), concurrency=1, max_retries=0)
    assert (answers.counts.answered, answers.counts.errors) == (2 * IN_A_ROW, 2 * IN_A_ROW)


def test_requests_per_minute_holds_for_repeated_tries_too(asked: Asked) -> None:
    tries = 6

    def script(body: dict[str, Any], before: int) -> Answer:
        return Answer({}, 429, {"Retry-After": "0.001"}) if before == 0 else Answer(chat())

    _, server, _ = asked(script, list("abc"), requests_per_minute=600, concurrency=3)
    times = sorted(server.times)
    assert len(times) == tries
    # 600 a minute are one each 0.1 s: six take 0.5 s, less what the server may notice the first one late.
    assert times[-1] - times[0] >= 0.35


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_key_that_is_not_set_is_named(value: str | None, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_ENV) if value is None else monkeypatch.setenv(KEY_ENV, value)
    with pytest.raises(ConfigError, match=f"{KEY_ENV} is not set"):
        asked(lambda *_: Answer(chat()))


def test_a_key_with_a_line_end_is_trimmed_and_one_with_other_characters_is_refused(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP refuses such a header with a message that repeats it."""
    monkeypatch.setenv(KEY_ENV, KEY + "\n")
    _, server, _ = asked(lambda *_: Answer(chat()))
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv(KEY_ENV, f"{KEY}\n{KEY}")
    with pytest.raises(ConfigError, match=KEY_ENV) as caught:
        asked(lambda *_: Answer(chat()))
    assert KEY not in str(caught.value)


def test_a_server_without_keys_is_told_none(tmp_path: Path) -> None:
    with Loopback(lambda *_: Answer(chat())) as server, ResponseStore.open(tmp_path, "m") as store:
        cfg = model(server.url)
        cfg.served.api_key_env = ""
        ask(cfg, [question(cfg)], store)
    assert server.headers[0]["authorization"] == "Bearer none"


def test_what_the_environment_says_for_one_provider_is_not_told_to_another(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-mine")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-of-openai-0123456789")
    _, server, _ = asked(lambda *_: Answer(chat()))
    assert "of-mine" not in str(server.headers)
    assert "of-openai" not in str(server.headers)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.usefixtures("quick")
def test_the_key_is_in_no_log_record_store_result_or_error(
    asked: Asked, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Also where the server repeats it, in replies, in errors, and in the error that ends a run."""

    def script(body: dict[str, Any], before: int) -> Answer:
        text = body["messages"][0]["content"]
        if text == "fine":
            return Answer(chat(f"your key is {KEY}", reasoning=KEY), headers={"X-Echo": "no"})
        if text == "bad":
            return Answer({"error": {"message": f"wrong key {KEY}"}}, 400)
        return Answer(b"not json " + KEY.encode()) if text == "garbled" else Answer({}, 500)

    # urllib3 and others are silent here; every logger of the call is heard.
    caplog.set_level(logging.DEBUG)
    answers, _, requests = asked(script, ["fine", "bad", "garbled", "down"], max_retries=1)
    assert [answers[request].status for request in requests] == ["ok", "error", "error", "error"]
    response = answers[requests[0]].response
    assert response is not None
    assert (response.content, response.reasoning) == ("your key is [removed]", "[removed]")
    assert "[removed]" in answers[requests[1]].error
    with pytest.raises(ServedError) as caught:
        asked(lambda *_: Answer({"error": {"message": f"Incorrect key: {KEY}"}}, 401))
    assert "Incorrect key: [removed]" in str(caught.value)
    with ResponseStore.open(tmp_path, "loopback") as store:
        store.export(tmp_path / "out.jsonl")
        assert len(store) == 1
    printed = capfd.readouterr()
    everything = [caplog.text, repr(answers), str(caught.value), repr(caught.value.__cause__), printed.out, printed.err]
    everything += [file.read_bytes().decode("latin-1") for file in tmp_path.rglob("*") if file.is_file()]
    assert len(everything) >= 8
    assert "HTTP" in caplog.text, "the client's own log was listened to"
    for text in everything:
        assert KEY not in text


def test_a_full_disk_ends_the_run_with_its_own_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback(lambda *_: Answer(chat())) as server, ResponseStore.open(tmp_path, "m") as store:
        cfg = model(server.url, concurrency=3)

        def full(*_: object) -> None:
            raise StoreError("no space left")

        monkeypatch.setattr(store, "put_all", full)
        with pytest.raises(StoreError, match="no space left"):
            ask(cfg, [question(cfg, str(n)) for n in range(50)], store)
    assert len(server.calls) <= 6, "nothing more is paid for that cannot be kept"


def test_an_http_client_of_ones_own(tmp_path: Path) -> None:
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json=chat("mine"))

    async def run(cfg: ModelConfig, request: ServedRequest, store: ResponseStore) -> Answers:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(handler)) as http:
            answers = await ask_all(cfg, [request], store, http_client=http)
            assert not http.is_closed
            return answers

    cfg = model("http://nowhere.invalid/v1")
    request = question(cfg)
    with ResponseStore.open(tmp_path, "m") as store:
        answers = asyncio.run(run(cfg, request, store))
    response = answers[request].response
    assert response is not None
    assert response.content == "mine"
    assert json.loads(seen[0].content) == request.body()


def test_the_body_that_is_stored_is_the_one_that_was_sent(asked: Asked, tmp_path: Path) -> None:
    _, server, _ = asked(lambda *_: Answer(chat()), ["héllo \u2028 🙂"])
    with sqlite3.connect(tmp_path / "loopback.sqlite") as connection:
        ((stored,),) = connection.execute("SELECT request FROM replies").fetchall()
    assert json.loads(stored)["body"] == server.calls[0]


def test_channel_swap_comes_through_as_it_came(asked: Asked) -> None:
    """A server may put the whole answer of a closed think block into the reasoning channel: not for us to move it."""
    answers, _, (request,) = asked(lambda *_: Answer(chat(None, reasoning="The answer is B.")))
    response = answers[request].response
    assert response is not None
    assert (response.content, response.reasoning, response.finish_reason) == ("", "The answer is B.", "stop")


def test_a_prefill_goes_where_the_profile_says(tmp_path: Path) -> None:
    from thinkgap.schema import PrefillForm

    with Loopback(lambda *_: Answer(chat("B}"))) as server, ResponseStore.open(tmp_path, "m") as store:
        beta = server.url.replace("/v1", "/beta")
        cfg = model(server.url, prefill=PrefillForm.prefix, prefill_base_url=beta)
        turns = [{"role": "user", "content": "2 + 2?"}]
        opened = build_request(cfg, turns, Thinking.disabled, max_new_tokens=9, prefill=r"The answer is \boxed{")
        ask(cfg, [question(cfg), opened], store)
    bodies = dict(zip(server.paths, server.calls, strict=True))
    assert bodies["/beta/chat/completions"]["messages"][1] == {
        "role": "assistant",
        "content": r"The answer is \boxed{",
        "prefix": True,
    }
    assert len(bodies["/v1/chat/completions"]["messages"]) == 1
