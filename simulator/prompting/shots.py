"""The examples of a prompt: rows of a data set, or rows written in the prompt file itself."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue

from simulator.core.errors import InputError, PromptError
from simulator.core.types import Case, Language, Value
from simulator.data.cases import case_of, numbered
from simulator.data.datasets import DatasetRequest, read_dataset
from simulator.data.values import Row


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
