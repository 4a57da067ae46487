"""What a run file keeps of its cross-examination: paid for once, shown as often as asked for."""

import json
from collections.abc import Iterable

from pydantic import TypeAdapter, ValidationError

from simulator.core.errors import RunFileError
from simulator.core.types import Results
from simulator.examination.crossing import Examined, Target
from simulator.storage.run_file import RunFile

NOTE = "cross_examination"
_LIST = TypeAdapter(tuple[Examined, ...])


def examined_of(results: Results) -> tuple[Examined, ...]:
    """The turns that have been examined, in the order of the run; raises RunFileError for a foreign note."""
    try:
        found = _LIST.validate_python(results.notes.get(NOTE, []))
    except ValidationError:
        msg = "the cross-examination in this run file is of another version: cross-examine RUN --again."
        raise RunFileError(msg) from None
    order = {talk.id: place for place, talk in enumerate(results.conversations)}
    return tuple(sorted(found, key=lambda each: (order.get(each.conversation, -1), each.turn)))


class Keeping:
    """Writes each examined turn to the run file as soon as it is whole."""

    def __init__(self, file: RunFile, known: Iterable[Examined] = ()) -> None:
        """`known` is what was examined before."""
        self.file = file
        self.known = {(each.conversation, each.turn): each for each in known}

    def __call__(self, examined: Examined) -> None:
        """Keeps one turn, in place of what was kept of it."""
        self.known[examined.conversation, examined.turn] = examined
        body = [each.model_dump(mode="json") for each in self.known.values()]
        self.file.noted(NOTE, json.dumps(body, ensure_ascii=False))


def still_open(targets: Iterable[Target], known: Iterable[Examined]) -> list[Target]:
    """The turns of these that nobody has examined yet."""
    done = {(each.conversation, each.turn) for each in known}
    return [target for target in targets if target.key not in done]
