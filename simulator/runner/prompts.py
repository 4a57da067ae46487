"""Fills in a prompt for each row of a data set, and asks a bot with it.

A variable is looked up among the columns of the data set, then among the fields of the row and the lists made
of it (choices, labels, contexts, examples); a column never replaces `$question` and the other names that are
always the row's own. Rows are checked when they are read, so that a missing column costs nothing.
"""

import inspect
import random
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from simulator.core import shelves
from simulator.core.errors import InputError, PromptError
from simulator.core.messages import Message as Sentence
from simulator.core.messages import _
from simulator.core.settings import Settings
from simulator.core.types import (
    SCRIPTED,
    Bot,
    Case,
    Conversation,
    Conversations,
    Message,
    Query,
    Value,
    traits_of,
)
from simulator.data.files import quote
from simulator.data.profile import labels_in
from simulator.runner.conversation import call_bot
from simulator.runner.prompt_file import (
    Examples,
    Prompt,
    column_value,
    files_of,
    fill_in,
    is_fixed,
    read_prompt,
    required_variables,
    row_variables,
    variable_source,
    without_examples,
)

LETTERS = string.ascii_uppercase
_ROLES: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")
# Parts of a query that a bot's traits may list as received by it.
SYSTEM, HISTORY = "system", "history"
# Finds the case of an id.
Lookup = Callable[[str], Case]
# Returns what a row lacks, as a text to follow its file and line; None if nothing.
RowCheck = Callable[[Case], Sentence | None]


class RenderedPrompt(Value):
    """What is sent for a row; the answer should be one of `choices` (letters or labels), if there are any."""

    system: str
    user: str
    choices: tuple[str, ...] = ()
    history: tuple[Message, ...] = ()


class MissingVariable(InputError):
    """A row has no value for a variable of the prompt."""

    def __init__(self, variable: str, why: Sentence | str = "") -> None:
        why = why or _("this row has none")
        super().__init__(_("${variable}: {why}.", variable=variable, why=why))
        self.variable, self.why = variable, why


class PromptRenderer:
    """Fills in a prompt row by row; `labels` are those of the data set, where the prompt names none."""

    def __init__(self, prompt: Prompt, labels: Iterable[str] = ()) -> None:
        """Examples that many rows share are rendered only once."""
        self.prompt = prompt
        self._labels = {label: label for label in labels}
        self._examples: dict[tuple[str, tuple[int, ...]], str] = {}

    def __call__(self, case: Case, question: str | None = None) -> RenderedPrompt:
        """The prompt of a row; `question` replaces its own.

        Raises MissingVariable if the row has no value for a variable.
        """
        wording = self.prompt.wording(case)
        examples = self.prompt.examples_for(case.language)
        places = chosen_examples(examples, case)
        value = self._values(case, case.question if question is None else question, places)
        texts = wording.system, wording.user
        if not places or examples.turns:
            texts = without_examples(wording.system), without_examples(wording.user)
        system, user = (fill_in(text, value) for text in texts)
        return RenderedPrompt(
            system=system,
            user=user,
            choices=self.choices(case),
            history=tuple(
                Message(role=role, content=text)
                for place in (places if examples.turns else ())
                for role, text in zip(_ROLES, self.as_example(examples.rows[place], case), strict=True)
            ),
        )

    def check(self, case: Case) -> None:
        """Raises MissingVariable if a row has no value for a variable."""
        value = self._values(case, case.question, ())
        for name in required_variables(self.prompt.wording(case)):
            value(name)

    def choices(self, case: Case) -> tuple[str, ...]:
        """The letters or label texts that the answer to a row should be one of; empty for any answer."""
        if self.prompt.choosing == "letters":
            return tuple(letters(case))
        return tuple(self.labels(case).values()) if self.prompt.choosing == "labels" else ()

    def labels(self, case: Case) -> Mapping[str, str]:
        """Each label with its text: those of the file, else the row's choices, else the data set's labels."""
        return self.prompt.label_texts(case.language) or {each: each for each in case.choices} or self._labels

    def _values(
        self, case: Case, question: str, places: tuple[int, ...], answer: str | None = None
    ) -> Callable[[str], str]:
        """Looks up a variable of a row; `answer` is that of an example."""
        own, lists = row_variables(case, question), self._lists(case, places)

        def value(name: str) -> str:
            if name == "answer" and answer is not None:
                return answer
            if not is_fixed(name) and (text := column_value(case, name)) is not None:
                return text
            source = variable_source(name)
            value = own.get(source) or (lists[source]() if source in lists else "")
            if not value and source != "examples":
                raise MissingVariable(name)
            return value

        return value

    def _lists(self, case: Case, places: tuple[int, ...]) -> Mapping[str, Callable[[], str]]:
        wording = self.prompt.wording(case)
        return {
            "choices": lambda: _lines(
                wording.choice,
                ({"letter": a, "text": b} for a, b in zip(letters(case), case.choices, strict=True)),
            ),
            "letters": lambda: letters(case),
            "labels": lambda: _lines(
                wording.label, ({"label": key, "said": text} for key, text in self.labels(case).items())
            ),
            "contexts": lambda: _lines(wording.context, ({"text": each} for each in case.contexts), "\n\n"),
            "examples": lambda: self._text(case, places),
        }

    def _text(self, case: Case, places: tuple[int, ...]) -> str:
        """All examples as one text; rendered once for all rows with the same ones."""
        key = (self.prompt.language_for(case.language), places)
        if key not in self._examples:
            rows = self.prompt.examples_for(case.language).rows
            self._examples[key] = "\n\n".join(self.as_example(rows[place], case)[-1] for place in places)
        return self._examples[key]

    def as_example(self, example: Case, case: Case) -> tuple[str, ...]:
        """An example for a row, in the row's language: question and answer, or one text for both.

        Raises MissingVariable if the example has no value for a variable.
        """
        same = example.model_copy(update={"language": case.language})
        value = self._values(same, same.question, (), self.right(same))
        wording = self.prompt.wording(same)
        as_turns = self.prompt.examples_for(case.language).turns
        texts = (wording.user, wording.answer) if as_turns else (wording.example,)
        return tuple(fill_in(without_examples(text), value) for text in texts)

    def right(self, example: Case) -> str:
        """The right answer of an example as the model should write it; "" if the row has none."""
        if example.choices and {"choices", "letters"} & required_variables(self.prompt.wording(example)):
            return letter_of(example)
        if example.label is not None:
            return self.labels(example).get(example.label, example.label)
        return next(iter(example.references_at(1)), "") or example.answer or ""


