"""How any persona is played: the texts of personas/_user.toml, with the guard of each language.

A persona's own file says who they are; this one says what holds for all of them, in both languages:

    system, greeting, silence, retry, again    the prompts, with the variables of _VARIABLES
    [xx.matter]      the labels of what the customer comes with
    [xx.got]         what the desk's last answer can have done (the words of the judge of turns)
    [xx.cues]        a sentence for each cue that users/rules.py can draw
    [xx.feelings]    the words for -2, -1, 1 and 2; 0 is said by saying nothing
    [xx.usual]       how often people of this language do what a persona's shares say, as multiples of these
    [xx.styles]      how they write: short sentences, fragments, or in full
    [xx.fields]      what each field of the reply means
    [xx.problems]    what a model is told of a line that broke a rule

All of it is checked when it is read, down to the regular expressions: a key that is missing in one language
would else show when the first customer of that language needs it, in the middle of a run.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from simulator.core import replies
from simulator.core.errors import PromptError
from simulator.core.messages import _
from simulator.core.replies import ReplayedLine, Thought
from simulator.core.templates import LANGUAGES, Prompts, fingerprint
from simulator.core.types import Case, Language, Persona, Response
from simulator.users.guard import RULES, guard_of
from simulator.users.rules import CUES, SHARES

# The texts of personas/_user.toml, with their variables.
_VARIABLES: dict[str, set[str]] = {
    "greeting": set(),
    "silence": set(),
    "row": {"got", "cues"},
    "mood": {"feeling"},
    "soften": set(),
    "replay": {"line"},
    "system": {"name", "voice", "case", "style", "cues", "form"},
    "retry": {"problem"},
    "again": {"problem"},
}
# The lines of the case, each with its label.
_MATTER = ("question", "goal", "knows", "unknown")


class UserPrompts(Prompts):
    """personas/_user.toml: how any persona is played, in both languages."""

    def __init__(self, path: Path) -> None:
        """Reads and checks the file."""
        super().__init__(path, _VARIABLES)
        for language in LANGUAGES:
            table = self.tables[language]
            for name, keys in (
                ("problems", (*RULES, "leaving")),
                ("fields", ReplayedLine.model_fields),
                ("matter", _MATTER),
                ("got", get_args(Response)),
                ("cues", CUES),
                ("feelings", ("-2", "-1", "1", "2")),
                ("usual", (*SHARES, "detail", "figures", "fragments")),
                ("styles", ("sentences", "full")),
            ):
                _check_keys(path, language, name, table, keys)
            # A language in which nobody writes fragments needs no text for them.
            if table["usual"]["fragments"]:
                _check_keys(path, language, "styles", table, ("fragments",))
        self.guards = {language: guard_of(language) for language in LANGUAGES}

    def matter(self, case: Case, persona: Persona) -> str:
        """What the customer comes with and knows of it, a line each.

        Who discloses nothing is not told what there is.
        """
        voice = persona.speaks(case.language)
        knows = case.known if persona.discloses != "never" else ()
        lists = {
            # The dialogue has it, so it stands here only where nothing else says what they want.
            "question": [] if case.goal else [case.question],
            "goal": [case.goal] if case.goal else [],
            "knows": [*voice.knows, *knows],
            "unknown": [*voice.unknown, *case.facts.unknown],
        }
        labels = self.tables[case.language]["matter"]
        # What there is nothing of is not mentioned, so that nobody is led to talk about it.
        lines = (f"{labels[key]}: {' / '.join(texts)}" for key, texts in lists.items() if texts)
        return "\n".join(lines)

    def cues(
        self,
        language: Language,
        cues: Mapping[Response, Sequence[str]],
        feeling: int,
        line: str | None = None,
        *,
        softens: bool = False,
    ) -> str:
        """What matters in the next line, by what the last answer does, as the model reads it.

        What answers of several kinds call for stands once. `line` is what was said here in the run that is
        replayed, quoted. It `softens` where the line before was in words that were not the customer's own.
        """
        table = self.tables[language]
        rows: dict[tuple[str, ...], list[str]] = {}
        for got, names in cues.items():
            rows.setdefault(tuple(names), []).append(f"{got} {table['got'][got]}")
        joint = ", " if language == "en" else "、"
        blank = " " if language == "en" else ""
        lines = [
            self.text(
                language, "row", got=joint.join(gots), cues=blank.join(table["cues"][name] for name in names)
            )
            for names, gots in rows.items()
        ]
        if feeling:
            lines.append(self.text(language, "mood", feeling=table["feelings"][str(feeling)]))
        if softens:
            lines.append(self.text(language, "soften"))
        if line is not None:
            lines.append(self.text(language, "replay", line=line))
        return "\n".join(lines)

    def style(self, language: Language, name: str) -> str:
        """How a customer writes, as the model reads it."""
        return str(self.tables[language]["styles"][name])

    def usual(self, language: Language) -> dict[str, float]:
        """How often people of this language do what a persona's shares say, as multiples of these."""
        table: dict[str, float] = self.tables[language]["usual"]
        return table

    def problem(self, language: Language, rule: str) -> str:
        """The problem of a draft that broke this rule, as the model is shown it."""
        return str(self.tables[language]["problems"][rule])

    def form(self, language: Language, reply_form: type[Thought]) -> str:
        """The form of the reply, with the meaning of each key."""
        meanings = self.tables[language]["fields"]
        fields = {
            key: ("feeling" if key == "feeling" else "text", str(meanings[key]))
            for key in reply_form.model_fields
        }
        return replies.skeleton(fields)


def played_by(prompts: Prompts, persona: Persona) -> str:
    """A hash of every word that a model reads which plays the persona, except for the case.

    It stands in the run file as `user:angry`: runs whose customers were told other things are not compared
    as if they were the same.
    """
    return fingerprint(repr(prompts.tables), persona.model_dump_json())


def _check_keys(path: Path, language: str, name: str, table: dict[str, Any], keys: Iterable[str]) -> None:
    missing = [key for key in keys if table.get(name, {}).get(key) in (None, "")]
    if missing:
        msg = _(
            "{path}: [{language}.{name}] {missing} is missing.",
            path=path,
            language=language,
            name=name,
            missing=missing[0],
        )
        raise PromptError(msg)
