"""questions.toml: what a model is asked to write, and what to check. Passages are quoted as data."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from pydantic import BaseModel

from simulator.core.templates import check_languages, fingerprint, quote, read_toml, render
from simulator.core.types import Case, Language, Message
from simulator.making.articles import Article
from simulator.making.forms import (
    Check,
    Comparison,
    Draft,
    FollowUpCheck,
    FollowUpDraft,
    OutsideCheck,
    PairCheck,
)
from simulator.making.kinds import OUT_OF_SCOPE, PAIRED, Kind
from simulator.making.plan import Task
from simulator.models.client import Messages

FILE = Path(__file__).with_name("questions.toml")
_VARIABLES: dict[str, set[str]] = {
    "write_system": set(),
    "write": {"kind", "wording", "passages", "focus", "form"},
    "focus": {"sentence"},
    "nothing": set(),
    "check_system": set(),
    "check": {"passages", "history", "question", "form"},
    "compare_system": set(),
    "compare": {"question", "first", "second", "form"},
    "again": {"problem"},
    "distil_system": set(),
    "distil": {"dialogue", "form"},
    "speakers": {"manners", "form"},
}


class Prompts:
    """The prompts in both languages; checked when they are read."""

    def __init__(self, path: Path = FILE) -> None:
        """Reads the file."""
        self._tables = read_toml(path)
        check_languages(path, self._tables, _VARIABLES)
        for table, variables in (("kinds", {"name"}), ("wordings", set[str]())):
            parts = {language: self._tables[language][table] for language in ("ja", "en")}
            check_languages(path, parts, dict.fromkeys(parts["ja"], variables))

    def text(self, language: Language, key: str, /, **values: str) -> str:
        """A rendered text."""
        return render(self._tables[language][key], **values)

    def again(self, language: Language, problem: str) -> str:
        """What is said about a reply that could not be read."""
        return self.text(language, "again", problem=problem)

    def write(self, task: Task) -> Messages:
        """Asks for one question."""
        language = task.language
        texts = [f"[{number}] {article.text}" for number, article in enumerate(task.articles, 1)]
        seal = fingerprint(*texts)
        focus = quote("sentence", task.sentence, seal) if task.sentence else ""
        # A mistyped question is written plainly first; what is typed wrongly is the program's part.
        wording = "casual" if task.wording == "typed" else task.wording
        user = self.text(
            language,
            "write",
            passages="\n".join(quote("document", text, seal) for text in texts),
            focus=self.text(language, "focus", sentence=focus) + "\n" if focus else "",
            kind=Template(self._tables[language]["kinds"][task.kind]).substitute(name=task.name),
            wording=self._tables[language]["wordings"][wording],
            form=self.form(language, "fields", draft_form(task.kind)),
        )
        return _messages(self.text(language, "write_system"), user)

    def check(self, case: Case, kind: Kind, articles: Sequence[Article]) -> Messages:
        """Asks whether these articles answer the question; the right answer is not shown."""
        language = case.language
        texts = [f"[{number}] {article.text}" for number, article in enumerate(articles, 1)]
        said = [f"{line.role}: {line.content}" for line in case.history]
        seal = fingerprint(*texts, *said, case.question)
        nothing = self.text(language, "nothing")
        user = self.text(
            language,
            "check",
            passages="\n".join(quote("document", text, seal) for text in texts) or nothing,
            history="\n".join(_line(line, f"{seal}{at}") for at, line in enumerate(case.history)) or nothing,
            question=quote("question", case.question, seal),
            form=self.form(language, "check_fields", check_form(kind)),
        )
        return _messages(self.text(language, "check_system"), user)

    def compare(self, case: Case, answer: str) -> Messages:
        """Asks whether the right answer and that of the check say the same."""
        language, reference = case.language, "|".join(case.references_at(1))
        seal = fingerprint(case.question, reference, answer)
        user = self.text(
            language,
            "compare",
            question=quote("question", case.question, seal),
            first=quote("answer", answer, seal),
            second=quote("answer", reference, f"{seal}2"),
            form=self.form(language, "check_fields", Comparison),
        )
        return _messages(self.text(language, "compare_system"), user)

    def distil(self, lines: Sequence[Message], language: Language, form: type[BaseModel]) -> Messages:
        """Asks what a recorded dialogue was about."""
        seal = fingerprint(*(line.content for line in lines))
        dialogue = "\n".join(_line(line, f"{seal}{at}") for at, line in enumerate(lines))
        meant = self.form(language, "distil_fields", form)
        return _messages(
            self.text(language, "distil_system"),
            self.text(language, "distil", dialogue=dialogue, form=meant),
        )

    def speakers(
        self, manners: Sequence[str], language: Language, form: type[BaseModel], names: Sequence[str]
    ) -> Messages:
        """Asks for the kinds of customers behind these ways to speak."""
        one = json.loads(self.form(language, "speaker_fields", form, names=", ".join(names)))
        return _messages(
            self.text(language, "distil_system"),
            self.text(
                language,
                "speakers",
                manners=quote("manners", "\n".join(f"- {manner}" for manner in manners)),
                form=json.dumps({"personas": [one]}, ensure_ascii=False, indent=1),
            ),
        )

    def form(self, language: Language, table: str, form: type[BaseModel], **values: str) -> str:
        """The form as JSON, with what each key means."""
        meanings: Mapping[str, str | list[str]] = self._tables[language][table]
        shown = {
            key: Template(meaning).safe_substitute(values) if isinstance(meaning, str) else meaning
            for key, meaning in ((key, meanings[key]) for key in form.model_fields)
        }
        return json.dumps(shown, ensure_ascii=False, indent=1)

    def fingerprint(self) -> str:
        """Changes whenever a word of the prompts changes."""
        return fingerprint(repr(self._tables))


def draft_form(kind: Kind) -> type[Draft | FollowUpDraft]:
    """What is filled in to write a question of this kind."""
    return FollowUpDraft if kind == "follow-up" else Draft


def check_form(kind: Kind) -> type[Check | OutsideCheck]:
    """What is filled in to check a question of this kind."""
    if kind in OUT_OF_SCOPE:
        return OutsideCheck
    if kind in PAIRED:
        return PairCheck
    return FollowUpCheck if kind == "follow-up" else Check


def _line(line: Message, seal: str) -> str:
    return quote("customer" if line.role == "user" else "desk", line.content, seal)


def _messages(system: str, user: str) -> Messages:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
