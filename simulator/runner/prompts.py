"""Prompts for the rows of a data set: their files, with a version and named variants; and how a bot is asked.

A variable is a field of the row (`$question`, `$id`, `$tags`, `$goal`), a list made of it (choices, letters,
labels, contexts, examples), or else a column of the data set. `read_prompt` reads and checks a file
(docs/lab/datasets.md), `PromptRenderer` fills it in for a row, `PromptedBot` asks a bot with it.

Checked once, when the file is read: both languages use the same variables; nothing shows the solution
(`$label`, `$reference`, 正解 ...); examples have all that they need. Checked for each row, before the first
call: it has a value for every variable (`PromptRenderer.lack`).

For a row with the question "How much?", the choices 550 and 880 and the label 880, the prompt `choose` sends

    Answer the following multiple choice question. ... where LETTER is one of AB. ...

    How much?

    A) 550
    B) 880

and the right answer of that row, were it an example, is "B". Values are never searched for variables, so a
question that holds "$choices" is sent as it is.
"""

import inspect
import json
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, field_validator

from simulator.cases.case import case_of
from simulator.cases.cases import row_id
from simulator.cases.headings import field_of
from simulator.cases.profile import labels_in
from simulator.cases.row import Row
from simulator.core import shelves
from simulator.core.errors import InputError, PromptError, UnknownName
from simulator.core.messages import Message, _, quote
from simulator.core.settings import Settings
from simulator.core.templates import LANGUAGES, check_same, fingerprint
from simulator.core.types import (
    SCRIPTED,
    Bot,
    Case,
    Conversation,
    Conversations,
    Language,
    Query,
    Value,
    traits_of,
)
from simulator.runner.conversation import call_bot
from simulator.text.choices import LETTERS

# The part of a query that a bot's traits may list as received by it.
SYSTEM = "system"
# Finds the case of an id: rows of a large data set stay in their file, and are read again when they are
# asked.
Lookup = Callable[[str], Case]
Choosing = Literal["letters", "labels", "nothing"]
# Every other variable is a column of the data set.
_FIXED = frozenset({
    "question", "id", "tags", "goal", "choices", "letters", "labels", "contexts", "examples",
})  # fmt: skip
# Fields of a row that hold the solution, under any header: a prompt that showed them would test nothing.
_SOLUTION = frozenset({"references", "label", "answer", "recorded", "passages"})
# `$examples` or `${examples}`, with the line breaks after it; not "$$examples", a plain dollar, nor
# "$examples2".
_EXAMPLES = re.compile(r"(?<!\$)\$(?:\{examples\}|examples(?![A-Za-z0-9_]))\n*")

# A text of the file, without the line breaks around it.
_Text = Annotated[str, AfterValidator(lambda text: text.strip("\n"))]


class PromptWording(Value):
    """The texts of a prompt in one language; only `user` has to be there.

    `title` is what `list` shows. `system` and `user` are sent for each row; `example` is one example within
    `$examples`.
    """

    title: _Text = ""
    system: _Text = ""
    user: _Text = ""
    example: _Text = ""

    @property
    def variables(self) -> frozenset[str]:
        """Those that every row has to fill."""
        return variables_in(self.system) | variables_in(self.user)


class Examples(Value):
    """Rows shown before each question: `shots` of them at random."""

    rows: tuple[Case, ...] = ()
    shots: int = 0
    seed: int = 0


class PromptVariant(Value):
    """One variant of a prompt file. `labels` maps a data set's labels to their texts, in order.

    `version` is what its author says; `hash` is what counts. `choosing` says what an answer is one of: the
    letters of the row's choices, the texts of its labels, or nothing in particular.
    """

    id: str
    version: str
    variant: str = ""
    path: str = ""
    wordings: dict[Language, PromptWording]
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
        return fingerprint(json.dumps(content, ensure_ascii=False, sort_keys=True))

    def language_for(self, case: Case) -> Language:
        """The language in which a row is asked: its own, or the only one of the prompt."""
        return case.language if case.language in self.wordings else next(iter(self.wordings))


class _PromptText(Template):
    """`$name` in ASCII, so that Japanese may follow directly; `${any column}` with spaces and kanji."""

    braceidpattern = r"[^{}$\n]+"


