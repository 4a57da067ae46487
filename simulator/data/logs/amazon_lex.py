"""Amazon Lex: conversation logs, one record a line of the customer."""

import re
from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    Turn,
    decoded,
    get,
    grouped,
    in_time,
    objects,
    passages_in,
    seconds,
    text_of,
)

NAME = "Amazon Lex"


def matches(record: Any) -> bool:
    """A record of the log."""
    return "inputTranscript" in record


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The records by session, in time order."""
    for id_, its in grouped(records, lambda each: each.get("sessionId") or each.get("userId")):
        said = [each for each in its if str(each.get("inputTranscript") or "").strip()]
        if len(said) < len(its):
            skipped.note(_("records without a line of the customer"), len(its) - len(said))
        turns = [
            Turn(str(each["inputTranscript"]), _answer(each), _found(each))
            for each in in_time(said, lambda each: seconds(each.get("timestamp")))
        ]
        missed = any(str(each.get("missedUtterance")).lower() == "true" for each in said)
        language = next((get(each, "bot.localeId") for each in said), None)
        yield Talk(id_, turns, language=language, tags=["missedUtterance"] if missed else [])


def _answer(record: dict[str, Any]) -> str:
    texts = []
    for each in objects(decoded(record.get("messages"))):
        text = text_of(each)
        texts.append(re.sub(r"<[^<>]*>", "", text) if each.get("contentType") == "SSML" else text)
    return "\n".join(filter(None, texts)) or text_of(record.get("botResponse"))


def _found(record: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """What a search in Kendra gave; its interface writes names with a capital."""
    items = [
        {key[:1].lower() + key[1:]: value for key, value in each.items()}
        for path in ("kendraResponse.resultItems", "kendraResponse.ResultItems")
        for each in objects(get(record, path))
    ]
    texts = ((each.get("id"), each.get("documentExcerpt")) for each in items)
    found = [(id_, text_of(get(it, "Text") or it)) for id_, it in texts]
    kept = tuple((str(id_ or at), text) for at, (id_, text) in enumerate(found, 1) if text)
    return kept or passages_in(record.get("passages"))
