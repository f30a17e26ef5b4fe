"""Settings of linear probes that mean nothing, refused before anything is computed."""

from __future__ import annotations

from thinkgap.errors import ConfigError
from thinkgap.schema import TrainConfig


def check_linear(cfg: TrainConfig) -> None:
    """Refuse numbers of the fits that mean nothing; what is read is checked where it is read (`probes.together`).

    Raises:
        ConfigError: naming the setting.
    """
    probe = cfg.probe
    least_one: dict[str, int] = {
        "epochs": probe.epochs,
        "batch_size": probe.batch_size,
        "draws": probe.draws,
        "exact.max_iterations": probe.exact.max_iterations,
    }
    for name, value in least_one.items():
        if value < 1:
            raise ConfigError(f"probe.{name}={value}: must be at least 1")
    for name, values in (
        ("adamw.learning_rates", probe.adamw.learning_rates),
        ("exact.penalties", probe.exact.penalties),
        ("exact.tolerance", [probe.exact.tolerance]),
    ):
        if not values or not all(0 < value < float("inf") for value in values):
            raise ConfigError(f"probe.{name}={values}: give one or more numbers above 0")
        if len(set(values)) < len(values):
            raise ConfigError(f"probe.{name}={values}: name each value once")
    decays = probe.adamw.weight_decays
    if not decays or not all(0 <= value < float("inf") for value in decays) or len(set(decays)) < len(decays):
        raise ConfigError(f"probe.adamw.weight_decays={decays}: give one or more numbers from 0 up, each once")
