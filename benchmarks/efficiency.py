"""How near packed scoring comes to what the machine's matrix products allow, and where the rest of the time goes.

The limit is what this machine reaches on the model's own linear layers, one after the other, with as many rows as a
pass has tokens: same shapes, same number type, weights as cold as in the model.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.harness import Options, finish, interleaved, timed, timing
from benchmarks.items import conditions, inventory, presented
from benchmarks.workload import engine_of, prepare
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.load import load_backend
from thinkgap.prompts.build import PromptBuilder
from thinkgap.schema import Dtype, ModelConfig, Scoring
from thinkgap.scoring.capture import Wanted
from thinkgap.scoring.engine import Engine, tokens_per_pass
from thinkgap.scoring.packed import Planned, forward_packed, plan_prompts

TARGETS = {"float32": 0.8, "bfloat16": 0.4}
_KINDS = {
    "matrix products": ("aten::mm", "aten::addmm", "aten::bmm", "aten::linear", "mkldnn::_linear_pointwise"),
    "attention": ("aten::_scaled_dot_product",),
    "elementwise": (
        "aten::mul", "aten::add", "aten::silu", "aten::gelu", "aten::pow", "aten::rsqrt", "aten::mean", "aten::neg",
        "aten::cat", "aten::copy_", "aten::sum", "aten::div", "aten::index", "aten::sub",
    ),
    "readings": ("aten::_log_softmax", "aten::exp", "aten::topk", "aten::gt", "aten::max", "aten::clamp", "aten::ne"),
}  # fmt: skip


@dataclass(frozen=True)
class Work:
    """Operations that scoring some items cannot do without."""

    linear: float
    """Linear layers of the decoder, over the tries' tokens."""
    attention: float
    """Every node with its ancestors and itself, over all layers."""
    head: float
    """One row of logits per distinct read position."""

    @property
    def total(self) -> float:
        """All three."""
        return self.linear + self.attention + self.head


def run(options: Options) -> None:
    """Measure every number type."""
    number = options.sized(options.items, 12, 2)
    repeats = options.sized(options.repeats, 7, 1)
    plain = [_measure(options, name, number, repeats) for name in TARGETS]
    steps = plain if options.quick else [*plain, _measure(options, "float32", number, repeats, compiled=True)]
    rows = [
        {
            "dtype": step["dtype"] + (", compiled" if step["compiled"] else ""),
            "limit GF/s": step["limit_flops"] / 1e9,
            "share, passes": step["share_of_limit"]["passes"],
            "share, text to readings": step["share_of_limit"]["text to readings"],
            "target": step["target"],
            "capture costs %": 100 * step["capture_overhead"],
            **{f"{kind} %": 100 * share for kind, share in step["shares_of_time"].items()},
        }
        for step in steps
    ]
    finish("efficiency", options, {"items": number, "steps": steps}, rows)


def _measure(options: Options, dtype: str, number: int, repeats: int, compiled: bool = False) -> dict[str, Any]:
    config = ModelConfig(name="model", path=options.model, dtype=Dtype[dtype], compile=compiled)
    backend = load_backend(config, on_accelerator=False)
    engine = engine_of(backend, Scoring.packed, tokens_per_pass(on_accelerator=False))
    builder = PromptBuilder(backend.fmt, conditions())
    items = presented([inventory(n) for n in range(number)])
    groups = [prepare(builder, item) for item in items]
    planned = [plan_prompts(backend, group) for group in groups]
    batches = in_passes(planned, engine.batch_tokens)
    work = work_of(backend, planned)
    tokens = [sum(one.trie.size for one in batch) for batch in batches]

    def passes(wanted: Wanted | None) -> Callable[[], None]:
        return lambda: [forward_packed(backend, batch, wanted) for batch in batches].clear()

    passes(Wanted())()  # loads kernels, and compiles
    seconds = interleaved(
        {
            "linear layers alone": timed(lambda: linear_layers(backend, tokens)),
            "passes": timed(passes(None)),
            "passes with capture": timed(passes(Wanted(embeddings=True, final_norm=True))),
            "text to readings": timed(lambda: engine.score([prepare(builder, item) for item in items])),
        },
        repeats,
    )
    limit = work.linear / statistics.median(seconds["linear layers alone"])
    median = {name: statistics.median(values) for name, values in seconds.items()}
    # Neighbours in time, because the machine's own speed wanders by more than capture costs.
    overheads = [
        with_capture / without - 1
        for with_capture, without in zip(seconds["passes with capture"], seconds["passes"], strict=True)
    ]
    return {
        "dtype": dtype,
        "compiled": compiled,
        "target": TARGETS[dtype],
        "trie_tokens": sum(tokens),
        "passes": len(batches),
        "flop": {"linear": work.linear, "attention": work.attention, "head": work.head},
        "limit_flops": limit,
        "share_of_limit": {
            name: work.total / median[name] / limit for name in ("passes", "passes with capture", "text to readings")
        },
        "capture_overhead": statistics.median(overheads),
        "shares_of_time": profile(engine, builder, items),
        "sides": {name: timing(values) for name, values in seconds.items()},
    }


def in_passes(planned: Sequence[Planned], budget: int) -> list[list[Planned]]:
    """Tries as an engine would put them into passes."""
    batches: list[list[Planned]] = [[]]
    for one in planned:
        if batches[-1] and sum(other.trie.size for other in batches[-1]) + one.trie.size > budget:
            batches.append([])
        batches[-1].append(one)
    return batches


@torch.inference_mode()
def linear_layers(backend: HFBackend, tokens: Sequence[int]) -> None:
    """The decoder's linear layers, and nothing else, for passes of so many tokens."""
    layers = [module for module in backend.structure.layers.modules() if isinstance(module, torch.nn.Linear)]
    for count in tokens:
        inputs = {
            width: torch.ones(count, width, dtype=backend.model.dtype)
            for width in {module.in_features for module in layers}
        }
        for module in layers:
            torch.nn.functional.linear(inputs[module.in_features], module.weight)


def work_of(backend: HFBackend, planned: Sequence[Planned]) -> Work:
    """Operations of scoring these tries; a multiplication and an addition are two."""
    config = backend.model.config.get_text_config()
    modules = backend.structure.layers.modules()
    weights = sum(module.weight.numel() for module in modules if isinstance(module, torch.nn.Linear))
    nodes = sum(one.trie.size for one in planned)
    pairs = sum(int((one.trie.depths + 1).sum()) for one in planned)
    width = config.num_attention_heads * (
        getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    )
    reads = sum(len(set(one.trie.reads.tolist())) for one in planned)
    return Work(
        linear=2.0 * weights * nodes,
        attention=4.0 * pairs * width * config.num_hidden_layers,
        head=2.0 * reads * config.hidden_size * config.vocab_size,
    )


def profile(engine: Engine, builder: PromptBuilder, items: Sequence[Any]) -> dict[str, float]:
    """Share of the time from text to readings by kind of operation; the rest is Python and what is not listed."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    total = timed(lambda: engine.score([prepare(builder, item) for item in items]))
    with profiler(activities=[ProfilerActivity.CPU]) as found:
        seconds = total()
    shares = dict.fromkeys(_KINDS, 0.0)
    for event in found.key_averages():
        for kind, names in _KINDS.items():
            if event.key in names or (kind == "attention" and event.key.startswith(names)):
                shares[kind] += event.self_cpu_time_total / 1e6 / seconds
    return shares | {"the rest": 1.0 - sum(shares.values())}
