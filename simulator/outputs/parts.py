"""What is graded of one row: each output of its answer beside the same output of its references."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from simulator.core.types import GradingContext
from simulator.outputs.metric_file import DEFAULT, Metric, Outputs
from simulator.outputs.splitting import Object, object_within, output_text, text_at, whole_object
from simulator.text.normalise import plain_form

Missing = Literal["", "json", "key"]


class Part(NamedTuple):
    """One output of a row; `missing` says what the answer lacks: the key, or any JSON at all."""

    output: str
    metrics: tuple[Metric, ...]
    answer: str
    references: tuple[str, ...]
    missing: Missing = ""


class Parts(NamedTuple):
    """All outputs of a row, and the keys of its answer that nobody asked for."""

    parts: tuple[Part, ...]
    extra: tuple[str, ...] = ()


def parts_of(outputs: Outputs, exhibit: GradingContext) -> Parts:
    """The outputs that the references have; without any reference, those that the file names.

    References that are no JSON objects make the whole answer one output, `default`.
    """
    objects = [found for text in exhibit.references if (found := whole_object(text)) is not None]
    if objects:
        return _by_reference(outputs, exhibit, objects)
    named = [name for name in outputs.named if name != DEFAULT]
    if not exhibit.references and named:
        return _split(exhibit, [(name, outputs.metrics(name), ()) for name in named], {})
    references = tuple(map(output_text, exhibit.references))
    whole = Part(DEFAULT, outputs.default, output_text(exhibit.turn.answer.text), references)
    return Parts((whole,) if whole.metrics else ())


Wanted = tuple[str, tuple[Metric, ...], tuple[str, ...]]


def _by_reference(outputs: Outputs, exhibit: GradingContext, objects: Sequence[Object]) -> Parts:
    wanted: list[Wanted] = []
    for name in output_names(outputs, objects[0]):
        right = [text for found in objects if (text := text_at(found, name)) is not None]
        wanted.append((name, outputs.metrics(name), tuple(dict.fromkeys(right))))
    return _split(exhibit, wanted, {key: None for found in objects for key in found})


def output_names(outputs: Outputs, reference: Object) -> list[str]:
    """The outputs that a reference has and the file has judges for.

    Where the file names what is inside a value (`address.city`), the value itself is no output.
    """
    inside = [
        name for name in outputs.named if name not in reference and text_at(reference, name) is not None
    ]
    opened = {name.partition(".")[0] for name in inside}
    plain = [name for name in reference if name not in opened and outputs.metrics(name)]
    return [*plain, *inside]


def _split(exhibit: GradingContext, wanted: Iterable[Wanted], known: Iterable[str]) -> Parts:
    """Each wanted output with its text in the answer, or what of it is missing."""
    wanted, answer = list(wanted), exhibit.turn.answer
    names = [name for name, _, _ in wanted]
    known = {*known, *(name.partition(".")[0] for name in names), *names}
    found = None if answer.error else object_within(answer.text, known)
    parts = []
    for name, metrics, references in wanted:
        text = None if found is None else text_at(found, name)
        missing: Missing = "" if text is not None or answer.error else "json" if found is None else "key"
        parts.append(Part(name, metrics, text or "", references, missing))
    return Parts(tuple(parts), tuple(key for key in found or () if key not in known))


def exhibit_of(part: Part, exhibit: GradingContext) -> GradingContext:
    """What is put before the judges of one output: its text as the answer, its references as the case's."""
    turn, case = exhibit.turn, exhibit.case
    answer = turn.answer if turn.answer.error else turn.answer.model_copy(update={"text": part.answer})
    references = ((),) * (turn.index - 1) + (part.references,)
    return exhibit.model_copy(
        update={
            "turn": turn.model_copy(update={"answer": answer}),
            "case": case.model_copy(update={"references": references}),
        }
    )


def is_reference(part: Part) -> bool:
    """Whether an output's text is one of its references after normalisation."""
    given = "" if part.missing else plain_form(part.answer)
    return bool(given) and any(plain_form(text) == given for text in part.references)
