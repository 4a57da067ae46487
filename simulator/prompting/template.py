"""The text of a prompt: `string.Template`, where `${...}` may be any column's name."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from string import Template

from simulator.core.errors import PromptError
from simulator.core.types import Case
from simulator.data.values import field_of, normalised

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
