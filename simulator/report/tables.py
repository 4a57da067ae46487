"""What several reports say in the same words: tables of a run, amounts of money, grades, answers, marks."""

import json
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from simulator.core.document import Cell, Table, Text, excerpt, points
from simulator.core.messages import Message, _, pgettext, safe_text
from simulator.core.settings import dollars
from simulator.core.titles import Titles, title
from simulator.core.types import Case, Results, Score, Severity, Spending, Turn
from simulator.results.figures import JudgeSummary, Mean, RedTurn, Summary, failure_reason, rounded
from simulator.results.rows import Key, Mark

# The judge that reads how the customer feels, from -2 (angry) to 2 (glad). It is no part of the score.
FEELING = "tone"
# So many rows of a list are shown; all are in --json.
LISTED = 50
# The gravest first, as everywhere.
SEVERITIES: dict[Severity, Message] = {
    "major": pgettext("how grave", "Serious"),
    "moderate": pgettext("how grave", "Moderate"),
    "minor": pgettext("how grave", "Minor"),
}


_FEELINGS = {
    -2: _("angry"),
    -1: _("discontent"),
    0: pgettext("of a feeling", "neutral"),
    1: _("relieved"),
    2: _("glad"),
}


def feeling_text(feeling: float) -> Message:
    """How a customer feels, in a word."""
    return _FEELINGS[max(-2, min(2, round(feeling)))]


def personas_table(summary: Summary, titles: Titles) -> Table:
    """Mean of every judge for every persona, then for all of them.

    A row: name, score (graded / planned conversations), red turns / turns, then a mean for each judge (graded
    / planned turns): "Angry customer", "72" (2/2), "3 / 5", "68" (5/5, red below 70). The score is over
    conversations, the judges' means over turns, so the two can differ where talks are of different length.
    """
    scores, limit = summary.scores, summary.red.rules.overall
    # How a customer feels is no fault of the bot's by itself.
    limits = {judge: None if judge.partition("@")[0] == FEELING else limit for judge in scores.active}
    rows = [
        [
            Cell(text=titles("persona", persona.persona)),
            mean_cell(Mean(mean=persona.score, n=persona.graded, planned=persona.conversations), limit),
            Cell(text=f"{persona.red:,} / {persona.turns:,}", number=persona.red),
            *(mean_cell(persona.judges[judge], limits[judge]) for judge in scores.active),
        ]
        for persona in scores.personas
    ]
    # Of rows there are no personas, and each is a turn.
    planned = sum(persona.conversations for persona in scores.personas) or summary.turns
    everyone = [
        Cell(text=_("All"), tone="strong"),
        mean_cell(Mean(mean=scores.score, n=scores.graded, planned=planned), limit),
        Cell(text=f"{summary.red.count:,} / {summary.turns:,}", number=summary.red.count),
        *(mean_cell(scores.judges[judge], limits[judge]) for judge in scores.active),
    ]
    columns = (
        _("Customer"),
        _("Score"),
        _("To review"),
        *(title("judge", name) for name in scores.active),
    )
    return Table.of("personas", columns, [*rows, everyone], shaded=True)


def mean_cell(mean: Mean | JudgeSummary, limit: float | None) -> Cell:
    """A mean with its coverage as the note; red below the limit."""
    low = mean.mean is not None and limit is not None and mean.mean < limit
    text, note = points(mean.mean, against=limit), f"{mean.n}/{mean.planned}" if mean.planned else ""
    return Cell(text=text, number=mean.mean, red=low, note=note, shade=mean.mean)


def spending_table(
    name: str, who: Text, spending: Iterable[tuple[Text, Spending]], title: Text = ""
) -> Table:
    """Calls, tokens and money of each of `who`; calls answered from the cache stand apart.

    Cost in USD; "unknown" where no price of a model is known, "at least" where that is so of a part.
    """

    def cost(spent: Spending) -> Cell:
        # Never 0 for what is not known: somebody pays it.
        text: Text = _("unknown") if spent.cost_usd is None else dollars(spent.cost_usd)
        if spent.cost_usd is None and spent.known_usd:
            text = _("at least {amount}", amount=dollars(spent.known_usd))
        return Cell(text=text, number=spent.cost_usd)

    columns = (who, _("Calls"), _("Cached"), _("Tokens in"), _("Tokens out"), _("Cost (USD)"))
    rows = (
        (model, spent.calls, spent.cached, spent.tokens_in, spent.tokens_out, cost(spent))
        for model, spent in spending
    )
    return Table.of(name, columns, rows, title)


def spent_by(summary: Summary) -> Iterator[tuple[Text, Spending]]:
    """The spending of each model in each role, or of the role alone where its models are not known."""
    for role, spent in summary.money.spending.items():
        name = title("role", role)
        for model, model_spent in summary.money.usage.get(role, {"": spent}).items():
            yield _("{role} ({model})", role=name, model=safe_text(model)) if model else name, model_spent


def grade_text(score: Score) -> Text:
    """A grade as people read it: '4 / 5', a share as '85 %', a feeling as '+1'; or why there is none."""
    if score.state != "scored" or score.raw is None:
        return _("not graded") if score.state == "failed" else _("skipped")
    low, high = score.scale
    if (low, high) == (0, 1):
        return _("{n} %", n=f"{100 * score.raw:.0f}")
    return signed(score.raw) if low < 0 else f"{round(score.raw, 1):g} / {high:g}"


