"""Prompts that are applied to each row of a data set when it is asked, and chains of them."""

import inspect
import random
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, Literal

from simulator.core.errors import InputError, PromptError
from simulator.core.types import Bot, Case, Conversation, Message, Query, Value, traits_of
from simulator.data.files import shown
from simulator.runner.conversation import called
from simulator.runner.prompt_file import (
    Examples,
    Prompt,
    column,
    fill,
    is_fixed,
    meaning,
    of_the_row,
    used_in,
    without_examples,
)

LETTERS = string.ascii_uppercase
_NOTHING: Mapping[str, str] = {}
_ROLES: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")


class RenderedPrompt(Value):
    """What is sent for a row; `choices` are the letters or labels that the answer is to be one of."""

    system: str
    user: str
    choices: tuple[str, ...] = ()
    history: tuple[Message, ...] = ()


class MissingVariable(InputError):
    """A row that has nothing for a variable of the prompt; `variable` is its name."""

    def __init__(self, variable: str, why: str = "this row has none") -> None:
        super().__init__(f"${variable}: {why}.")
        self.variable, self.why = variable, why


class PromptRenderer:
    """Fills in a prompt row by row; `labels` are those of the data set, where the prompt names none."""

    def __init__(self, prompt: Prompt, labels: Iterable[str] = ()) -> None:
        """Makes what all rows are shown only once."""
        self.prompt = prompt
        self._labels = {label: label for label in labels}
        self._examples: dict[tuple[str, tuple[int, ...]], str] = {}

    def __call__(
        self, case: Case, question: str | None = None, earlier: Mapping[str, str] = _NOTHING
    ) -> RenderedPrompt:
        """The row's prompt, its question as it was said; `earlier` are what links before it came to.

        Raises MissingVariable when the row has nothing for one of the variables.
        """
        wording = self.prompt.wording(case)
        shown = self.prompt.shown(case.language)
        places = chosen(shown, case)
        value = self._values(case, case.question if question is None else question, earlier, places)
        texts = wording.system, wording.user
        if not places or shown.turns:
            texts = without_examples(wording.system), without_examples(wording.user)
        system, user = (fill(text, value) for text in texts)
        return RenderedPrompt(
            system=system,
            user=user,
            choices=self.choices(case),
            history=self._turns(case, places) if shown.turns else (),
        )

    def check(self, case: Case, earlier: Mapping[str, str] = _NOTHING) -> None:
        """Raises MissingVariable when a row has nothing for one of the variables."""
        value = self._values(case, case.question, earlier, ())
        for name in self._asked_for(case):
            value(name)

    def _asked_for(self, case: Case) -> frozenset[str]:
        wording = self.prompt.wording(case)
        return used_in(wording.system) | used_in(wording.user)

    def choices(self, case: Case) -> tuple[str, ...]:
        """What the answer to a row is to be one of: letters, labels as they are said, or nothing given."""
        if self.prompt.choosing == "letters":
            return tuple(letters(case))
        return tuple(self.labels(case).values()) if self.prompt.choosing == "labels" else ()

    def labels(self, case: Case) -> Mapping[str, str]:
        """Each label with what is said for it: the file's, else the row's choices, else the data set's."""
        return self.prompt.said(case.language) or {each: each for each in case.choices} or self._labels

    def _values(
        self, case: Case, question: str, earlier: Mapping[str, str], places: tuple[int, ...]
    ) -> Callable[[str], str]:
        own, lists = of_the_row(case, question), self._lists(case, places)

        def value(name: str) -> str:
            if name in earlier:
                return earlier[name]
            if not is_fixed(name) and (text := column(case, name)) is not None:
                return text
            found = meaning(name)
            given = own.get(found) or (lists[found]() if found in lists else "")
            if not given and found != "examples":
                raise MissingVariable(name)
            return given

        return value

    def _lists(self, case: Case, places: tuple[int, ...]) -> Mapping[str, Callable[[], str]]:
        wording = self.prompt.wording(case)
        return {
            "choices": lambda: _lines(wording.choice, _lettered(case)),
            "letters": lambda: "".join(letters(case)),
            "labels": lambda: _lines(wording.label, _named(self.labels(case))),
            "contexts": lambda: _lines(wording.context, _numbered(case.contexts), "\n\n"),
            "examples": lambda: self._text(case, places),
        }

    def _text(self, case: Case, places: tuple[int, ...]) -> str:
        """All examples one below the other; made once for all rows that are shown the same ones."""
        key = (self.prompt.spoken(case.language), places)
        if key not in self._examples:
            rows = self.prompt.shown(case.language).rows
            told = [self.as_example(rows[place], case)[-1] for place in places]
            self._examples[key] = "\n\n".join(told)
        return self._examples[key]

    def _turns(self, case: Case, places: tuple[int, ...]) -> tuple[Message, ...]:
        rows = self.prompt.shown(case.language).rows
        return tuple(
            Message(role=role, content=text)
            for place in places
            for role, text in zip(_ROLES, self.as_example(rows[place], case), strict=True)
        )

    def as_example(self, example: Case, case: Case) -> tuple[str, ...]:
        """An example before a row, in the row's language: question and answer, or one text for both.

        Raises MissingVariable when the example has nothing for one of the variables.
        """
        same = example.model_copy(update={"language": case.language})
        value = self._values(same, same.question, {"answer": self.right(same)}, ())
        wording = self.prompt.wording(same)
        as_turns = self.prompt.shown(case.language).turns
        texts = (wording.user, wording.answer) if as_turns else (wording.example,)
        return tuple(fill(without_examples(text), value) for text in texts)

    def right(self, example: Case) -> str:
        """The right answer of an example, as the model should say it; "" when the row has none."""
        if example.choices and {"choices", "letters"} & self._asked_for(example):
            return letter_of(example)
        if example.label is not None:
            return self.labels(example).get(example.label, example.label)
        return next(iter(example.references_at(1)), "") or example.answer or ""


