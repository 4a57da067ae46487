"""A prompt: what a model is sent for each row of a data set, with a version and named variants.

`reading` makes one of a file and checks it; `checking` looks whether the rows have what it needs;
`rendering` fills it in.
"""

import json
from functools import cached_property
from typing import Literal

from pydantic import Field

from simulator.core.templates import fingerprint
from simulator.core.types import Case, Language, Value

Choosing = Literal["letters", "labels", "nothing"]


class Wording(Value):
    """The texts of a prompt in one language; `title`, `system` and `example` may be empty.

    `example` is one example in `$examples`, `answer` what the assistant says in one that is a dialogue;
    `choice`, `context` and `label` are one line of their lists.
    """

    title: str = ""
    system: str = ""
    user: str
    example: str = ""
    answer: str
    choice: str
    context: str
    label: str


class Examples(Value):
    """Rows shown before each question: `shots` of them by lot, within the text or as earlier `turns`."""

    rows: tuple[Case, ...] = ()
    shots: int = 0
    seed: int = 0
    turns: bool = False
    file: str = ""


class Prompt(Value):
    """One variant of a prompt file. `labels` are a data set's labels and what is said for each, in order."""

    id: str
    version: str
    variant: str = ""
    about: str = ""
    path: str = ""
    wordings: dict[Language, Wording]
    labels: dict[Language, dict[str, str]] = Field(default={})
    choosing: Choosing = "nothing"
    examples: dict[Language, Examples] = Field(default={})

    @property
    def name(self) -> str:
        """As `--prompt` takes it: `choose`, or `choose:expert`."""
        return f"{self.id}:{self.variant}" if self.variant else self.id

    @cached_property
    def hash(self) -> str:
        """Twelve hexadecimal digits that stand for all that is said, but not for its name and version."""
        said = self.model_dump(mode="json", include={"wordings", "labels", "choosing", "examples"})
        for shown in said["examples"].values():
            del shown["file"]
        return fingerprint(json.dumps(said, ensure_ascii=False, sort_keys=True))

    def spoken(self, language: Language) -> Language:
        """The language in which a row is asked: its own, or the only one there is."""
        return language if language in self.wordings else next(iter(self.wordings))

    def wording(self, case: Case) -> Wording:
        """The texts for a row."""
        return self.wordings[self.spoken(case.language)]

    def said(self, language: Language) -> dict[str, str]:
        """What is said for each label; empty where the file names no labels."""
        return self.labels.get(self.spoken(language), {})

    def shown(self, language: Language) -> Examples:
        """The examples for rows of a language."""
        return self.examples.get(self.spoken(language), Examples())
