"""A copy of a model's vocabulary projection that reads stored states, and the adapter on it.

The copy has weights of its own, so nothing that is trained here can reach the model, whose input embeddings may be the
same matrix. Knows no data set and no split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from thinkgap.backends.families import Structure
from thinkgap.backends.hf import HFBackend
from thinkgap.errors import ModelError
from thinkgap.schema import LoraSettings
from thinkgap.scoring.readings import ReadOptions, read_labels
from thinkgap.store.atomic import write_bytes
from thinkgap.types import Condition, Item, Presentation, Prompt, Reading, Record, Request

LARGEST_ERROR = 1e-3
"""Of a float32 label log-probability, in nats."""
_CHECKED = 64
_ROWS = 256
"""States that are read at a time: `[256, V]` logits fit everywhere."""


class Readout(nn.Module):
    """Vocabulary logits of final states after the final norm: projection, scale and softcap, as the model has them.

    Args:
        name: of the projection in the model, which names the weights of an adapter; so a saved one fits the model.
        projection: `[d] -> [V]`.
        scale: of the logits.
        softcap: of the logits.
    """

    def __init__(self, name: str, projection: nn.Module, scale: float, softcap: float | None) -> None:
        super().__init__()
        self.name, self.scale, self.softcap = name, scale, softcap
        self.add_module(name, projection)

    @property
    def projection(self) -> nn.Module:
        """The projection, or the adapter that stands in its place."""
        return self.get_submodule(self.name)

    def forward(self, states: Tensor) -> Tensor:
        """Logits `[..., V]` of states `[..., d]`."""
        return Structure(nn.ModuleList(), nn.Identity(), self.projection, self.softcap, self.scale).logits(states)


def linear_head(backend: HFBackend) -> nn.Linear:
    """The model's projection itself.

    Raises:
        ModelError: a projection that is no plain linear map in memory.
    """
    head: Any = backend.structure.head
    if type(head) is not nn.Linear or not head.weight.is_floating_point() or head.weight.is_meta:
        raise ModelError(
            f"{backend.fmt.name}: its vocabulary projection is a {type(head).__name__}"
            f"{' outside the memory' if isinstance(head, nn.Linear) and head.weight.is_meta else ''}, not a plain "
            "linear map; load the model without quantisation of the head, and with a device map that offloads nothing"
        )
    return head


def copy_readout(backend: HFBackend) -> Readout:
    """The model's projection in float32 on the CPU, frozen.

    Raises:
        ModelError: a projection that is no plain linear map in memory.
    """
    head = linear_head(backend)
    copied = nn.Linear(head.in_features, head.out_features, bias=head.bias is not None, device="meta")
    for part in ("weight", "bias"):
        if (tensor := getattr(head, part)) is not None:
            own = tensor.detach().to("cpu", torch.float32, copy=True)
            setattr(copied, part, nn.Parameter(own, requires_grad=False))
    name = next(name for name, module in backend.model.named_modules() if module is head)
    structure = backend.structure
    return Readout(name.rpartition(".")[2], copied, structure.scale, structure.softcap)


def adapted(readout: Readout, settings: LoraSettings, seed: int, base: str) -> Any:
    """`readout` with a fresh adapter on its projection, which changes nothing until it is trained.

    Args:
        readout: its projection is shared and stays frozen.
        settings: rank, alpha, dropout.
        seed: of the adapter's first matrix; the second is zero.
        base: the model's path, for the adapter's own config.
    """
    from peft import LoraConfig, get_peft_model  # seconds to import

    own = Readout(readout.name, readout.projection, readout.scale, readout.softcap)
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=[readout.name],
    )
    torch.manual_seed(seed)
    model = get_peft_model(own, config)  # pyright: ignore[reportArgumentType]
    # Only now, as peft takes it from the module that it is given.
    config.base_model_name_or_path = base
    return model


def save_adapter(model: Any, folder: Path) -> None:
    """Write `adapter_model.safetensors` and `adapter_config.json` into `folder`, as peft reads them.

    Without peft's own `save_pretrained`, which writes the class of the wrapper and a model card to be filled in.
    """
    from peft import get_peft_model_state_dict
    from safetensors.torch import save

    weights = get_peft_model_state_dict(model, save_embedding_layers=False)
    folder.mkdir(parents=True, exist_ok=True)
    model.peft_config["default"].save_pretrained(str(folder))
    # Last, so that a folder with weights is whole.
    data = save({name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}, {"format": "pt"})
    write_bytes(folder / "adapter_model.safetensors", data)


def readings(
    readout: nn.Module, states: Tensor, records: Sequence[Record], options: ReadOptions, device: torch.device
) -> Iterator[tuple[Prompt, Reading]]:
    """What `readout` says of the rows' own states, by the code that reads a model's logits.

    Args:
        readout: moved to `device`.
        states: `[n, d]`.
        records: `n` rows, for labels and gold slots.
        options: what to read beside the labels.
        device: where it is computed.
    """
    readout.to(device)
    for start in range(0, len(records), _ROWS):
        rows = [prompt_of(record) for record in records[start : start + _ROWS]]
        with torch.inference_mode():
            logits = readout(states[start : start + _ROWS].to(device, torch.float32))
        yield from zip(rows, read_labels(logits, rows, options), strict=True)


def prompt_of(record: Record) -> Prompt:
    """A row's prompt so far as a reading needs it: who asked, which labels, which is right; without its texts."""
    item = Item(
        id=record.item_id,
        group_id=record.group_id,
        question="",
        choices=("",) * record.k,
        gold=record.gold_content,
        answer_space="mcq",
        split=record.split,
        subject=record.subject,
    )
    presentation = Presentation(item, record.order, record.labels, record.presentation)
    condition = Condition(record.condition, "trigger", Request.label)
    return Prompt(presentation, condition, "", (), record.label_token_ids, sha256=record.prompt_sha256)


def check_readout(readout: Readout, states: Tensor, records: Sequence[Record], where: str) -> float:
    """Require that the copy, put on stored states, says what the run itself read; the largest error in nats.

    Looks at up to 64 rows, spread evenly. In half precision the run's own logits are rounded, so that much more is
    allowed: the spacing of numbers at the largest logit.

    Args:
        readout: the copy.
        states: `[n, d]`, in the stored number type.
        records: the run's own native rows.
        where: of the message.

    Raises:
        ModelError: a label log-probability is off.
    """
    chosen = sorted({round(place) for place in torch.linspace(0, len(records) - 1, _CHECKED).tolist()})
    picked, rows = states[chosen], [records[row] for row in chosen]
    with torch.inference_mode():
        logits = readout(picked.float())
    allowed = LARGEST_ERROR
    if picked.dtype is not torch.float32:
        allowed = max(allowed, torch.finfo(picked.dtype).eps * float(logits.abs().max()))
    found = read_labels(logits, [prompt_of(record) for record in rows])
    worst = 0.0
    for record, reading in zip(rows, found, strict=True):
        pairs = zip(reading.label_logprobs, record.label_logprobs, strict=True)
        error = max(abs(mine - own) for mine, own in pairs)
        worst = max(worst, error)
        if not error <= allowed:
            raise ModelError(
                f"{where}: the model's head on the stored state of item {record.item_id}, condition "
                f"{record.condition}, is {error:.2g} nats off the label log-probabilities of that run (allowed "
                f"{allowed:.1g}): the states are not what the head reads, or of other weights; compute the features "
                "again with this model"
            )
    return worst