def chosen(examples: Examples, case: Case) -> tuple[int, ...]:
    """Which examples a row is shown, in their order: the same for all rows; the row itself gives way."""
    order = _drawn(examples.seed, len(examples.rows)) if examples.shots else ()
    others = (place for place in order if not _is_same(examples.rows[place], case))
    return tuple(sorted(place for _, place in zip(range(examples.shots), others, strict=False)))


def _is_same(example: Case, case: Case) -> bool:
    """Whether an example is the row itself: it asks the same, and no column that both have differs."""
    shared = example.values.keys() & case.values.keys()
    return example.question == case.question and all(example.values[k] == case.values[k] for k in shared)


@lru_cache(maxsize=64)
def _drawn(seed: int, number: int) -> tuple[int, ...]:
    return tuple(random.Random(seed).sample(range(number), number))  # noqa: S311 - a choice, not a secret


def letters(case: Case) -> str:
    """The letters of a row's choices: `ABCD` for four."""
    if len(case.choices) > len(LETTERS):
        raise MissingVariable("letters", f"{len(case.choices)} choices; there are {len(LETTERS)} letters")
    return LETTERS[: len(case.choices)]


def letter_of(case: Case) -> str:
    """The letter of the right choice; "" when the label is neither a choice nor a letter of one."""
    label = (case.label or "").strip()
    if label in case.choices:
        return LETTERS[case.choices.index(label)]
    return label if label and label in letters(case) else ""


def _lines(line: str, items: Iterable[Mapping[str, str]], between: str = "\n") -> str:
    return between.join(fill(line, item.__getitem__) for item in items)


def _lettered(case: Case) -> list[Mapping[str, str]]:
    return [
        {"letter": letter, "number": str(number), "text": text}
        for number, (letter, text) in enumerate(zip(letters(case), case.choices, strict=True), 1)
    ]


def _numbered(texts: Sequence[str]) -> list[Mapping[str, str]]:
    return [{"number": str(number), "text": text} for number, text in enumerate(texts, 1)]


def _named(labels: Mapping[str, str]) -> list[Mapping[str, str]]:
    return [
        {"label": label, "said": said, "number": str(n)} for n, (label, said) in enumerate(labels.items(), 1)
    ]


# What a bot may say of itself in its traits: that it is told of these parts of a query.
SYSTEM, HISTORY = "system", "history"
# The row of an id.
Lookup = Callable[[str], Case]


