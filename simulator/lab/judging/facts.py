"""Facts: whether the passages hold the amounts, dates, times, numbers and addresses of an answer."""

from pathlib import Path
from typing import Any

from simulator.extending import GradingContext, Score, Texts
from simulator.lab.judging.entities import Specific, located, specifics_of

SCALE = (0, 1)
TEXTS = Texts(Path(__file__).with_name("_facts.toml"))


def facts(context: GradingContext, contacts: tuple[str, ...] = ()) -> Score:
    """The share (0..1) of the answer's checkable details that its passages or the contact list hold.

    Spelling does not matter (1万円 is 10,000 yen, 午後6時 is 18:00), and what the customer said is not
    invented. Sums and other derived figures are not found: a miss means that somebody should look. No model
    is asked.
    """
    answer, language = context.turn.answer, context.case.language
    checked = list(dict.fromkeys(specifics_of(answer.text)))
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
    rows = [_row(specific, places) for specific in checked]
    missing = list(dict.fromkeys(row["text"] for row in rows if not row["found"]))
    share = sum(row["found"] for row in rows) / len(rows)
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


def _row(specific: Specific, places: list[tuple[str, str]]) -> dict[str, Any]:
    place = located(specific, [text for _, text in places])
    where = "" if place is None else places[place][0]
    return {"text": specific.text, "kind": specific.kind, "found": place is not None, "where": where}
