"""A stand-in for the module `vllm`, which is not installed where these tests run.

It has the names, arguments and fields of vLLM 0.32 that thinkgap uses (`LLM`, `SamplingParams`, `RequestOutput`,
`CompletionOutput`, `Logprob`), and refuses others. Behind them transformers writes the greedy replies one by one, so it
shows that vLLM is called rightly, not what vLLM computes or how fast; `tests/scale/test_vllm.py` runs vLLM itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any


@dataclass
class SamplingParams:
    """As in vLLM: further fields are left out here, and a wrong name fails."""

    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None
    stop: list[str] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | None = None
    logprob_token_ids: list[int] | None = None
    detokenize: bool = True
    skip_reading_prefix_cache: bool | None = None
    skip_special_tokens: bool = True


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: Sequence[int]
    cumulative_logprob: float | None
    logprobs: Any
    finish_reason: str | None = None
    stop_reason: int | str | None = None


@dataclass
class RequestOutput:
    request_id: str
    prompt: str | None
    prompt_token_ids: list[int] | None
    prompt_logprobs: Any
    outputs: list[CompletionOutput]
    finished: bool
    num_cached_tokens: int | None = None


@dataclass
class LLM:
    """Loads with transformers in float32."""

    model: str
    tokenizer: str | None = None
    skip_tokenizer_init: bool = False
    trust_remote_code: bool = False
    tensor_parallel_size: int = 1
    dtype: str = "auto"
    quantization: str | None = None
    revision: str | None = None
    tokenizer_revision: str | None = None
    seed: int | None = None
    gpu_memory_utilization: float = 0.9
    enforce_eager: bool = False
    enable_prefix_caching: bool | None = None
    max_model_len: int | None = None
    calls: list[tuple[int, SamplingParams]] = field(default_factory=list, init=False)
    """Prompts and settings of each call, for the tests."""

    def __post_init__(self) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        MADE.append(self)
        self._model: Any = AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32).eval()

    def generate(
        self,
        prompts: Sequence[Mapping[str, list[int]]],
        sampling_params: SamplingParams | Sequence[SamplingParams],
        *,
        use_tqdm: bool = True,
    ) -> list[RequestOutput]:
        assert not use_tqdm
        one = sampling_params if isinstance(sampling_params, SamplingParams) else sampling_params[0]
        each = [one] * len(prompts) if isinstance(sampling_params, SamplingParams) else sampling_params
        self.calls.append((len(prompts), one))
        return [
            (self._read if own.logprob_token_ids is not None else self._answer)(number, prompt["prompt_token_ids"], own)
            for number, (prompt, own) in enumerate(zip(prompts, each, strict=True))
        ]

    def _read(self, number: int, ids: list[int], sampling: SamplingParams) -> RequestOutput:
        import torch

        assert (sampling.temperature, sampling.max_tokens, sampling.detokenize) == (0.0, 1, False)
        wanted = sampling.logprob_token_ids or []
        assert len(wanted) <= 128
        with torch.inference_mode():
            logprobs = torch.log_softmax(self._model(torch.tensor([ids])).logits[0, -1], dim=-1)
        top = int(logprobs.argmax())
        told = {token: Logprob(float(logprobs[token])) for token in (top, *wanted)}
        written = CompletionOutput(0, "", [top], None, [told], "length", None)
        return RequestOutput(str(number), None, ids, None, [written], True)

    def _answer(self, number: int, ids: list[int], sampling: SamplingParams) -> RequestOutput:
        import torch
        from transformers import GenerationConfig

        assert (sampling.temperature, sampling.ignore_eos, sampling.detokenize) == (0.0, True, False)
        assert self.max_model_len is None or len(ids) < self.max_model_len
        stops = sampling.stop_token_ids or []
        with torch.inference_mode():
            whole = self._model.generate(
                torch.tensor([ids]),
                generation_config=GenerationConfig(
                    max_new_tokens=sampling.max_tokens, do_sample=False, eos_token_id=stops or None, pad_token_id=0
                ),
            )
        new = whole[0, len(ids) :].tolist()
        # As vLLM does, the stop token is among the tokens and not in the text.
        stopped = new[-1] in stops
        reason = ("stop", new[-1]) if stopped else ("length", None)
        return RequestOutput(str(number), None, ids, None, [CompletionOutput(0, "", new, None, None, *reason)], True)


MADE: list[LLM] = []
"""Every `LLM`, for the tests."""


def module() -> ModuleType:
    """The module, to be put where `import vllm` finds it."""
    made = ModuleType("vllm")
    made.__dict__.update(LLM=LLM, SamplingParams=SamplingParams, __version__="0.0-made-up")
    return made
