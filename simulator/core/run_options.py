"""The keywords of the Python calls, with the types that an editor completes and a type checker holds them to.

Each is a field of `Settings` (core/settings.py), which reads it as it reads a flag: `target=80` and
`target="80%"` mean the same, and so do `judges="turn,claims"` and `judges=["turn", "claims"]`. What only a
command line can mean (what it prints, and where else it writes) is not among them.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypeAlias, TypedDict

Names: TypeAlias = str | Sequence[str]
File: TypeAlias = str | PathLike[str]
Table: TypeAlias = Mapping[str, object]


class RunOptions(TypedDict, total=False):
    """Options of all runs.

    An option left out has the value of the environment, else of rehearsal.toml, else the default in
    docs/reference.md.
    """

    # The bot and its questions
    adapter: str
    set: Table | Sequence[str]
    columns: str | Mapping[str, str]
    language: Literal["ja", "en", "all"]
    limit: int
    repeats: int
    seed: int
    redact: Literal["on", "off", "auto"] | bool
    redact_patterns: str | Sequence[str]
    # Judges
    judges: Names
    judge_model: str
    judging: Literal["combined", "separate", "small"]
    knowledge: File
    embed_model: str
    demo_model: str
    causes: Literal["model", "ids"]
    retest: float
    guidelines: File
    contacts: File
    rules: File
    red: Table
    # The gate
    target: float | str
    max_major: float | str
    confidence: float | str
    # Running
    offline: bool
    budget: float | str
    resume: str
    concurrency: int
    calls: int
    timeout: float
    patience: float
    cache: Literal["on", "off"]
    prices: File | Mapping[str, Table]
    runs: File
    # What plug-ins and the lab add, by its name: {"customers": 50}
    added: Table


class RehearsalOptions(RunOptions, total=False):
    """Options of `rehearse`: those of all runs, and who the customers are."""

    persona: Names
    turns: int
    user_model: Names
    replay: str
    voice_opening: bool
    script: File


class RowOptions(RunOptions, total=False):
    """Options of `evaluate`: those of all runs, and how rows of a data set are asked."""

    prompt: str
    sample: int
    labels: Names
