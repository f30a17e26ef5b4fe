"""How a run writes its replies: decoder, way of decoding, and where finished replies are kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thinkgap.evaluation.generate import ItemPrompts, generate_replies, open_replies
from thinkgap.evaluation.prepare import Prepared
from thinkgap.schema import EvaluateConfig
from thinkgap.scoring.decode import Decoder
from thinkgap.scoring.decode_check import choose_decoding
from thinkgap.scoring.reply import Reply
from thinkgap.scoring.stopping import stop_ids
from thinkgap.types import Presentation

_TRIED = 2


def written_replies(
    cfg: EvaluateConfig, prepared: Prepared, presentations: Sequence[Presentation], folder: Path
) -> tuple[list[list[Reply]], dict[str, Any]]:
    """Per presentation the replies under every condition, and how they were made, for the manifest.

    Finished ones come from `paths.cells_dir`, or with `evaluation.reuse=false` from the run's own folder, so that a
    killed run goes on in either case.

    Args:
        cfg: the settings.
        prepared: the run.
        presentations: what is asked; one that cannot be prompted gets no replies and is left out.
        folder: the run's.

    Raises:
        ModelError: memory does not suffice for one prompt, or logits that are not finite.
        StoreError: replies that cannot be kept.
    """
    asked, backend = cfg.evaluation.generation, prepared.local.backend
    some = [group for group in ItemPrompts([[one] for one in presentations[:_TRIED]], prepared.builder) if group]
    method = choose_decoding(backend, some)
    decoder = Decoder(backend, asked.max_new_tokens, asked.batch_size, stop_ids(backend), method)
    kept = Path(cfg.paths.cells_dir) if cfg.evaluation.reuse else folder / "replies"
    store = open_replies(kept, cfg.model.name, decoder)
    groups = ItemPrompts([[one] for one in presentations], prepared.builder)
    replies = generate_replies(groups, decoder, store, shown=cfg.trainer.progress)
    return [own for own in replies if own], decoder.describe()
