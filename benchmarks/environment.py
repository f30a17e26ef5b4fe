"""lm-eval's own virtual environment, made once in the user's cache; nothing of it mixes with ours.

It gets our versions of torch and transformers if it accepts them, else those that it resolves to.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from thinkgap.backends.load import DEFAULT_CACHE

log = logging.getLogger(__name__)

VERSION = "0.4.13"
_DONE = "thinkgap_versions.json"
_PACKAGES = ("lm_eval", "torch", "transformers", "tokenizers")
_SHOW = "import importlib.metadata as m, json, sys; print(json.dumps({p: m.version(p) for p in sys.argv[1:]}))"


def lm_eval_python() -> tuple[Path, dict[str, str]]:
    """Its interpreter, and the versions that it has; installs them on first use.

    Raises:
        RuntimeError: the installation failed.
    """
    import torch
    import transformers

    ours = {"torch": torch.__version__.partition("+")[0], "transformers": transformers.__version__}
    folder = Path(DEFAULT_CACHE).expanduser() / "benchmarks" / f"lm-eval-{VERSION}"
    python, done = folder / "bin" / "python", folder / _DONE
    if not done.is_file() or json.loads(done.read_text())["asked"] != ours:
        log.warning("making an environment for lm-eval %s (once, minutes, some GB)", VERSION)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "venv", str(folder)])
        wanted = [f"lm_eval[hf]=={VERSION}"]
        try:
            _install(python, [*wanted, *(f"{name}=={version}" for name, version in ours.items())])
        except RuntimeError as error:
            log.warning("lm-eval does not accept our versions, so it takes its own: %s", error)
            _install(python, wanted)
        found = json.loads(_run([str(python), "-c", _SHOW, *_PACKAGES]))
        done.write_text(json.dumps({"asked": ours, "found": found}))
    return python, json.loads(done.read_text())["found"]


def offline(threads: int, cache: Path) -> dict[str, str]:
    """Environment variables for a worker: equal threads, no look-ups outside this machine."""
    return dict(os.environ) | {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "false",
        "HF_DATASETS_CACHE": str(cache),
        "HF_DATASETS_OFFLINE": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }


def without_ours(environment: Mapping[str, str]) -> dict[str, str]:
    """The same for an interpreter that must not see our packages."""
    return {name: value for name, value in environment.items() if name != "PYTHONPATH"}


def _install(python: Path, wanted: list[str]) -> None:
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[-1]}: {done.stderr.strip()[-500:]}")
    return done.stdout
