"""A prompt filled in for one row: what the model is sent as system text, as earlier turns and as question."""

import random
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from simulator.core.errors import InputError
from simulator.core.types import Case, Message, Value
from simulator.prompting.prompt import Examples, Prompt
from simulator.prompting.template import (
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


class Rendered(Value):
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


class Rendering:
    """Fills in a prompt row by row; `labels` are those of the data set, where the prompt names none."""

    def __init__(self, prompt: Prompt, labels: Iterable[str] = ()) -> None:
        """Makes what all rows are shown only once."""
        self.prompt = prompt
        self._labels = {label: label for label in labels}
        self._examples: dict[tuple[str, tuple[int, ...]], str] = {}

    def __call__(
        self, case: Case, question: str | None = None, earlier: Mapping[str, str] = _NOTHING
    ) -> Rendered:
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
        return Rendered(
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
