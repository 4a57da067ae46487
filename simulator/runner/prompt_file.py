"""Prompt files: what a model is sent for each row of a data set, with a version and named variants.

A file is read and checked here; `simulator.runner.prompts` fills it in and checks the rows.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, field_validator

from simulator.core import shelves
from simulator.core.errors import InputError, PromptError, UnknownName
from simulator.core.messages import Message, _
from simulator.core.templates import LANGUAGES, fingerprint
from simulator.core.types import Case, Language, Value
from simulator.data.cases import DatasetRequest, case_of, read_dataset, row_id
from simulator.data.values import Row, field_of, normalised

Choosing = Literal["letters", "labels", "nothing"]
# Variables for fields and lists of a row; every other variable is a column of the data set.
ROW_VARIABLES = ("question", "id", "tags", "goal")
LIST_VARIABLES = ("choices", "letters", "labels", "contexts", "examples")
# Fields of a row that hold the solution, under any header: a prompt that showed them would test nothing.
_SOLUTION = frozenset({"references", "label", "answer", "recorded", "passages"})
# These fields may also be used as variables by other headers of theirs.
_ALIASED = frozenset({"question", "id", "tags", "goal", "choices", "contexts"})


# `$examples` or `${examples}`, with the line breaks after it.
_EXAMPLES = re.compile(r"(?<!\$)\$(?:\{examples\}|examples(?![A-Za-z0-9_]))\n*")
# The variables that a line of each list may use.
_LINE_VARIABLES: Mapping[str, frozenset[str]] = {
    "choice": frozenset({"letter", "number", "text"}),
    "context": frozenset({"number", "text"}),
    "label": frozenset({"number", "label", "said"}),
}


# A text of the file, without the line breaks around it.
_Text = Annotated[str, AfterValidator(lambda text: text.strip("\n"))]


class Wording(Value):
    """The texts of a prompt in one language; only `user` has to be there.

    `example` is one example within `$examples`, `answer` the assistant's message of one shown as turns;
    `choice`, `context` and `label` are one line of their lists.
    """

    title: _Text = ""
    system: _Text = ""
    user: _Text = ""
    example: _Text = ""
    answer: _Text = "$answer"
    choice: _Text = "$letter) $text"
    context: _Text = "[$number] $text"
    label: _Text = "$said"


class Examples(Value):
    """Rows shown before each question: `shots` of them at random, within the text or as earlier `turns`."""

    rows: tuple[Case, ...] = ()
    shots: int = 0
    seed: int = 0
    turns: bool = False
    file: str = ""


class Prompt(Value):
    """One variant of a prompt file. `labels` maps a data set's labels to their texts, in order."""

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
        """The name that `--prompt` takes: `choose`, or `choose:expert`."""
        return f"{self.id}:{self.variant}" if self.variant else self.id

    @cached_property
    def hash(self) -> str:
        """Twelve hexadecimal digits for everything that is sent; name, version and files do not count."""
        content = self.model_dump(mode="json", include={"wordings", "labels", "choosing", "examples"})
        for examples in content["examples"].values():
            del examples["file"]
        return fingerprint(json.dumps(content, ensure_ascii=False, sort_keys=True))

    def language_for(self, language: Language) -> Language:
        """The language in which rows of `language` are asked: the same, or the only one of the prompt."""
        return language if language in self.wordings else next(iter(self.wordings))

    def wording(self, case: Case) -> Wording:
        """The texts for a row."""
        return self.wordings[self.language_for(case.language)]

    def label_texts(self, language: Language) -> dict[str, str]:
        """The text for each label; empty if the file names no labels."""
        return self.labels.get(self.language_for(language), {})

    def examples_for(self, language: Language) -> Examples:
        """The examples for rows of a language."""
        return self.examples.get(self.language_for(language), Examples())


class PromptText(Template):
    """`$name` in ASCII, so that Japanese may follow directly; `${any column}` with spaces and kanji."""

    braceidpattern = r"[^{}$\n]+"


@lru_cache(maxsize=256)
def variables_in(text: str) -> frozenset[str]:
    """The variables of a text that is known to be valid."""
    return frozenset(PromptText(text).get_identifiers())


def fill_in(text: str, value: Callable[[str], str]) -> str:
    """The text with its variables replaced by `value(name)`; values are not searched for variables."""
    return PromptText(text).substitute({name: value(name) for name in variables_in(text)})


def without_examples(text: str) -> str:
    """The text without `$examples` and the line breaks after it."""
    return _EXAMPLES.sub("", text)


def is_fixed(name: str) -> bool:
    """Whether a variable is never a column of the data set."""
    return name in (*ROW_VARIABLES, *LIST_VARIABLES)


def variable_source(name: str) -> str:
    """The one of ROW_VARIABLES or LIST_VARIABLES that a variable stands for; "" for a column."""
    if is_fixed(name):
        return name
    field = field_of(name) or ""
    return field if field in _ALIASED else ""


