"""The 2 x 2 tables: answerable and answered, handover required and handed over, by the turn judge."""

from pathlib import Path

import pytest

from simulator.core.document import Block, Line
from simulator.core.target import Condition
from simulator.core.types import (
    Answer,
    Case,
    Conversation,
    Failure,
    Handover,
    Language,
    RedRules,
    Response,
    Results,
    Score,
    Turn,
)
from simulator.report.sections import answerable_section
from simulator.results.answerability import answerability, handovers, unjudged_reason
from simulator.results.conditions import check_condition, measure_condition
from simulator.results.rows import RunTurns
from simulator.results.turns import run_turns
from tests.commands import Command
from tests.sample_runs import rehearsed, summed
from tests.texts import said

ANSWER, PARTLY, REFUSAL, ASKS, HANDS, NOISE = (
    "answered", "partly", "declined", "asked_back", "handed_over", "nothing",
)  # fmt: skip
UNJUDGED = "unjudged"


def talk(*did: str, answerable: bool | None = True, handover: Handover = "optional") -> Conversation:
    """A conversation in which the bot does this; an empty text is a failure."""
    case = Case(id="one", question="月いくらですか", language="ja", answerable=answerable, handover=handover)
    failed = Failure(kind="timeout", message="60 s")
    turns = tuple(
        Turn(index=n, user="月いくらですか", answer=Answer(text=text, error=None if text else failed))
        for n, text in enumerate(did, 1)
    )
    return Conversation(id="", case=case, persona="angry", turns=turns)


def run(*conversations: Conversation, judge: str = "turn") -> RunTurns:
    """The turns of a run of these conversations."""
    return run_turns(judged(*conversations, judge=judge), RedRules(), "turn")


def judged(*conversations: Conversation, judge: str = "turn") -> Results:
    """A run of these conversations, whose answers are judged by what they are called."""
    held = [each.model_copy(update={"id": f"angry/one#{n}"}) for n, each in enumerate(conversations, 1)]
    scores = [
        Score(
            judge=judge, conversation=each.id, turn=turn.index, state="failed" if unjudged else "skipped",
            response=None if unjudged else _response(text),
        )
        for each in held
        for turn in each.turns
        if (text := turn.answer.text)
        for unjudged in [text == UNJUDGED]
    ]  # fmt: skip
    return rehearsed().model_copy(update={"conversations": tuple(held), "scores": tuple(scores)})


def words(block: Block, language: Language = "en") -> str:
    """What a line of a report says."""
    assert isinstance(block, Line)
    return said(block.text, language)


def _response(text: str) -> Response:
    return Score.model_validate({"state": "skipped", "response": text}).response or "nothing"


def test_each_conversation_has_one_place_by_its_first_turn() -> None:
    """Answers, refusals, questions back and failures are told apart, for both kinds of cases."""
    found = answerability(
        run(
            talk(ANSWER), talk(ANSWER, REFUSAL), talk(REFUSAL), talk(ASKS), talk(""),
            talk(ANSWER, answerable=False), talk(REFUSAL, answerable=False), talk(ASKS, answerable=False),
            talk(ANSWER, answerable=None), talk(), talk(PARTLY), talk(NOISE, answerable=False),
            talk(HANDS), talk(UNJUDGED, ANSWER),
        )
    )  # fmt: skip

    assert (
        found.counts["answered_answerable"],
        found.counts["refused_answerable"],
        found.counts["clarified_answerable"],
    ) == (3, 2, 1)
    assert (found.counts["answered_unanswerable"], found.counts["refused_unanswerable"]) == (1, 1)
    assert (
        found.counts["clarified_unanswerable"],
        found.counts["not_answered"],
        found.counts["unmarked"],
    ) == (1, 2, 1)
    shown = found.as_json()
    rates = [shown[name]["rate"] for name in ("answered_correctly", "refused_correctly")]
    assert (found.marked, rates) == (12, [0.6, 0.5])


def test_what_a_log_does_not_tell_is_nobodys_fault() -> None:
    """The bot said something, which the log has not."""
    talked = talk("")
    error = Failure(kind="unrecorded", message="not in the log")
    turn = talked.turns[0].model_copy(update={"answer": Answer(text="", error=error)})
    counts = answerability(run(talked, talked.model_copy(update={"turns": (turn,)}))).counts

    assert (counts["not_answered"], counts["unmarked"]) == (1, 1)


def test_handovers_count_in_any_turn() -> None:
    """A required handover may come late, an unwanted one is one whenever it comes."""
    found = handovers(
        run(
            talk(HANDS, handover="required"), talk(ANSWER, HANDS, handover="required"),
            talk(ANSWER, handover="required"), talk(ANSWER, HANDS, handover="forbidden"),
            talk(ANSWER, handover="forbidden"), talk(HANDS), talk("", handover="required"),
            talk(UNJUDGED, HANDS, handover="required"), talk(UNJUDGED, ANSWER, handover="required"),
        )
    )  # fmt: skip

    assert found.counts == {
        "handed_required": 3, "kept_required": 1, "handed_forbidden": 1, "kept_forbidden": 1,
        "not_answered": 1, "unjudged": 1, "unmarked": 1,
    }  # fmt: skip
    shown = found.as_json()
    assert (shown["handed_correctly"]["rate"], shown["kept_correctly"]["rate"]) == (0.75, 0.5)
    # One of ten is 10 %, and the interval is Wilson's: 1.8 to 40.4 %.
    ten = [talk(ANSWER, answerable=False)] * 9 + [talk(REFUSAL, answerable=False)]
    shown = answerability(run(*ten)).as_json()

    assert shown["refused_correctly"] == {"rate": 0.1, "interval": [0.0179, 0.4042]}
    assert shown["answered_correctly"] == {"rate": None, "interval": None}


