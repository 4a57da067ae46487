"""No target is reached by accident: gravely wrong answers, no evidence, nobody to judge."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.roles import endpoints
from simulator.core.settings import Settings
from simulator.core.types import Case
from simulator.report.gate import reasons
from simulator.results.gate import Gate
from simulator.results.turns import has_evidence
from simulator.storage.run_file import run_ids
from tests.commands import Command
from tests.diff_runs import Grades, a_result, grades_of, measured, stored
from tests.texts import said

CONTRADICTING = (
    ("How much is delivery?", "Delivery costs 900 yen.", "Delivery costs 550 yen anywhere in Japan."),
    ("Within how many days can I return a shirt?", "You can return a shirt within 60 days.",
     "Unused items can be returned within 14 days of delivery."),
    ("When does the shop open?", "The shop opens at 7:00.", "The shop opens at 10:00 and closes at 19:00."),
    ("送料はいくらですか", "送料は900円です。", "送料は全国一律550円です。"),
    ("返品は何日以内ですか", "返品は60日以内なら可能です。",
     "未使用の商品は、お届けから14日以内なら返品できます。"),
    ("営業は何時からですか", "営業は7時からです。", "営業時間は10時から19時までです。"),
)  # fmt: skip


def log(*, contexts: bool = True) -> str:
    """Six logged answers, three in each language, that contradict their contexts."""
    rows = [
        {"question": question, "answer": answer, **({"contexts": [context]} if contexts else {})}
        for question, answer, context in CONTRADICTING
    ]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    Path("logs.jsonl").write_text(text, encoding="utf-8")
    return "logs.jsonl"


def gated(grades: Sequence[float] | Grades, **settings: Any) -> Gate:
    """The gate of a run whose questions were graded like this."""
    known = grades if isinstance(grades, Mapping) else grades_of(grades)
    return measured(a_result(known, judges=("turn",), **settings))[1]


@pytest.mark.parametrize("judges", [(), ("--judges", "groundedness")])
def test_answers_against_their_passages_miss_the_target(judges: tuple[str, ...], command: Command) -> None:
    """`turn` is held against the passages, and so is groundedness where that decides."""
    done = command("evaluate", log(), "--target", "80", "--offline", "--json", *judges)
    shown = done.json

    assert done.code == 1
    assert next(iter(shown["judges"])) == ("groundedness" if judges else "turn")
    assert shown["score"] < 0.6
    assert (shown["decision"], shown["red"]) == ("missed", 6)


def test_a_share_at_the_limit_passes() -> None:
    """One grave answer of five questions is the usual limit; two of nine are more."""
    assert gated([0.2, 1, 1, 1, 1], target=0.5).passed is True
    over = gated([0.2] * 2 + [1] * 7, target=0.5)

    assert (over.passed, over.decision) == (False, "missed")
    assert said(reasons(over)[0]) == "22.2 % of the questions have a serious error (20 % allowed)"
    # A question counts once, however many turns and customers: one bad one in six is 17 %.
    grades: dict[tuple[str, str, int], list[float]] = {
        (f"case-{case}", persona, 1): [0.2, 0.2, 0.2] if case == 0 else [1.0]
        for case in range(6)
        for persona in ("angry", "calm", "beginner")
    }
    assert gated(grades, target=0.5).passed is True


@pytest.mark.parametrize(
    ("settings", "passed"),
    [
        ({"target": 0.5}, True),
        ({"target": 0.5, "max_major": 0.1}, False),
        ({"target": 0.5, "max_major": 0.0}, False),
        ({"target": "score >= 0.5"}, True),
        ({"target": "score >= 0.5", "max_major": 0.1}, False),
        ({"target": 0.5, "confidence": 0.9}, False),
        ({"target": 0.5, "confidence": 0.9, "max_major": 0.2}, False),
        ({"target": 0.5, "confidence": 0.9, "max_major": 0.4}, True),
    ],
)
def test_the_limit_goes_with_every_target(settings: dict[str, Any], passed: bool) -> None:
    """A number or an expression; with a certainty none may be grave, unless it is said how many."""
    three_in_twenty = gated([0.2] * 3 + [1.0] * 17, **settings)

    assert three_in_twenty.passed is passed
    assert ("serious error" in " ".join(map(said, reasons(three_in_twenty)))) is not passed


def test_recorded_answers_without_evidence_are_not_graded_for_a_target(command: Command) -> None:
    """Nothing is begun: the deciding judge would see an answer and nothing to hold it against."""
    arguments = ("evaluate", log(contexts=False), "--adapter", "recorded", "--offline", "--target", "80")
    done = command(*arguments)

    assert done.code == 2
    assert "has nothing to hold the answers of logs.jsonl against" in done.err
    assert run_ids(Path("runs")) == []
    assert command(*arguments, "--judges", "fluency").code != 2
    assert command(*arguments, "--adapter", "demo", "--dry-run").code == 0


def test_a_bot_that_shows_nothing_reaches_no_target(command: Command) -> None:
    """Where only its answers tell that there is no evidence, the run says so in the end."""
    Path("bot.py").write_text("def answer(question):\n    return 'Yes, it is.'\n", encoding="utf-8")
    Path("q.csv").write_text("question\nIs it open?\nIs it far?\n", encoding="utf-8")
    arguments = ("--adapter", "bot.py:answer", "--cases", "q.csv", "--turns", "1", "--persona", "calm")
    done = command(*arguments, "--offline", "--json", "--target", "10")

    assert (done.code, done.json["passed"]) == (2, False)
    assert "nothing to hold the answers against" in " ".join(done.json["reasons"])
    assert command(*arguments, "--offline", "--json").code == 0


@pytest.mark.parametrize("words", [(), ("evaluate", "logs.jsonl")])
def test_a_target_without_anybody_to_judge_is_an_error(words: tuple[str, ...], command: Command) -> None:
    """One line that names both ways out, before a run begins."""
    log()
    done = command(*words, "--target", "10", "--limit", "1")

    assert done.code == 2
    assert "OPENAI_API_KEY" in done.error
    assert "--offline" in done.error
    assert run_ids(Path("runs")) == []


def test_stand_ins_that_were_asked_for_decide(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the environment as well as in the settings file."""
    arguments = ("evaluate", log(), "--target", "10", "--limit", "1")
    monkeypatch.setenv("REHEARSAL_OFFLINE", "true")
    assert command(*arguments).code in (0, 1)
    monkeypatch.delenv("REHEARSAL_OFFLINE")
    Path("rehearsal.toml").write_text("offline = true\n", encoding="utf-8")
    assert command(*arguments).code in (0, 1)


