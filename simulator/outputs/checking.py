"""Whether the references of a data set fit the metric file: looked at before anything is asked."""

import json
from collections.abc import Iterable

from simulator.core.errors import CaseFileError
from simulator.core.types import Case
from simulator.data.files import shown
from simulator.outputs.metric_file import DEFAULT, Outputs
from simulator.outputs.parts import output_names
from simulator.outputs.splitting import text_at, unfenced, whole_object

_LISTED = 8


class ReferenceCheck:
    """Looks at one row after the other, and remembers which outputs there are."""

    def __init__(self, file: Outputs) -> None:
        """No row yet."""
        self.file = file
        self._keys: dict[str, None] = {}
        self._found: set[str] = set()

    def __call__(self, case: Case) -> str | None:
        """What is wrong with the references of a row; None if nothing is."""
        texts = case.references_at(1)
        objects = [whole_object(text) for text in texts]
        for text, found in zip(texts, objects, strict=True):
            if found is None and (problem := json_problem(text)):
                return problem
        if any(found is None for found in objects) and any(found is not None for found in objects):
            return "of its references some are JSON objects and some are not; write all of them in one form."
        return self._outputs(case, [found for found in objects if found is not None])

    def _outputs(self, case: Case, objects: list[dict[str, object]]) -> str | None:
        named = [name for name in self.file.named if name != DEFAULT]
        for found in objects:
            self._keys |= dict.fromkeys(found)
            self._found |= {name for name in named if text_at(found, name) is not None}
        if objects and not output_names(self.file, objects[0]):
            return f"its reference has none of the outputs that {self.file.path} names ({_listed(named)})."
        if not objects and case.references_at(1) and not self.file.default:
            return f'its reference is no JSON object; {self.file.path} has no "{DEFAULT}" for plain texts.'
        return None

    def done(self) -> None:
        """Raises CaseFileError for an output that the file names and no reference has."""
        for name, line in self.file.lines.items():
            if self._keys and name != DEFAULT and name not in self._found:
                what = f"no reference has the output {shown(name)}; they have: {_listed(self._keys)}."
                msg = f"{self.file.path}, line {line}: {what}"
                raise CaseFileError(msg)


def json_problem(text: str) -> str | None:
    """What is wrong with a reference that begins like a JSON object and is none."""
    bare = unfenced(text).strip()
    if not bare.startswith("{"):
        return None
    try:
        json.loads(bare)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, character {error.colno} of it"
        return f"its reference begins like a JSON object and is none ({error.msg}, {where})."
    except (ValueError, RecursionError):
        return "its reference begins like a JSON object and is none (nested too deeply)."
    return None


def most_unnamed(file: Outputs, cases: Iterable[Case]) -> int:
    """How many outputs of one row are judged by `default`, at most: what a forecast counts with."""
    found = (whole_object(text) for case in cases for text in case.references_at(1)[:1])
    counts = (sum(name not in file.named for name in output_names(file, each)) for each in found if each)
    return max(counts, default=1)


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return ", ".join(map(shown, every[:_LISTED])) + more