class PromptedBot:
    """A bot that is asked with a prompt. Has the bot's own traits and connections."""

    def __init__(self, bot: Bot, prompt: Prompt, row: Lookup, labels: Iterable[str] = ()) -> None:
        """`row` gives the case of an id; `labels` are all there are, where the prompt does not name them.

        Raises InputError for examples as turns where the bot is told of no earlier turns.
        """
        self.bot, self.prompt, self.row = bot, prompt, row
        self._rendering = PromptRenderer(prompt, labels)
        self._takes = traits_of(bot).takes
        turns = any(shown.turns and shown.shots for shown in prompt.examples.values())
        if turns and HISTORY not in self._takes:
            msg = f'{prompt.path}: the bot is told of no earlier turns: write as = "text" and $examples.'
            raise InputError(msg)

    def __getattr__(self, name: str) -> Any:
        """Whatever else the bot has."""
        return getattr(self.bot, name)

    async def __call__(self, query: Query) -> Any:
        """What the bot says to the row's prompt."""
        return await self.ask(query, {})

    async def ask(
        self, query: Query, earlier: Mapping[str, str], contexts: tuple[str, ...] | None = None
    ) -> Any:
        """The same, where the prompt may also use what links before it came to, and what they found."""
        case = self.row(query.case)
        if contexts is not None:
            case = case.model_copy(update={"contexts": contexts})
        rendered = self._rendering(case, query.text, earlier)
        return await called(self.bot, self._sent(query, rendered))

    async def aclose(self) -> None:
        """Closes the bot's connections, if it has any."""
        closed = getattr(self.bot, "aclose", lambda: None)()
        if inspect.isawaitable(closed):
            await closed

    def _sent(self, query: Query, rendered: RenderedPrompt) -> Query:
        apart = SYSTEM in self._takes
        parts = (rendered.user,) if apart or not rendered.system else (rendered.system, rendered.user)
        return query.model_copy(
            update={
                "text": "\n\n".join(parts),
                "system": rendered.system if apart else "",
                "choices": rendered.choices,
                "history": (*rendered.history, *query.history),
            }
        )


def rows_of(plan: Sequence[Conversation]) -> Lookup:
    """The rows of a plan by their ids; those of a large data set stay where they are."""
    large = getattr(plan, "cases", None)  # a data set that is read from its file again
    if large is not None:
        return large.of_id  # type: ignore[no-any-return]
    places: dict[str, int] = {}

    def row(key: str) -> Case:
        if not places:
            places.update((conversation.case.id, at) for at, conversation in enumerate(plan))
        return plan[places[key]].case

    return row


# A row in, what it lacks out, in words that follow its file and line; None when it lacks nothing.
Lacks = Callable[[Case], str | None]


def lacks(prompt: Prompt, links: AbstractSet[str] = frozenset()) -> Lacks:
    """What rows lack for a prompt; `links` are those asked before it, whose outcomes nobody knows yet."""
    rendering = PromptRenderer(prompt, ("-",))  # which labels there are is known when all rows have been read
    earlier = Earlier(links)

    def told(case: Case) -> str | None:
        try:
            rendering.check(case, earlier)
        except MissingVariable as error:
            what = f"${error.variable}" if is_fixed(error.variable) else f"a column {shown(error.variable)}"
            return f"the prompt {prompt.name} needs {what}; {error.why}."
        return None

    return told


def check_examples(prompt: Prompt) -> None:
    """Raises PromptError for an example that lacks something, or has no right answer to show."""
    rendering = PromptRenderer(prompt)
    for language in prompt.wordings:
        shown_here = prompt.shown(language)
        for example in shown_here.rows if shown_here.shots else ():
            asked = example.model_copy(update={"language": language})
            where = f"{prompt.path}: [examples] row {example.id}"
            if not rendering.right(asked):
                what = "references" if prompt.choosing == "nothing" else "label"
                msg = f"{where} has no {what} to show as its answer."
                raise PromptError(msg)
            try:
                rendering.as_example(asked, asked)
            except MissingVariable as error:
                msg = f"{where} lacks ${error.variable}, which the example uses."
                raise PromptError(msg) from None


class Earlier(Mapping[str, str]):
    """Stands for what links before one come to: any variable with the name of one of them."""

    def __init__(self, links: AbstractSet[str]) -> None:
        """`links` by their names."""
        self.links = links

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        found = name == "contexts" and bool(self.links)  # one of them may be a search
        return found or any(name == link or name.startswith(f"{link}_") for link in self.links)

    def __getitem__(self, name: str) -> str:
        if name in self:
            return "-"
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.links)

    def __len__(self) -> int:
        return len(self.links)