def test_a_target_that_no_model_decides_needs_none(command: Command) -> None:
    """Recorded answers held against labels: there is nobody whom a stand-in could play."""
    Path("q.csv").write_text(
        "question,answer,reference\n" + "".join(f"{name}?,yes,yes\n" for name in "ABCDE"), encoding="utf-8"
    )
    recorded = ("evaluate", "q.csv", "--adapter", "recorded")
    done = command(*recorded, "--judges", "exact_match", "--target", "50", "--json")

    assert (done.code, done.json["passed"]) == (0, True)


@pytest.mark.parametrize("role", ["user", "judge", "embed", "demo"])
def test_a_model_that_is_named_has_to_be_there(role: str, command: Command) -> None:
    """By a flag, the environment or settings: no stand-in takes its part unsaid."""
    settings = Settings.model_validate({f"{role}_model": "gpt-x"})
    with pytest.raises(InputError, match=f"--{role}-model gpt-x: neither a key nor an endpoint"):
        endpoints(settings, {})
    with pytest.raises(InputError, match=f"--{role}-model gpt-x"):
        endpoints(Settings(), {f"REHEARSAL_{role.upper()}_MODEL": "gpt-x"})
    assert endpoints(settings.model_copy(update={"offline": True}), {})["judge"] is None
    assert endpoints(Settings.model_validate({f"{role}_model": "lexical"}), {})["judge"] is None
    assert endpoints(settings, {"OPENAI_BASE_URL": "http://localhost:1/v1"})["judge"] is not None
    Path("rehearsal.toml").write_text(f'{role}_model = "gpt-x"\n', encoding="utf-8")
    done = command("--limit", "1")
    assert done.code == 2
    assert f"--{role}-model gpt-x" in done.err


def test_more_judges_decide_no_target_by_stand_ins(command: Command) -> None:
    """A run that is graded again for a target needs a model, or stand-ins that were asked for."""
    stored(a_result(grades_of([1.0] * 3), "1-run", target=0.5))
    arguments = ("grade", "1-run", "--judges", "fluency", "--target", "50")
    done = command(*arguments)

    assert done.code == 2
    assert "simple scoring (no AI) would decide" in done.err
    assert command(*arguments, "--offline").code in (0, 1)


def test_what_is_known_of_a_case_is_evidence() -> None:
    """A reference, a label, a fact, that nothing answers it, or that a person has to."""
    told: list[dict[str, Any]] = [
        {"references": ["990 yen"]}, {"label": "fees"}, {"facts": {"knows": ["x"]}}, {"answerable": False},
        {"handover": "required"}, {"answerable": True}, {},
    ]  # fmt: skip
    case = {"id": "c", "question": "q", "language": "en"}
    found = [has_evidence(Case.model_validate(case | known)) for known in told]

    assert found == [True] * 5 + [False] * 2
