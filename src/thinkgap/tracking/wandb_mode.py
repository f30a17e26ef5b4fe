"""Whether Weights & Biases runs online, offline or not at all; starts nothing and never prompts."""

from __future__ import annotations

import logging
import os

from thinkgap.schema import LoggerConfig, WandbMode

log = logging.getLogger(__name__)

_ENVIRONMENT_MODES = {"online": "online", "run": "online", "offline": "offline", "dryrun": "offline"}
_ENVIRONMENT_MODES |= {"disabled": "disabled"}
_REACH = ("disabled", "offline", "online")


def resolve_mode(cfg: LoggerConfig) -> str:
    """`online`, `offline` or `disabled`, from the settings, `WANDB_MODE` and whether a key is found."""
    if not cfg.enabled or cfg.mode is WandbMode.disabled:
        return "disabled"
    wanted = "online" if cfg.mode is WandbMode.auto else cfg.mode.value
    variable = os.environ.get("WANDB_MODE", "").strip().lower()
    if variable and variable not in _ENVIRONMENT_MODES:
        log.warning("WANDB_MODE=%s is none of %s: ignored", variable, ", ".join(_ENVIRONMENT_MODES))
        os.environ.pop("WANDB_MODE")  # W&B's own settings would trip over it
    mode = min(wanted, _ENVIRONMENT_MODES.get(variable, "online"), key=_REACH.index)
    if mode == "online" and not _has_key():
        if cfg.mode is WandbMode.online or variable:
            log.warning("W&B: no API key found, so this run is kept offline; `wandb login` or WANDB_API_KEY, then sync")
        return "offline"
    return mode


def _has_key() -> bool:
    """Whether W&B would find credentials: in the environment, its settings, or a netrc file."""
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    try:
        # Not public, but only W&B knows which host names its server has had; should this change, runs stay offline.
        from wandb.sdk import wandb_setup
        from wandb.sdk.lib import wbauth

        settings = wandb_setup.singleton().settings
        return bool(settings.api_key or wbauth.read_netrc_auth(host=settings.base_url))
    except Exception as error:
        log.warning("W&B: could not look for an API key, so this run is kept offline: %s", error)
        return False