def mark_text(red: RedTurn) -> Message:
    """The marks of a turn in words, and that it is disputed: never by colour alone."""
    marks = list(map(_mark_title, red.marks))
    if red.is_disputed:
        return _("△ Disputed: {marks}", marks=marks)
    if red.dispute:
        return _("▲ {marks} (disputed last time)", marks=marks)
    return _("▲ {marks}", marks=marks)


def _mark_title(mark: Mark) -> Text:
    """What is low: the verdict on the whole, or the grade of the judge that decides in its place."""
    return (
        _("Low grade ({judge})", judge=title("judge", mark.judge)) if mark.judge else title("mark", mark.kind)
    )


def turn_text(persona: str, case: str, turn: int, titles: Titles) -> Message:
    """Which turn it is: customer, case, number (from 1); of a row only the case.

    "Angry customer · cancel-03-en · answer 1". The wording "rows" leaves out all but the case.
    """
    named = titles("persona", persona)
    return _("{persona} · {case} · answer {turn}", persona=named, case=case, turn=turn)


def answer_text(turn: Turn, failure: str | None) -> Text:
    """What the bot said, or that it said nothing and why."""
    if turn.unrecorded:
        return _("(no answer in the log)")
    return safe_text(turn.answer.text) if turn.answer.text.strip() else failure_text(failure)


def failure_text(failure: str | None) -> Text:
    """That the bot gave no answer, and why; empty where it did."""
    return _("(no answer: {kind})", kind=title("failure", failure)) if failure else ""


def why(red: RedTurn, turn: Turn) -> Text:
    """The judge's reason for the gravest mark; for a turn without an answer, what went wrong."""
    if red.failure is None:
        return red.reason
    return failure_reason(turn)


def anchors_of(results: Results, turns: Iterable[Key]) -> dict[Key, str]:
    """Where the page of a run has these turns (conversation, number).

    ("angry/cancel-03-en#1", 1) -> "c2-t1": the second conversation of the plan. Other pages and --json link
    to these, so they stay the same when the page is drawn anew, however many conversations it shows.
    """
    numbers = {key: number for number, key in enumerate(results.conversations.ids, 1)}
    return {(id_, turn): f"{anchor(numbers[id_])}-t{turn}" for id_, turn in turns}


def anchor(number: int) -> str:
    """Where a page has the conversation with this number in the plan; ids are untrusted."""
    return f"c{number}"


def expected_text(case: Case) -> str:
    """What a right answer to a row would be: its label, or its references; empty where it has neither."""
    return safe_text(case.label or " | ".join(case.references_at(1)))


def details_text(case: Case) -> Message:
    """What the program made up for a customer whose case has no facts."""
    joint = "、" if case.language == "ja" else "; "
    return _("Invented for this customer: {details}", details=safe_text(joint.join(case.details)))


def right_answers(case: Case, turn: int) -> tuple[Text, ...]:
    """What a right answer to a turn would be, in as many wordings as there are; empty where nobody knows.

    Unless their lines are scripted, customers are after the answer to their first question in every turn.
    """
    # With a script each turn asks something else, and the first reference would be a wrong answer to it.
    references = case.references_at(turn) or (() if case.script else case.references_at(1))
    if case.label or references:
        return (case.label,) if case.label else references
    # That is known of the first question alone.
    is_declined = case.answerable is False and turn == 1
    return (_("Say that it is not in the material"),) if is_declined else ()


def expected_at(case: Case, turn: int, length: int) -> Text:
    """What a right answer to a turn would be, in at most so many characters; empty where nobody knows."""
    text = next(iter(right_answers(case, turn)), "")
    if isinstance(text, str):
        text = safe_text(excerpt(text, length))
    return _("Reference answer: {text}", text=text) if text else ""


def ending(how: str) -> Text:
    """How a conversation ended, or that it is still going on."""
    return title("ended", how) if how else _("not finished")


def setting_text(value: JsonValue) -> str:
    """A string as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def signed(value: float | None, places: int = 1) -> str:
    """`+1`, `−0.5`, `0`, with a minus that is as wide as a plus; "–" for None.

    Zeros at the end go, and what rounds to nothing has no sign: 12.34 -> "+12.3", -0.04 -> "0".
    """
    if value is None:
        return "–"
    text = f"{value:+.{places}f}".replace("-", "−")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if text.strip("+−0") else "0"


def signed_points(difference: float | None) -> str:
    """A difference (0..1) on the scale to 100 with its sign: '+9.2', '−3', '±0'."""
    text = signed(None if difference is None else 100 * difference)
    return "±0" if text == "0" else text


def with_error(value: float | None, error: float | None = None) -> str:
    """`0.9579 ± 0.0069`, to four decimals; a dash for None."""
    return "–" if value is None else f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.4f}"


def figure_cell(value: float | None, error: float | None = None) -> Cell:
    """A figure with its standard error, as text; the number behind it is rounded like those of --json."""
    return Cell(text=with_error(value, error), number=rounded(value))
