"""A prompt: what a model is sent for each row of a data set, with a version and named variants.

`reading` makes one of a file and checks it; `checking` looks whether the rows have what it needs;
`rendering` fills it in.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, ValidationError, field_validator

from simulator.core import shelves
from simulator.core.errors import InputError, PromptError, UnknownName
from simulator.core.templates import LANGUAGES, fingerprint, read_toml
from simulator.core.types import Case, Language, Value
from simulator.data.cases import case_of, numbered
from simulator.data.datasets import DatasetRequest, read_dataset
from simulator.data.values import Row, field_of, normalised

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


class Shots(Value):
    """Where examples are, and how many of them are shown."""

    file: str = ""
    rows: tuple[dict[str, JsonValue], ...] = ()
    shots: Annotated[int, Field(ge=0)] | None = None


def examples_of(given: Shots, path: Path, language: Language) -> tuple[Case, ...]:
    """The rows of a prompt file's examples; a data set is looked up beside the prompt file."""
    if given.file and given.rows:
        msg = f"{path}: [examples] has both file and rows: leave one of them out."
        raise PromptError(msg)
    try:
        if given.file:
            wish = DatasetRequest(language, strict=True, asks=False)
            return tuple(read_dataset(path.parent / given.file, wish).rows())
        rows = [Row(number, values) for number, values in enumerate(given.rows, 1)]
        return tuple(
            case_of(path, row, numbered(row.line, len(rows)), language, with_values=True, asks=False)
            for row in rows
        )
    except InputError as error:
        msg = f"{path}: [examples]: {error}"
        raise PromptError(msg) from None


# What every row has under its own name; all else is a column of the data set.
OF_THE_ROW = ("question", "id", "tags", "goal")
OF_LISTS = ("choices", "letters", "labels", "contexts", "examples")
# Fields of a row that hold the solution, by whatever header: a prompt that showed them would test nothing.
_SOLUTION = frozenset({"references", "label", "answer", "recorded", "passages"})
# Other headers of these fields may be used as variables, too.
_SHOWN = frozenset({"question", "id", "tags", "goal", "choices", "contexts"})


_EXAMPLES = re.compile(r"(?<!\$)\$(?:\{examples\}|examples(?![A-Za-z0-9_]))\n*")


class PromptText(Template):
    """`$name` in ASCII, so that Japanese may follow at once; `${any column}` with spaces and kanji."""

    braceidpattern = r"[^{}$\n]+"


@lru_cache(maxsize=256)
def used_in(text: str) -> frozenset[str]:
    """The names that a text uses which was checked before."""
    return frozenset(PromptText(text).get_identifiers())


def variables(where: str, text: str) -> frozenset[str]:
    """The names that a text uses; `where` stands in the error about a lone dollar."""
    if not PromptText(text).is_valid():
        msg = f"{where}: a lone dollar; write $$ for a plain one."
        raise PromptError(msg)
    return used_in(text)


def gives_away(name: str) -> bool:
    """Whether a variable stands for the solution of a row."""
    return field_of(name) in _SOLUTION


def fill(text: str, value: Callable[[str], str]) -> str:
    """The text with each of its variables as `value` gives it; values are not searched for variables."""
    return PromptText(text).substitute({name: value(name) for name in used_in(text)})


def without_examples(text: str) -> str:
    """The text where no examples are shown: neither their place nor the blank lines after it."""
    return _EXAMPLES.sub("", text)


def is_fixed(name: str) -> bool:
    """Whether a variable is never a column of the data set."""
    return name in OF_THE_ROW or name in OF_LISTS


def meaning(name: str) -> str:
    """What a variable stands for: one of OF_THE_ROW or OF_LISTS, or "" for a column of the data set."""
    if is_fixed(name):
        return name
    field = field_of(name) or ""
    return field if field in _SHOWN else ""


def column(case: Case, name: str) -> str | None:
    """What a row holds in a column of this name, however its header is spelt; None without one."""
    if name in case.values:
        return case.values[name]
    wanted = normalised(name)
    return next((text for header, text in case.values.items() if normalised(header) == wanted), None)


def of_the_row(case: Case, question: str) -> Mapping[str, str]:
    """The variables that are a row's own texts."""
    return {"question": question, "id": case.id, "tags": ", ".join(case.tags), "goal": case.goal or ""}