def column_value(case: Case, name: str) -> str | None:
    """A row's value in the column of this name, whatever the spelling of its header; None without one."""
    if name in case.values:
        return case.values[name]
    header = normalised(name)
    return next((text for key, text in case.values.items() if normalised(key) == header), None)


def row_variables(case: Case, question: str) -> Mapping[str, str]:
    """The values of ROW_VARIABLES."""
    return {"question": question, "id": case.id, "tags": ", ".join(case.tags), "goal": case.goal or ""}


class _FileVariant(Value):
    about: str = ""
    ja: Wording | None = None
    en: Wording | None = None


class _ExampleSource(Value):
    """Examples as rows or the name of a data set, and how many of them are shown."""

    file: str = ""
    rows: tuple[dict[str, JsonValue], ...] = ()
    shots: Annotated[int, Field(ge=0)] | None = None


class _FileExamples(_ExampleSource):
    seed: int = 0
    turns: Literal["text", "turns"] = Field("text", alias="as")
    ja: _ExampleSource | None = None
    en: _ExampleSource | None = None


class _PromptFile(Value):
    id: str = Field(pattern=r"^[\w.-]+$")
    version: str
    choose: Choosing | None = None
    ja: Wording | None = None
    en: Wording | None = None
    labels: dict[str, str] | dict[Language, dict[str, str]] = Field(default={})
    examples: _FileExamples = _FileExamples()
    variants: dict[str, _FileVariant] = Field(default={})

    @field_validator("version", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value

    @property
    def languages(self) -> tuple[Language, ...]:
        return tuple(language for language in LANGUAGES if getattr(self, language) is not None)


def read_prompt(name: str, shots: int | None = None) -> Prompt:
    """Reads the prompt `choose`, `choose:expert` or `./mine.toml:expert`; `shots` replaces its own number.

    Raises PromptError for an invalid file and UnknownName for an unknown variant.
    """
    file_name, variant = split_variant(name)
    path = shelves.prompt_path(file_name)
    file = _read_file(path)
    if variant and variant not in file.variants:
        raise UnknownName(_("variant of {path}", path=path), variant, file.variants)
    wordings = {language: _wording(path, file, language, variant) for language in file.languages}
    prompt = Prompt(
        id=file.id, version=file.version, variant=variant, path=str(path), wordings=wordings,
        about=file.variants[variant].about if variant else "",
        labels=_labels(path, file), choosing=file.choose or "nothing",
        examples={each: _examples(path, file, each, shots) for each in file.languages},
    )  # fmt: skip
    _check(prompt)
    return prompt.model_copy(update={"choosing": file.choose or _default_choosing(prompt)})


def split_variant(name: str) -> tuple[str, str]:
    """The file and the variant in `choose:expert`; a colon before a slash belongs to the path."""
    file_name, _unused, variant = name.rpartition(":")
    return (file_name, variant) if file_name and not {"/", "\\"} & set(variant) else (name, "")


def files_of(prompt: Prompt) -> tuple[Path, ...]:
    """The prompt's own file, and those of its examples."""
    files = (Path(examples.file) for examples in prompt.examples.values() if examples.file)
    return (Path(prompt.path), *dict.fromkeys(files))


def describe_prompt(path: Path) -> Message | str:
    """One line about a prompt file: its titles, version and variants, or the error if it is invalid."""
    try:
        file = _read_file(path)
    except PromptError as error:
        return error.message
    en, ja = (wording.title if wording else "" for wording in (file.en, file.ja))
    titles = _("{en} / {ja}", en=en, ja=ja) if en and ja else en or ja or path.stem
    if not file.variants:
        return _("{titles} (version {version})", titles=titles, version=file.version)
    return _(
        "{titles} (version {version}; variants: {names})",
        titles=titles,
        version=file.version,
        names=tuple(file.variants),
    )


def _read_file(path: Path) -> _PromptFile:
    file = shelves.read_model(path, _PromptFile, _("See docs/prompts.md."))
    if not file.languages:
        msg = _(
            "{path}: it has neither [ja] nor [en]: one of them says what is sent for each row.", path=path
        )
        raise PromptError(msg)
    return file


def _wording(path: Path, file: _PromptFile, language: Language, variant: str) -> Wording:
    """The texts of the file, replaced by those of the variant."""
    wording: Wording = getattr(file, language)
    if variant:
        own: Wording | None = getattr(file.variants[variant], language)
        if own is None:
            msg = _(
                "{path}: [variants.{variant}] has no [{language}], but the prompt has: add its texts.",
                path=path,
                variant=variant,
                language=language,
            )
            raise PromptError(msg)
        wording = wording.model_copy(update=own.model_dump(exclude_unset=True))
    if not wording.user.strip():
        msg = _(
            "{path}: [{language}] user is missing or empty: it is what is sent for each row.",
            path=path,
            language=language,
        )
        raise PromptError(msg)
    return wording


def _labels(path: Path, file: _PromptFile) -> dict[Language, dict[str, str]]:
    """The text of each label in each language; a table without languages is for all of them."""
    table: Any = file.labels
    if not table:
        return {}
    is_plain = all(isinstance(text, str) for text in table.values())
    labels = {language: table if is_plain else table.get(language, {}) for language in file.languages}
    keys = [set(texts) for texts in labels.values()]
    if any(each != keys[0] or not each for each in keys):
        msg = _("{path}: [labels.ja] and [labels.en] must have texts for the same labels.", path=path)
        raise PromptError(msg)
    for language, texts in labels.items():
        if len(set(texts.values())) < len(texts):
            msg = _(
                "{path}: [labels.{language}] has the same text for two labels: make them different.",
                path=path,
                language=language,
            )
            raise PromptError(msg)
    return labels


def _examples(path: Path, file: _PromptFile, language: Language, shots: int | None) -> Examples:
    source = getattr(file.examples, language) or file.examples
    rows = _example_rows(source, path, language)
    counts = (shots, source.shots, file.examples.shots)
    count = next((each for each in counts if each is not None), None)
    if count is None and source.file:
        msg = _("{path}: [examples] names a file: say how many of its rows are shown: shots = 4.", path=path)
        raise PromptError(msg)
    number = len(rows) if count is None else count
    if number > len(rows):
        msg = _(
            "{path}: {number:d} examples are required, but there are only {n}.",
            path=path,
            number=number,
            n=len(rows),
        )
        raise PromptError(msg)
    turns, name = file.examples.turns == "turns", str(path.parent / source.file) if source.file else ""
    return Examples(rows=rows, shots=number, seed=file.examples.seed, turns=turns, file=name)


def _example_rows(source: _ExampleSource, path: Path, language: Language) -> tuple[Case, ...]:
    """The rows of a prompt file's examples; a data set is looked up beside the prompt file."""
    if source.file and source.rows:
        raise PromptError(_("{path}: [examples] has both file and rows: leave one of them out.", path=path))
    request = DatasetRequest(language, strict=True, asks=False)
    try:
        if source.file:
            return tuple(read_dataset(path.parent / source.file, request).rows())
        rows = [Row(number, values) for number, values in enumerate(source.rows, 1)]
        return tuple(case_of(path, row, row_id(row.line, len(rows)), request) for row in rows)
    except InputError as error:
        raise PromptError(_("{path}: [examples]: {error}", path=path, error=error)) from None


def _default_choosing(prompt: Prompt) -> Choosing:
    used = {name for wording in prompt.wordings.values() for name in required_variables(wording)}
    if {"choices", "letters"} & used:
        return "letters"
    return "labels" if prompt.labels or "labels" in used else "nothing"


def required_variables(wording: Wording) -> frozenset[str]:
    """The variables that every row has to fill."""
    return variables_in(wording.system) | variables_in(wording.user)


def _check(prompt: Prompt) -> None:
    """Raises PromptError for unknown variables, those that only one language uses, and unused examples."""
    used = {language: dict(_variables_by_text(prompt, language)) for language in prompt.wordings}
    first, *others = used
    for other in others:
        for key in used[first]:
            if difference := used[first][key] ^ used[other][key]:
                msg = _(
                    "{prompt}: {key} uses ${difference} in one language only.",
                    prompt=prompt.path,
                    key=key,
                    difference=min(difference),
                )
                raise PromptError(msg)
    for language, wording in prompt.wordings.items():
        examples = prompt.examples_for(language)
        if "examples" in required_variables(wording) and not wording.example:
            msg = _(
                "{prompt}: [{language}] uses $examples, but `example`, the form of one, is missing.",
                prompt=prompt.path,
                language=language,
            )
            raise PromptError(msg)
        if examples.shots and not examples.turns and "examples" not in required_variables(wording):
            msg = _(
                '{prompt}: [{language}] does not show its examples: write $examples, or as = "turns".',
                prompt=prompt.path,
                language=language,
            )
            raise PromptError(msg)


def _variables_by_text(prompt: Prompt, language: Language) -> Iterator[tuple[str, frozenset[str]]]:
    wording = prompt.wordings[language]
    for key in ("system", "user", "example", "answer", *_LINE_VARIABLES):
        where, text, allowed = (
            f"{prompt.path}: [{language}] {key}",
            getattr(wording, key),
            _LINE_VARIABLES.get(key),
        )
        if not PromptText(text).is_valid():
            raise PromptError(_("{where}: a lone dollar; write $$ for a plain one.", where=where))
        used = variables_in(text)
        if allowed is None:
            for name in used:
                if field_of(name) in _SOLUTION and not (name == "answer" and key in ("example", "answer")):
                    msg = _("{where}: ${name} would give the solution away.", where=where, name=name)
                    raise PromptError(msg)
            yield key, used
        elif extra := used - allowed:
            names = ", ".join(f"${name}" for name in sorted(allowed))
            msg = _(
                "{prompt}: [{language}] {key} uses ${variable}; it may use {names}.",
                prompt=prompt.path,
                language=language,
                key=key,
                variable=min(extra),
                names=names,
            )
            raise PromptError(msg)