def chosen_examples(examples: Examples, case: Case) -> tuple[int, ...]:
    """The places of the examples for a row, in order: the same for all rows, but never the row itself."""

    def is_row(example: Case) -> bool:
        """Whether an example is the row itself: the same question, and no column of both that differs."""
        shared = example.values.keys() & case.values.keys()
        return example.question == case.question and all(example.values[k] == case.values[k] for k in shared)

    order = _shuffled(examples.seed, len(examples.rows)) if examples.shots else ()
    others = (place for place in order if not is_row(examples.rows[place]))
    return tuple(sorted(islice(others, examples.shots)))


@lru_cache(maxsize=64)
def _shuffled(seed: int, number: int) -> tuple[int, ...]:
    return tuple(random.Random(seed).sample(range(number), number))  # noqa: S311 - a choice, not a secret


def letters(case: Case) -> str:
    """The letters of a row's choices: `ABCD` for four."""
    if len(case.choices) > len(LETTERS):
        raise MissingVariable(
            "letters",
            _(
                "{choices} choices; there are {letters} letters",
                choices=len(case.choices),
                letters=len(LETTERS),
            ),
        )
    return LETTERS[: len(case.choices)]


def letter_of(case: Case) -> str:
    """The letter of the right choice; "" if the label is neither a choice nor the letter of one."""
    label = (case.label or "").strip()
    if label in case.choices:
        return LETTERS[case.choices.index(label)]
    return label if label and label in letters(case) else ""


def _lines(line: str, items: Iterable[Mapping[str, str]], between: str = "\n") -> str:
    """One line for each item, which has its `number`, too."""
    return between.join(
        fill_in(line, {**item, "number": str(number)}.__getitem__) for number, item in enumerate(items, 1)
    )