_WORDS = Path(__file__).with_name("prompting.toml")
_LINES: Mapping[str, frozenset[str]] = {
    "choice": frozenset({"letter", "number", "text"}),
    "context": frozenset({"number", "text"}),
    "label": frozenset({"number", "label", "said"}),
}


class _Words(Value):
    title: str = ""
    system: str = ""
    user: str | None = None
    example: str = ""
    answer: str | None = None
    choice: str | None = None
    context: str | None = None
    label: str | None = None


class _Variant(Value):
    about: str = ""
    ja: _Words | None = None
    en: _Words | None = None


class _Examples(Shots):
    seed: int = 0
    turns: Literal["text", "turns"] = Field("text", alias="as")
    ja: Shots | None = None
    en: Shots | None = None


class _File(Value):
    id: str = Field(pattern=r"^[\w.-]+$")
    version: str
    choose: Choosing | None = None
    ja: _Words | None = None
    en: _Words | None = None
    labels: dict[str, str] | dict[Language, dict[str, str]] = Field(default={})
    examples: _Examples = _Examples()
    variants: dict[str, _Variant] = Field(default={})

    @field_validator("version", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value

    @property
    def languages(self) -> tuple[Language, ...]:
        return tuple(language for language in LANGUAGES if getattr(self, language) is not None)


def read_prompt(name: str, shots: int | None = None) -> Prompt:
    """The prompt `choose`, `choose:expert` or `./mine.toml:expert`, with `shots` instead of its own."""
    given, variant = split_variant(name)
    path = shelves.prompt_path(given)
    file = _file(path)
    if variant and variant not in file.variants:
        raise UnknownName(f"variant of {path}", variant, file.variants)
    wordings = {language: _wording(path, file, language, variant) for language in file.languages}
    prompt = Prompt(
        id=file.id, version=file.version, variant=variant, path=str(path), wordings=wordings,
        about=file.variants[variant].about if variant else "",
        labels=_labels(path, file), choosing=file.choose or "nothing",
        examples={each: _shown(path, file, each, shots) for each in file.languages},
    )  # fmt: skip
    _check(prompt)
    return prompt.model_copy(update={"choosing": file.choose or _implied(prompt)})


def split_variant(name: str) -> tuple[str, str]:
    """The file and the variant in `choose:expert`; a colon before a slash belongs to the path."""
    given, _, variant = name.rpartition(":")
    return (given, variant) if given and not {"/", "\\"} & set(variant) else (name, "")


def files_of(prompt: Prompt) -> tuple[Path, ...]:
    """The prompt's own file, and those of its examples."""
    shown = (Path(examples.file) for examples in prompt.examples.values() if examples.file)
    return (Path(prompt.path), *dict.fromkeys(shown))


def described(path: Path) -> str:
    """A prompt file in one line: its titles, version and variants; or what is wrong with it."""
    try:
        file = _file(path)
    except PromptError as error:
        return str(error)
    given = (getattr(file, language) for language in ("en", "ja"))
    titles = " / ".join(words.title for words in given if words and words.title)
    variants = f"; variants: {', '.join(file.variants)}" if file.variants else ""
    return f"{titles} (version {file.version}{variants})".lstrip()


def _file(path: Path) -> _File:
    try:
        return _checked(path, _File.model_validate({"id": path.stem, **read_toml(path)}))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        msg = f"{path}: {where}: {first['msg']}. See docs/prompts.md."
        raise PromptError(msg) from None


def _checked(path: Path, file: _File) -> _File:
    if not file.languages:
        msg = f"{path}: it has neither [ja] nor [en]: one of them says what is sent for each row."
        raise PromptError(msg)
    return file


def _wording(path: Path, file: _File, language: Language, variant: str) -> Wording:
    """The texts of the variant over those of the file over the usual lines."""
    layers = [_usual()[language], _given(getattr(file, language))]
    if variant:
        own = getattr(file.variants[variant], language)
        if own is None:
            msg = f"{path}: [variants.{variant}] has no [{language}], but the prompt has: add its texts."
            raise PromptError(msg)
        layers.append(_given(own))
    merged = {key: text.strip("\n") for layer in layers for key, text in layer.items()}
    if not merged.get("user", "").strip():
        msg = f"{path}: [{language}] user is missing or empty: it is what is sent for each row."
        raise PromptError(msg)
    return Wording(**merged)


def _given(words: _Words) -> dict[str, str]:
    return {key: text for key, text in words.model_dump(exclude_unset=True).items() if text is not None}


@cache
def _usual() -> dict[str, dict[str, str]]:
    return read_toml(_WORDS)


def _labels(path: Path, file: _File) -> dict[Language, dict[str, str]]:
    """What is said for each label in each language; a table without languages counts for all."""
    given: Any = file.labels
    if not given:
        return {}
    plain = all(isinstance(said, str) for said in given.values())
    labels = {language: given if plain else given.get(language, {}) for language in file.languages}
    keys = [set(said) for said in labels.values()]
    if any(each != keys[0] or not each for each in keys):
        msg = f"{path}: [labels.ja] and [labels.en] must say something for the same labels."
        raise PromptError(msg)
    for language, said in labels.items():
        if len(set(said.values())) < len(said):
            msg = f"{path}: [labels.{language}] says the same for two labels: nobody could tell them apart."
            raise PromptError(msg)
    return labels


def _shown(path: Path, file: _File, language: Language, shots: int | None) -> Examples:
    own = getattr(file.examples, language) or file.examples
    rows = examples_of(own, path, language)
    wanted = shots if shots is not None else own.shots if own.shots is not None else file.examples.shots
    if wanted is None and own.file:
        msg = f"{path}: [examples] names a file: say how many of its rows are shown: shots = 4."
        raise PromptError(msg)
    number = len(rows) if wanted is None else wanted
    if number > len(rows):
        msg = f"{path}: {number} examples are asked for, and there are {len(rows)}."
        raise PromptError(msg)
    turns, source = file.examples.turns == "turns", str(path.parent / own.file) if own.file else ""
    return Examples(rows=rows, shots=number, seed=file.examples.seed, turns=turns, file=source)


def _implied(prompt: Prompt) -> Choosing:
    used = {name for wording in prompt.wordings.values() for name in asked_for(wording)}
    if {"choices", "letters"} & used:
        return "letters"
    return "labels" if prompt.labels or "labels" in used else "nothing"


def asked_for(wording: Wording) -> frozenset[str]:
    """The variables that every row has to fill."""
    return used_in(wording.system) | used_in(wording.user)


def _check(prompt: Prompt) -> None:
    """Raises PromptError for variables that nothing fills, or that only one language uses."""
    used = {language: dict(_used(prompt, language)) for language in prompt.wordings}
    first, *others = used
    for other in others:
        for key in used[first]:
            if difference := used[first][key] ^ used[other][key]:
                msg = f"{prompt.path}: {key} uses ${min(difference)} in one language only."
                raise PromptError(msg)
    for language, wording in prompt.wordings.items():
        shown = prompt.shown(language)
        if "examples" in asked_for(wording) and not wording.example:
            msg = f"{prompt.path}: [{language}] uses $examples; write `example`: how one of them reads."
            raise PromptError(msg)
        if shown.shots and not shown.turns and "examples" not in asked_for(wording):
            msg = f'{prompt.path}: [{language}] does not show its examples: write $examples, or as = "turns".'
            raise PromptError(msg)


def _used(prompt: Prompt, language: Language) -> Iterator[tuple[str, frozenset[str]]]:
    wording = prompt.wordings[language]
    for key in ("system", "user", "example", "answer"):
        where = f"{prompt.path}: [{language}] {key}"
        used = variables(where, getattr(wording, key))
        for name in used:
            if gives_away(name) and not (name == "answer" and key in ("example", "answer")):
                msg = f"{where}: ${name} would give the solution away."
                raise PromptError(msg)
        yield key, used
    for key, allowed in _LINES.items():
        if extra := variables(f"{prompt.path}: [{language}] {key}", getattr(wording, key)) - allowed:
            there = ", ".join(f"${name}" for name in sorted(allowed))
            msg = f"{prompt.path}: [{language}] {key} uses ${min(extra)}; it may use {there}."
            raise PromptError(msg)
