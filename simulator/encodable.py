"""Text as files, requests and reports can hold it."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


def encodable(value: Any) -> Any:
    """A text, or the texts within mappings and sequences, with lone surrogates and NULs shown as U+FFFD.

    What a bot or a model says can hold them; no file, request or report can.
    """
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        if value.isascii() and "\0" not in value:
            return value
        # By way of UTF-16, so that the two halves of one character find each other.
        whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole.replace("\0", "\ufffd")
    if isinstance(value, (dict, Mapping)):  # a dict is seen at once, other mappings by a slow look
        return {encodable(key): encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encodable(item) for item in value]
    return value


def checked(kind: type[Model], value: BaseModel) -> Model:
    """What others made, checked once more, as a value that can be stored whatever it says."""
    try:
        body = value.model_dump_json(warnings=False)
        if "\\u0000" not in body:  # as nearly always, and far cheaper than to look at every text
            return kind.model_validate_json(body)
    except ValueError:
        pass
    return kind.model_validate(encodable(value.model_dump(warnings=False)))