class PromptedBot:
    """A bot that is asked with a prompt; it has the attributes of the bot, such as its traits."""

    def __init__(self, bot: Bot, prompt: Prompt, row: Lookup, labels: Iterable[str] = ()) -> None:
        """`row` finds the case of an id; `labels` are those of the data set, where the prompt names none.

        Raises InputError for examples as turns if the bot does not receive earlier turns.
        """
        self.bot, self.prompt, self.row = bot, prompt, row
        self._renderer = PromptRenderer(prompt, labels)
        self._takes = traits_of(bot).takes
        turns = any(examples.turns and examples.shots for examples in prompt.examples.values())
        if turns and HISTORY not in self._takes:
            msg = _(
                '{prompt}: the bot does not receive earlier turns: write as = "text" and $examples.',
                prompt=prompt.path,
            )
            raise InputError(msg)

    def __getattr__(self, name: str) -> Any:
        """The bot's own attributes."""
        return getattr(self.bot, name)

    async def __call__(self, query: Query) -> Any:
        """The bot's result for the row's prompt."""
        rendered = self._renderer(self.row(query.case), query.text)
        takes_system = SYSTEM in self._takes
        parts = (rendered.user,) if takes_system or not rendered.system else (rendered.system, rendered.user)
        changes = {
            "text": "\n\n".join(parts),
            "system": rendered.system if takes_system else "",
            "choices": rendered.choices,
            "history": (*rendered.history, *query.history),
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


def row_check(prompt: Prompt) -> RowCheck:
    """A check of what rows lack for a prompt."""
    renderer = PromptRenderer(prompt, ("-",))  # the labels are known only when all rows have been read

    def check(case: Case) -> Sentence | None:
        try:
            renderer.check(case)
        except MissingVariable as error:
            if is_fixed(error.variable):
                return _(
                    "the prompt {prompt} needs ${variable}; {why}.",
                    prompt=prompt.name,
                    variable=error.variable,
                    why=error.why,
                )
            return _(
                "the prompt {prompt} needs a column {column}; {why}.",
                prompt=prompt.name,
                column=quote(error.variable),
                why=error.why,
            )
        return None

    return check


def check_examples(prompt: Prompt) -> None:
    """Raises PromptError for an example without a value for a variable, or without a right answer."""
    renderer = PromptRenderer(prompt)
    for language in prompt.wordings:
        examples = prompt.examples_for(language)
        for example in examples.rows if examples.shots else ():
            row = example.model_copy(update={"language": language})
            where = f"{prompt.path}: [examples] row {example.id}"
            if not renderer.right(row):
                what = "references" if prompt.choosing == "nothing" else "label"
                raise PromptError(_("{where} has no {what} to show as its answer.", where=where, what=what))
            try:
                renderer.as_example(row, row)
            except MissingVariable as error:
                msg = _(
                    "{where} lacks ${variable}, which the example uses.", where=where, variable=error.variable
                )
                raise PromptError(msg) from None


class AppliedPrompt:
    """The prompt of a run, read before anything else so that an invalid one is reported at once."""

    def __init__(self, settings: Settings) -> None:
        """Raises PromptError for an invalid file."""
        self.settings = settings
        self.prompt = read_prompt(settings.prompt or "", settings.shots)
        check_examples(self.prompt)
        # What a row lacks for this prompt, as a text to follow its file and line; None if nothing.
        self.row_check = row_check(self.prompt)

    @property
    def files(self) -> tuple[Path, ...]:
        """The prompt's own file and those of its examples, except those of the shelf."""
        return tuple(path for path in files_of(self.prompt) if path.parent != shelves.PROMPTS)

    def around(self, bot: Bot, plan: Sequence[Conversation]) -> Bot:
        """The bot asked with this prompt; recorded answers are returned unchanged."""
        if self.settings.adapter == "recorded":
            return bot
        return PromptedBot(bot, self.prompt, case_lookup(plan), self._labels(plan))

    @property
    def title(self) -> str:
        """The prompt with its version: `reply 3`."""
        return f"{self.prompt.name} {self.prompt.version}"

    def fingerprints(self) -> dict[str, str]:
        """The hash of the prompt, for the run file."""
        return {f"prompt:{self.prompt.name}": self.prompt.hash}

    def versions(self) -> dict[str, str]:
        """The version that the prompt file states, for the run file."""
        return {f"prompt:{self.prompt.name}": self.prompt.version}

    def _labels(self, plan: Iterable[Conversation]) -> tuple[str, ...]:
        """The data set's labels; from the plan if the prompt needs them and --labels has none."""
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


def applied_prompt(settings: Settings) -> AppliedPrompt | None:
    """The prompt in the settings; None if rows are sent unchanged. Raises InputError outside `evaluate`."""
    if settings.prompt is None:
        return None
    if settings.protocol != "single_turn":
        raise InputError(_("prompt: only `evaluate` applies a prompt; simulated customers have their own."))
    return AppliedPrompt(settings)
