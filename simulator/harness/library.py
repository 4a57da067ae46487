"""lm_eval itself: whether it is there, off the network and quiet, and taught our model and our filters."""

import importlib
import logging
import os
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simulator.core.errors import InputError

NEEDED = "lm-eval>=0.4.12"
OURS = ("simulator.harness.model", "simulator.harness.tasks")


def check_installed() -> None:
    """Raises InputError where the extra is missing."""
    if find_spec("lm_eval") is None:
        msg = f"harness needs the extra 'harness': pip install '{NEEDED}'."
        raise InputError(msg)


def prepare(*, online: bool) -> None:
    """What lm_eval and its libraries read from the environment; to be called before they are imported.

    `online` is whether a task's data may come from the Hugging Face hub.
    """
    if not online:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    # Its bars would stand between ours, and its bootstrap would take every core for a thousand numbers.
    for name in ("TQDM_DISABLE", "DISABLE_MULTIPROC"):
        os.environ.setdefault(name, "1")


def evaluator() -> Any:
    """The module lm_eval.evaluator, with all of ours registered; only errors are logged from now on."""
    found = registered()
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    return found


def registered() -> Any:
    """lm_eval.evaluator, after our model and our filters have registered themselves."""
    found = importlib.import_module("lm_eval.evaluator")
    if not hasattr(importlib.import_module("lm_eval.tasks").TaskManager, "load"):
        msg = f"lm-eval {version('lm_eval')} is too old: pip install '{NEEDED}'."
        raise InputError(msg)
    for name in OURS:
        importlib.import_module(name)
    # The same without starting git, which complains on stderr wherever there is no repository.
    commit = importlib.import_module("lm_eval.loggers.utils").get_commit_from_path
    vars(found)["get_git_commit_hash"] = lambda: commit(Path.cwd())
    return found