@lru_cache(maxsize=256)
def variables_in(text: str) -> frozenset[str]:
    """The variables of a text that is known to be valid."""
    return frozenset(_PromptText(text).get_identifiers())


def _filled(text: str, value: Callable[[str], str]) -> str:
    """The text with its variables replaced by `value(name)`; values are not searched for variables."""
    return _PromptText(text).substitute({name: value(name) for name in variables_in(text)})


# --- The file ---


class _FileExamples(Value):
    rows: tuple[dict[str, JsonValue], ...] = ()
    shots: Annotated[int, Field(ge=0)] | None = None
    seed: int = 0
    ja: "_FileExamples | None" = None
    en: "_FileExamples | None" = None


class _FileVariant(Value):
    about: str = ""  # for whoever reads the file
    ja: PromptWording | None = None
    en: PromptWording | None = None


class _PromptFile(_FileVariant):
    id: str = Field(pattern=r"^[\w.-]+$")
    version: str
    choose: Choosing | None = None
    labels: dict[Language, dict[str, str]] = Field(default={})
    examples: _FileExamples = Field(default_factory=_FileExamples)
    variants: dict[str, _FileVariant] = Field(default={})

    @field_validator("version", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def read_prompt(name: str) -> PromptVariant:
    """Reads the prompt `choose`, `choose:expert` or `./mine.toml:expert`.

    Raises PromptError for an invalid file and UnknownName for an unknown variant.
    """
    # choose:expert, ./mine.toml:expert, and C:/prompts/mine.toml without a variant.
    file_name, _unused, variant = name.rpartition(":")
    if not file_name or {"/", "\\"} & set(variant):  # a colon before a slash belongs to the path
        file_name, variant = name, ""
    path = shelves.prompt_path(file_name)
    file = _read_file(path)
    if variant and variant not in file.variants:
        raise UnknownName(_("variant of {path}", path=path), variant, file.variants)
    wordings = _wordings(path, file, variant)
    labels = _labels(path, file, wordings)
    used = {variable for wording in wordings.values() for variable in wording.variables}
    usual: Choosing = "labels" if labels or "labels" in used else "nothing"
    prompt = PromptVariant(
        id=file.id,
        version=file.version,
        variant=variant,
        path=str(path),
        wordings=wordings,
        labels=labels,
        choosing=file.choose or ("letters" if {"choices", "letters"} & used else usual),
        examples={language: _examples(path, file, language) for language in wordings},
    )
    _check_examples(prompt)
    return prompt


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
    file = shelves.read_model(path, _PromptFile, _("See docs/lab/datasets.md."))
    if not (file.ja or file.en):
        msg = _(
            "{path}: it has neither [ja] nor [en]: one of them says what is sent for each row.", path=path
        )
        raise PromptError(msg)
    return file


def _wordings(path: Path, file: _PromptFile, variant: str) -> dict[Language, PromptWording]:
    """The checked texts of the file by language, replaced by those of the variant.

    Raises PromptError for a solution that is shown, and for variables that only one language uses.
    """
    wordings: dict[Language, PromptWording] = {}
    for language in LANGUAGES:
        wording: PromptWording | None = getattr(file, language)
        if wording is None:
            continue
        if variant:
            own: PromptWording | None = getattr(file.variants[variant], language)
            if own is None:
                msg = _(
                    "{path}: [variants.{variant}] has no [{language}], but the prompt has: add its texts.",
                    path=path,
                    variant=variant,
                    language=language,
                )
                raise PromptError(msg)
            # Only what the variant says itself: a missing system text is that of the file, an empty one is
            # none.
            wording = wording.model_copy(update=own.model_dump(exclude_unset=True))
        _check_texts(f"{path}: [{language}]", wording)
        wordings[language] = wording
    first, *others = wordings.values()
    for other in others:
        for key in ("system", "user", "example"):
            check_same(path, key, variables_in(getattr(first, key)), variables_in(getattr(other, key)))
    return wordings


def _check_texts(place: str, wording: PromptWording) -> None:
    if not wording.user.strip():
        msg = _("{place} user is missing or empty: it is what is sent for each row.", place=place)
        raise PromptError(msg)
    for key in ("system", "user", "example"):
        where, text = f"{place} {key}", getattr(wording, key)
        if not _PromptText(text).is_valid():
            raise PromptError(_("{where}: a lone dollar; write $$ for a plain one.", where=where))
        for name in variables_in(text):
            if field_of(name) in _SOLUTION and (name, key) != ("answer", "example"):
                raise PromptError(_("{where}: ${name} would give the solution away.", where=where, name=name))
    if ("examples" in wording.variables) != bool(wording.example):
        msg = _("{place} $examples and `example`, the form of one, are needed together.", place=place)
        raise PromptError(msg)


def _labels(path: Path, file: _PromptFile, languages: Iterable[Language]) -> dict[Language, dict[str, str]]:
    """The text of each label in each language; empty where the file names none."""
    if not file.labels:
        return {}
    labels = {language: file.labels.get(language, {}) for language in languages}
    keys = [set(texts) for texts in labels.values()]
    if any(key != keys[0] or not key for key in keys):
        msg = _("{path}: [labels.ja] and [labels.en] must have texts for the same labels.", path=path)
        raise PromptError(msg)
    # An answer is read back into a label by its text.
    for language, texts in labels.items():
        if len(set(texts.values())) < len(texts):
            msg = _(
                "{path}: [labels.{language}] has the same text for two labels: make them different.",
                path=path,
                language=language,
            )
            raise PromptError(msg)
    return labels


def _examples(path: Path, file: _PromptFile, language: Language) -> Examples:
    source: _FileExamples = getattr(file.examples, language) or file.examples
    rows = [Row(number, values) for number, values in enumerate(source.rows, 1)]
    try:
        cases = tuple(
            case_of(path, row, row_id(row.line, len(rows)), language=language, asks=False, values=True)
            for row in rows
        )
    except InputError as error:
        raise PromptError(_("{path}: [examples]: {error}", path=path, error=error)) from None
    number = len(rows) if source.shots is None else source.shots
    if number > len(rows):
        msg = _(
            "{path}: {number:d} examples are required, but there are only {n}.",
            path=path,
            number=number,
            n=len(rows),
        )
        raise PromptError(msg)
    return Examples(rows=cases, shots=number, seed=source.seed)


def _check_examples(prompt: PromptVariant) -> None:
    """Raises PromptError for examples that lack a variable or their right answer."""
    renderer = PromptRenderer(prompt)
    for examples in prompt.examples.values():
        for example in examples.rows if examples.shots else ():
            where = f"{prompt.path}: [examples] row {example.id}"
            if not renderer.right(example):
                what = "references" if prompt.choosing == "nothing" else "label"
                raise PromptError(_("{where} has no {what} to show as its answer.", where=where, what=what))
            try:
                renderer.as_example(example)
            except MissingVariable as error:
                msg = _(
                    "{where} lacks ${variable}, which the example uses.", where=where, variable=error.variable
                )
                raise PromptError(msg) from None


# --- Filled in, row by row ---


class RenderedPrompt(Value):
    """What is sent for a row; the answer should be one of `choices` (letters or labels), if there are any."""

    system: str
    user: str
    choices: tuple[str, ...] = ()


class MissingVariable(InputError):
    """A row has no value for a variable of the prompt."""

    def __init__(self, variable: str, why: Message | str = "") -> None:
        why = why or _("this row has none")
        super().__init__(_("${variable}: {why}.", variable=variable, why=why))
        self.variable, self.why = variable, why


class PromptRenderer:
    """Fills in a prompt row by row; `labels` are those of the data set, where the prompt names none."""

    def __init__(self, prompt: PromptVariant, labels: Iterable[str] = ()) -> None:
        """Examples that many rows share are rendered only once."""
        self.prompt = prompt
        self._labels = {label: label for label in labels}
        self._shown: dict[tuple[str, str], str] = {}

    def __call__(self, case: Case, question: str | None = None) -> RenderedPrompt:
        """The prompt of a row; `question` replaces its own.

        Raises MissingVariable if the row has no value for a variable.
        """
        language = self.prompt.language_for(case)
        wording, examples = self.prompt.wordings[language], self.prompt.examples[language]
        shown = "\n\n".join(map(self._example, chosen_examples(examples, case)))
        given = {"question": case.question if question is None else question, "examples": shown}
        texts = wording.system, wording.user
        # No examples: neither their variable nor the empty lines around it are left.
        system, user = texts if shown else (_EXAMPLES.sub("", text) for text in texts)
        value = self._values(case, given)
        return RenderedPrompt(
            system=_filled(system, value), user=_filled(user, value), choices=self.choices(case)
        )

    def lack(self, case: Case) -> Message | None:
        """What a row lacks for the prompt, as a text to follow its file and line; None if nothing."""
        value = self._values(case, {"question": case.question})
        try:
            for name in self.prompt.wordings[self.prompt.language_for(case)].variables - {"examples"}:
                value(name)
        except MissingVariable as error:
            lack = {"prompt": self.prompt.name, "why": error.why}
            if error.variable in _FIXED:
                return _("the prompt {prompt} needs ${variable}; {why}.", variable=error.variable, **lack)
            column = quote(error.variable)
            return _("the prompt {prompt} needs a column {column}; {why}.", column=column, **lack)
        return None

    def choices(self, case: Case) -> tuple[str, ...]:
        """The letters or label texts that the answer to a row should be one of; empty for any answer."""
        if self.prompt.choosing == "letters":
            return tuple(letters(case))
        return tuple(self.labels(case).values()) if self.prompt.choosing == "labels" else ()

    def labels(self, case: Case) -> Mapping[str, str]:
        """Each label with its text: those of the file, else the row's choices, else the data set's labels."""
        named = self.prompt.labels.get(self.prompt.language_for(case))
        return named or {choice: choice for choice in case.choices} or self._labels

    def _values(self, case: Case, given: Mapping[str, str]) -> Callable[[str], str]:
        """Looks up a variable: in `given`, the columns of the row, its fields, the lists made of it."""

        def value(name: str) -> str:
            if name not in _FIXED and name not in given:
                if name not in case.values:
                    raise MissingVariable(name)
                return case.values[name]
            text = given[name] if name in given else self._field(name, case)
            if not text:
                raise MissingVariable(name)
            return text

        return value

    def _field(self, name: str, case: Case) -> str:
        """A field of a row, or one of the lists made of it."""
        match name:
            case "tags":
                return ", ".join(case.tags)
            case "letters":
                return letters(case)
            case "choices":
                pairs = zip(letters(case), case.choices, strict=True)
                return "\n".join(f"{letter}) {choice}" for letter, choice in pairs)
            case "labels":
                return "\n".join(self.labels(case).values())
            case "contexts":
                return "\n\n".join(f"[{at}] {text}" for at, text in enumerate(case.contexts, 1))
        return getattr(case, name) or ""

    def _example(self, example: Case) -> str:
        key = example.language, example.id
        if key not in self._shown:
            self._shown[key] = self.as_example(example)
        return self._shown[key]

    def as_example(self, example: Case) -> str:
        """An example as it is shown; raises MissingVariable if it has no value for a variable."""
        value = self._values(example, {"question": example.question, "answer": self.right(example)})
        wording = self.prompt.wordings[self.prompt.language_for(example)]
        return _filled(_EXAMPLES.sub("", wording.example), value)

    def right(self, example: Case) -> str:
        """The right answer of an example as the model should write it; "" if the row has none."""
        variables = self.prompt.wordings[self.prompt.language_for(example)].variables
        if example.choices and {"choices", "letters"} & variables:
            label = (example.label or "").strip()
            if label in example.choices:
                return LETTERS[example.choices.index(label)]
            return label if label and label in letters(example) else ""
        if example.label is not None:
            return self.labels(example).get(example.label, example.label)
        return next(iter(example.references_at(1)), "") or example.answer or ""


def chosen_examples(examples: Examples, case: Case) -> list[Case]:
    """The examples for a row: the same for all rows, but never the row itself.

    Drawn once by the seed; for a row that is among the drawn ones, the next one drawn steps in. They are
    shown in the order of the file, which is often one of difficulty or time.
    """

    def is_row(example: Case) -> bool:
        """Whether an example is the row itself: the same question, and no column of both that differs."""
        shared = example.values.keys() & case.values.keys()
        return example.question == case.question and all(example.values[k] == case.values[k] for k in shared)

    order = _shuffled(examples.seed, len(examples.rows)) if examples.shots else ()
    others = (place for place in order if not is_row(examples.rows[place]))
    return [examples.rows[place] for place in sorted(islice(others, examples.shots))]


@lru_cache(maxsize=64)
def _shuffled(seed: int, number: int) -> tuple[int, ...]:
    return tuple(random.Random(seed).sample(range(number), number))  # noqa: S311 - a choice, not a secret


def letters(case: Case) -> str:
    """The letters of a row's choices: `ABCD` for four."""
    if len(case.choices) > len(LETTERS):
        counts = {"choices": len(case.choices), "letters": len(LETTERS)}
        raise MissingVariable("letters", _("{choices} choices; there are {letters} letters", **counts))
    return LETTERS[: len(case.choices)]


# --- A bot that is asked with it ---


class PromptedBot:
    """A bot that is asked with a prompt; it has the attributes of the bot, such as its traits."""

    def __init__(self, bot: Bot, prompt: PromptVariant, row: Lookup, labels: Iterable[str] = ()) -> None:
        """`row` finds the case of an id; `labels` are those of the data set, where the prompt names none."""
        self.bot, self.row = bot, row
        self._renderer = PromptRenderer(prompt, labels)
        self._takes_system = SYSTEM in traits_of(bot).takes

    def __getattr__(self, name: str) -> Any:
        """The bot's own attributes."""
        return getattr(self.bot, name)

    async def __call__(self, query: Query) -> Any:
        """The bot's result for the row's prompt."""
        rendered = self._renderer(self.row(query.case), query.text)
        # A bot that takes no system text gets it before the question, or it would never see the instruction.
        is_apart = self._takes_system or not rendered.system
        changes = {
            "text": rendered.user if is_apart else f"{rendered.system}\n\n{rendered.user}",
            "system": rendered.system if self._takes_system else "",
            "choices": rendered.choices,
        }
        return await call_bot(self.bot, query.model_copy(update=changes))

    async def aclose(self) -> None:
        """Closes the bot's connections, if it has any."""
        closed = getattr(self.bot, "aclose", lambda: None)()
        if inspect.isawaitable(closed):
            await closed


def case_lookup(plan: Sequence[Conversation]) -> Lookup:
    """Finds a plan's cases by id; those of a large data set are read from its file, or the run's, again."""
    if (cases := getattr(plan, "cases", None)) is not None:
        return cases.of_id  # type: ignore[no-any-return]
    if isinstance(plan, Conversations):  # of a run that is resumed: prompts are for rows, asked by nobody
        return lambda key: next(iter(plan.with_ids([f"{SCRIPTED}/{key}#1"]))).case
    return {conversation.case.id: conversation.case for conversation in plan}.__getitem__


class AppliedPrompt:
    """The prompt of a run, read before anything else so that an invalid one is reported at once."""

    def __init__(self, settings: Settings) -> None:
        """Raises PromptError for an invalid file, and InputError outside `evaluate`."""
        if settings.protocol != "single_turn":
            raise InputError(
                _("prompt: only `evaluate` applies a prompt; simulated customers have their own.")
            )
        self.settings = settings
        self.prompt = read_prompt(settings.prompt or "")
        # The labels are known only when all rows have been read; to check a row, any label will do.
        self.row_check = PromptRenderer(self.prompt, ("-",)).lack

    @property
    def files(self) -> tuple[Path, ...]:
        """The prompt's own file, unless it is one of the shelf."""
        path = Path(self.prompt.path)
        return () if path.parent == shelves.PROMPTS else (path,)

    def around(self, bot: Bot, plan: Sequence[Conversation]) -> Bot:
        """The bot asked with this prompt; recorded answers are returned unchanged."""
        if self.settings.adapter == "recorded":
            return bot
        return PromptedBot(bot, self.prompt, case_lookup(plan), self._labels(plan))

    @property
    def title(self) -> str:
        """The prompt with its version: `reply 3`."""
        return f"{self.prompt.name} {self.prompt.version}"

    def _labels(self, plan: Iterable[Conversation]) -> tuple[str, ...]:
        """The data set's labels; from the plan if the prompt needs them and --labels has none.

        That reads all rows once more, so it is done only where nothing else names them.
        """
        needed = self.prompt.choosing == "labels" and not self.prompt.labels
        if not needed or self.settings.labels:
            return tuple(self.settings.labels)
        labels = labels_in(conversation.case for conversation in plan)
        if not labels:
            msg = _(
                "{prompts}: no row has a label to choose: write [labels], or --labels A,B.",
                prompts=self.prompt.path,
            )
            raise InputError(msg)
        return labels
