"""Amazon Lex V2: conversation logs, one record a line of the customer."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    Turn,
    decoded,
    get,
    objects,
    passages_in,
    seconds,
    text_of,
)

NAME = "Amazon Lex"


def matches(record: Any) -> bool:
    """A record of the log, alone or as CloudWatch exports it."""
    return "inputTranscript" in _record(record)


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The records by session, in time order."""
    talks: dict[str, list[dict[str, Any]]] = {}
    for each in map(_record, records):
        if str(each.get("inputTranscript") or "").strip():
            talks.setdefault(str(each.get("sessionId") or ""), []).append(each)
        else:
            skipped.note(_("records without a line of the customer"))
    for id_, its in talks.items():
        its.sort(key=lambda each: seconds(each.get("timestamp")) or 0.0)
        turns = [
            Turn(
                str(each["inputTranscript"]),
                "\n".join(filter(None, map(text_of, objects(each.get("messages"))))),
                _found(each),
            )
            for each in its
        ]
        tags = (
            ["missedUtterance"]
            if any(str(each.get("missedUtterance")).lower() == "true" for each in its)
            else []
        )
        yield Talk(id_, turns, language=str(get(its[0], "bot.localeId") or ""), tags=tags)


def _record(record: Any) -> dict[str, Any]:
    inner = decoded(record.get("message") or record.get("@message"))
    return inner if isinstance(inner, dict) and "inputTranscript" in inner else record


def _found(record: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    items = objects(get(record, "kendraResponse.resultItems") or get(record, "kendraResponse.ResultItems"))
    texts = (
        (
            str(each.get("id") or each.get("Id") or at),
            each.get("documentExcerpt") or each.get("DocumentExcerpt"),
        )
        for at, each in enumerate(items, 1)
    )
    return tuple(
        (id_, text)
        for id_, excerpt in texts
        if (
            text := text_of(excerpt.get("Text") or excerpt) if isinstance(excerpt, dict) else text_of(excerpt)
        )
    ) or passages_in(record.get("passages"))
