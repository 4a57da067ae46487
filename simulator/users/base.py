"""How any persona is played: the texts of personas/_user.toml, with the guard of each language."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from simulator.core import replies
from simulator.core.errors import PromptError
from simulator.core.messages import _
from simulator.core.replies import NextLine
from simulator.core.templates import (
    LANGUAGES,
    check_languages,
    fingerprint,
    quote,
    read_toml,
    render,
)
from simulator.core.types import Language, Persona
from simulator.users.guard import RULES, Guard

# The texts of personas/_user.toml, with their variables.
_VARIABLES: dict[str, set[str]] = {
    "greeting": set(),
    "silence": set(),
    "nothing": set(),
    "system": {"name", "voice", "knows", "unknown", "question", "goal", "turns_left", "form"},
    "retry": {"problem"},
    "again": {"problem"},
}


class UserPrompts:
    """personas/_user.toml: how any persona is played, in both languages."""

    def __init__(self, path: Path) -> None:
        """Reads and checks the file."""
        self._tables = read_toml(path)
        check_languages(path, self._tables, _VARIABLES)
        for language in LANGUAGES:
            _check_keys(path, language, "problems", self._tables[language], RULES)
            _check_keys(path, language, "fields", self._tables[language], NextLine.model_fields)
        self._forms: dict[Language, str] = {}
        self.guards = {
            language: Guard(
                language,
                self._tables[language].get("desk_phrases", ()),
                self._tables[language].get("reasoning_marks", ()),
            )
            for language in LANGUAGES
        }

    def text(self, language: Language, key: str, **values: str) -> str:
        """A rendered prompt."""
        return render(self._tables[language][key], **values)

    def about(
        self, language: Language, knows: Sequence[str], unknown: Sequence[str], question: str, goal: str
    ) -> dict[str, str]:
        """The values of the prompt that come from case and persona, quoted: they cannot open a section."""
        lists = {
            name: "\n".join(f"- {item}" for item in items)
            for name, items in (("knows", knows), ("unknown", unknown))
        }
        texts = {**lists, "question": question, "goal": goal}
        seal = fingerprint(*texts.values())
        nothing = self.text(language, "nothing")
        return {
            key: nothing if key in lists and not text else quote(key, text, seal)
            for key, text in texts.items()
        }

    def problem(self, language: Language, rule: str) -> str:
        """The problem of a draft that broke this rule, as the model is shown it."""
        return str(self._tables[language]["problems"][rule])

    def form(self, language: Language) -> str:
        """The form of the reply, with the meaning of each key."""
        if language not in self._forms:
            meanings = self._tables[language]["fields"]
            fields = {key: ("text", str(meanings[key])) for key in NextLine.model_fields}
            self._forms[language] = replies.skeleton(fields)
        return self._forms[language]

    def fingerprint(self, persona: Persona) -> str:
        """A hash of every word that the customer model reads, except for the case."""
        return fingerprint(repr(self._tables), persona.model_dump_json())


def _check_keys(path: Path, language: str, name: str, table: dict[str, Any], keys: Iterable[str]) -> None:
    missing = [key for key in keys if not table.get(name, {}).get(key)]
    if missing:
        msg = _(
            "{path}: [{language}.{name}] {missing} is missing.",
            path=path,
            language=language,
            name=name,
            missing=missing[0],
        )
        raise PromptError(msg)
