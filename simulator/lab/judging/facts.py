"""Facts: whether the passages hold the amounts, dates, times, numbers and addresses of an answer."""

import re
from pathlib import Path

from pydantic import JsonValue

from simulator.extending import GradingContext, Score, Texts
from simulator.text.figures import differing, figures
from simulator.text.typography import nfkc

SCALE = (0, 1)
TEXTS = Texts(Path(__file__).with_name("_facts.toml"))
_ADDRESS = re.compile(
    r"https?://[\w\-.~:/?#@$&'*+=%]{1,300}|[\w.+\-]{1,64}@[\w\-]{1,64}(?:\.[\w\-]{1,64}){1,4}", re.ASCII
)


def facts(context: GradingContext, contacts: tuple[str, ...] = ()) -> Score:
    """The share (0..1) of the answer's checkable details that its passages or the contact list hold.

    Spelling does not matter (1万円 is 10,000 yen, 午後6時 is 18:00), and what the customer said is not
    invented. Sums and other derived figures are not found: a miss means that somebody should look. No model
    is asked.
    """
    answer, language = context.turn.answer, context.case.language
    checked: list[tuple[str, str]] = [(figure.text, figure.kind) for figure in figures(answer.text)]
    checked += [(address, "address") for address in _addresses(answer.text)]
    if not answer.shows_passages and not answer.passages:
        return Score(state="skipped", reason=TEXTS(language, "no_passages"))
    if not checked:
        return Score(state="skipped", reason=TEXTS(language, "nothing"))
    places = []
    for passage in answer.passages:  # with its web address, which an answer may cite
        addresses = (place for place in (passage.source or "", passage.id) if "://" in place)
        places.append((passage.id, "\n".join((passage.text, *addresses))))
    # All that the customer has said up to this turn, as meant and as typed.
    turns = (*context.earlier, context.turn)
    said = [context.case.question, *(line.content for line in context.case.history if line.role == "user")]
    said += [*(turn.user for turn in turns), *context.case.details]
    places += [("contacts", "\n".join(contacts)), ("customer", "\n".join(said))]
    absent = [(place, _absent(answer.text, text)) for place, text in places]
    rows: list[dict[str, JsonValue]] = []
    for text, kind in checked:
        where = next((place for place, texts in absent if text not in texts), "")
        # Figures are in lower case.
        written = re.search(re.escape(text), nfkc(answer.text), re.IGNORECASE)
        quote = written[0] if written else text
        rows.append({"text": quote, "kind": kind, "found": bool(where), "where": where})
    missing = [str(row["text"]) for row in rows if not row["found"]]
    share = 1 - len(missing) / len(rows)
    key = "all_found" if not missing else "missing" if answer.passages else "nothing_retrieved"
    items = TEXTS(language, "joint").join(missing)
    return Score(
        state="scored",
        value=share,
        raw=share,
        severity="major" if missing else None,
        reason=TEXTS(language, key, items=items, count=str(len(rows))),
        detail={"facts": rows},
    )


def _absent(answer: str, text: str) -> set[str]:
    """The details of an answer that a text lacks."""
    addresses = set(_addresses(answer).values()) - set(_addresses(text).values())
    lacking = {address for address, plain in _addresses(answer).items() if plain in addresses}
    return lacking.union(figure.text for figure in differing(answer, [text]))


def _addresses(text: str) -> dict[str, str]:
    """Web and mail addresses as written, each with the spelling that is compared."""
    written = (match[0].rstrip(".:?*'~_-&=#$+@") for match in _ADDRESS.finditer(nfkc(text)))
    return {address: (address.partition("://")[2].rstrip("/") or address).lower() for address in written}