def test_reports_show_only_what_is_marked() -> None:
    """Nothing is shown of an unmarked run, and no row of what no case asks for."""
    marked = run(talk(REFUSAL, answerable=False), talk(HANDS, handover="required"))

    section = answerable_section(marked)
    assert section
    [table] = section.tables

    assert answerable_section(run(talk(ANSWER, answerable=None))) is None
    assert [[said(cell.text) for cell in row] for row in table.rows] == [
        ["Can be answered", "0 % (0 of 1)"],
        ["Cannot be answered", "100 % (1 of 1)"],
        ["Handover required", "100 % (1 of 1)"],
    ]
    assert said(section.title, "ja") == "断ったかどうか"


def test_the_gate_counts_a_handover_where_it_belongs() -> None:
    """Handing over what had to be, and keeping what may not be handed over: two of these four."""
    talks = [talk(text, handover=each) for text in (HANDS, ANSWER) for each in ("required", "forbidden")]
    results, condition = judged(*talks), Condition(name="handover_correctly", comparison=">=", threshold=0.5)

    assert measure_condition(condition, results, summed(results, ("turn",))).value == 0.5


def test_where_the_judge_of_turns_was_not_asked_nothing_is_counted_and_reports_say_so() -> None:
    """Instead of a table of nothing; where it failed for one, the table stands with a note."""
    marked = talk(UNJUDGED, answerable=False), talk(UNJUDGED, handover="required")
    skipped, failed, one = map(
        answerable_section,
        (run(*marked, judge="em"), run(*marked), run(marked[0], talk(REFUSAL, answerable=False))),
    )
    assert skipped
    assert failed
    assert one
    [line] = skipped.blocks

    assert "--judges" in words(line)
    assert "採点役 turn" in words(line, "ja")
    assert list(map(words, failed.blocks)) == ["Not judged, because the judge turn failed: 2."]
    assert words(one.blocks[-1]) == "Not judged, because the judge turn failed: 1."
    assert len(one.tables) == 1
    assert unjudged_reason(0, run(talk(ANSWER))) is None


@pytest.mark.parametrize("name", ["answered_correctly", "refused_correctly", "handover_correctly"])
def test_a_gate_on_it_is_undecided_and_says_why(name: str) -> None:
    """Never passed for want of a judge, nor missed."""
    talks = [talk(UNJUDGED, answerable=at % 2 == 0, handover="required") for at in range(12)]
    results = judged(*talks, judge="em")
    condition = Condition(name=name, comparison=">=", threshold=0.5)
    found = measure_condition(condition, results, summed(results, ("em",)))
    checked = check_condition(condition, found, None)

    assert (found.value, checked.decision, checked.lack) == (None, "undecided", "missing")


def test_a_run_without_the_judge_of_turns_says_so_everywhere(command: Command) -> None:
    """In the terminal, on the page and in the JSON; a gate on it gives its reason once and is not passed."""
    some = ("--offline", "--limit", "6", "--judges", "em", "--turns", "1")
    told = "which was not asked. Name it in --judges."
    done = command(*some)
    page = next(Path("runs").rglob("report.html")).read_text(encoding="utf-8")
    body = command(*some, "--json").json
    gated = command(*some, "--target", "refused_correctly >= 0.5")

    assert told in " ".join(done.out.split())
    assert told in page
    assert told in body["answerability"]["why"]
    assert body["answerability"]["unjudged"] == body["answerability"]["marked"] == 6
    assert body["answerability"]["refused_correctly"]["rate"] is None
    assert gated.code == 1
    assert " ".join(gated.out.split()).count(told) == 1
    assert "why" not in command(*some[:3], "--turns", "1", "--json").json["answerability"]


def test_grades_that_failed_leave_it_undecided() -> None:
    """As many as are tolerated do not."""
    condition = Condition(name="answered_correctly", comparison=">=", threshold=0.5)

    def decision(unjudged: int) -> tuple[str, str]:
        kinds = [UNJUDGED] * unjudged + [ANSWER] * (100 - unjudged)
        own = judged(*map(talk, kinds))
        cases = [
            c.model_copy(update={"case": c.case.model_copy(update={"id": c.id})}) for c in own.conversations
        ]
        results = own.model_copy(update={"conversations": tuple(cases)})
        found = measure_condition(condition, results, summed(results, ("turn",)))
        checked = check_condition(condition, found, None)
        return checked.decision, checked.lack

    assert decision(0) == decision(5) == ("passed", "")
    assert decision(6) == decision(100) == ("undecided", "missing")
