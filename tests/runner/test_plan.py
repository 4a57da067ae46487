"""Who asks what is settled before anything is played, and does not depend on how much is played."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simulator.cases.cases import read_cases
from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.types import Case
from simulator.runner.plan import BUNDLED, USUAL_PERSONAS, Plan, read_plan


def ids(**settings: Any) -> list[str]:
    """The planned conversations."""
    plan, *_ = read_plan(Settings(**settings))
    return [conversation.id for conversation in plan]


def questions(folder: Path, *rows: str) -> str:
    """A question file with these rows."""
    path = folder / "questions.csv"
    path.write_text("\n".join(["id,question", *rows]), encoding="utf-8")
    return str(path)


def test_each_question_draws_its_persona() -> None:
    """Without --persona one of the usual three asks each question; all three get their share."""
    plan, personas, *_ = read_plan(Settings())
    drawn = Counter(conversation.persona for conversation in plan)

    assert len(plan) == len({conversation.id for conversation in plan}) == len(read_cases(BUNDLED[0]))
    assert set(drawn) == set(USUAL_PERSONAS) == {persona.id for persona in personas}
    assert min(drawn.values()) >= len(plan) / 6


def test_a_question_keeps_its_persona_among_other_questions(tmp_path: Path) -> None:
    """Neither a limit nor another order changes who asks it."""
    rows = [f"q{n},Question {n}?" for n in range(12)]
    whole = ids(cases=questions(tmp_path, *rows))

    assert ids(cases=questions(tmp_path, *rows), limit=5) == whole[:5]
    assert ids(cases=questions(tmp_path, *rows[::-1])) == whole[::-1]


def test_named_personas_ask_every_question() -> None:
    """Each persona with each question, question by question; `all` is the whole shelf, wherever it stands."""
    assert ids(persona=("calm", "angry"), limit=2) == [
        "calm/fees-01-en#1", "angry/fees-01-en#1", "calm/fees-02-en#1", "angry/fees-02-en#1",
    ]  # fmt: skip
    everyone = [f"{name}/fees-01-en#1" for name in shelves.customers()]
    assert ids(persona=("all",), limit=1) == everyone
    assert ids(persona=("angry", "all"), limit=1) == everyone


def test_a_plan_is_a_sequence() -> None:
    """By question, then persona, repeat and model; from either end, and in parts."""
    cases = [Case(id=key, question="?", language="en") for key in ("a", "b")]
    plan = Plan(cases, ["angry", "calm"], 2, models=["m", "n"])

    assert [talk.id for talk in plan[:5]] == [
        "angry@m/a#1", "angry@n/a#1", "angry@m/a#2", "angry@n/a#2", "calm@m/a#1",
    ]  # fmt: skip
    assert (len(plan), plan[-1].id, plan[8].id) == (16, "calm@n/b#2", "angry@m/b#1")
    assert (plan[-1].repeat, plan[-1].persona, plan[-1].user_model) == (2, "calm", "n")
    assert [talk.id for talk in plan[15:3:-6]] == ["calm@n/b#2", "angry@n/b#1"]
    with pytest.raises(IndexError):
        plan[16]
    often = Plan(cases * 50, ["angry", "calm"], seed=1, frequencies=[1, 0])
    assert {talk.persona for talk in often} == {"angry"}


def test_several_models_play_no_recorded_customers(tmp_path: Path) -> None:
    """Nobody plays the lines of a log."""
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"question": "How much?", "answer": "5 yen.", "contexts": ["5 yen."]}\n', encoding="utf-8"
    )
    settings = Settings(cases=str(path), adapter="recorded", user_model=("a", "b"))

    with pytest.raises(
        InputError, match="--user-model a, b: name one here; several can only play the customers"
    ):
        read_plan(settings)
    assert len(read_plan(settings.model_copy(update={"user_model": ("a",)})).plan) == 1


def test_rows_that_cannot_be_used_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    """Three of them; the report lists the others."""
    path = tmp_path / "rows.jsonl"
    for wrong, ends in ((3, "line 4"), (4, "  and 1 more; the report lists them.")):
        good = '{"question": "How much?", "references": ["5 yen"], "answer": "5 yen."}\n'
        bad = '{"question": "How much?", "references": ["5 yen"], "history": 5}\n'
        path.write_text(good + bad * wrong, encoding="utf-8")
        rows = Settings(cases=str(path), adapter="recorded", protocol="single_turn")
        said = [str(message) for message in read_plan(rows).messages()]

        assert f"{wrong} of {wrong + 1} rows left out:" in said
        assert ends in said[-1]
        assert len([line for line in said if line.startswith("  ")]) == wrong


@pytest.mark.parametrize(
    ("row", "adapter", "line"),
    [
        ('"answer": "5 yen"', "bot.py:answer", "--columns references=answer"),
        ('"answer": "5 yen", "reference": "5 yen"', "bot.py:answer", ""),
        ('"choices": ["4", "5"], "key": 1', "bot.py:answer", "no column says which choice is right"),
        ('"choices": ["4", "5"], "label": 1', "bot.py:answer", "the bot is sent no choices"),
        ('"choices": ["4", "5"], "label": 1, "answer": "B"', "recorded", ""),
        ('"label": "fee"}\n{"question": "?", "label": "x"', "bot.py:answer", ""),
        ('"label": "fee"}\n{"question": "?", "label": "x"', "openai_chat", "the bot is sent no labels"),
    ],
)
def test_what_the_bot_is_not_shown_and_what_is_not_compared_is_said(
    tmp_path: Path, row: str, adapter: str, line: str
) -> None:
    """Silently the grades of such a run would say nothing of the bot."""
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"question": "How much?", {row}}}', encoding="utf-8")
    rows = Settings(cases=str(path), adapter=adapter, protocol="single_turn")
    said = [str(message) for message in read_plan(rows).messages()]

    assert [line in text for text in said if "--columns" in text or "--prompt" in text] == [True] * bool(line)


def test_a_bot_of_ones_own_without_questions_is_asked_those_of_the_demo_and_it_is_said(
    tmp_path: Path,
) -> None:
    """They are about a telecom company: silently they would cost calls and say nothing of the bot."""

    def told(**settings: Any) -> str:
        return "\n".join(map(str, read_plan(Settings(limit=1, persona=("calm",), **settings)).messages()))

    assert "The demo's questions are asked" in told(adapter="bot.py:answer")
    assert not told()
    assert not told(adapter="bot.py:answer", cases=questions(tmp_path, "a,What does it cost?"))


def test_a_persona_of_ones_own_joins_the_shelf(tmp_path: Path) -> None:
    """`all` and a file of the user's own together are both; the same name twice is refused."""
    text = (shelves.PERSONAS / "calm.toml").read_text(encoding="utf-8")
    for name in ("mine", "angry"):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")

    assert ids(persona=("all", "./mine.toml"), limit=1)[-1] == "mine/fees-01-en#1"
    with pytest.raises(InputError, match="--persona names two called 'angry': rename the file of one"):
        ids(persona=("angry", "./angry.toml"))


@pytest.mark.parametrize(
    ("locale", "language"),
    [("ja_JP.UTF-8", "ja"), ("en_GB.UTF-8", "en"), ("de_DE.UTF-8", "en"), ("C.UTF-8", "en"), ("", "en")],
)
def test_the_bundled_questions_are_in_the_language_of_the_terminal(
    locale: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That stands in the settings of the run; --language wins."""
    monkeypatch.setenv("LC_ALL", locale)
    plan, _personas, settings, *_ = read_plan(Settings(limit=2))
    told, *_ = read_plan(Settings(limit=2, language="ja"))

    assert {conversation.case.language for conversation in plan} == {settings.language} == {language}
    assert {conversation.case.language for conversation in told} == {"ja"}


def test_a_file_of_ones_own_is_played_in_its_languages(tmp_path: Path) -> None:
    """Each question in its own; --language tells the language where no column does, else it selects."""
    path = questions(tmp_path, "a,いくらですか", "b,How much is it?")
    mixed, *_ = read_plan(Settings(cases=path))
    told, *_ = read_plan(Settings(cases=path, language="en"))

    assert [conversation.case.language for conversation in mixed] == ["ja", "en"]
    assert {conversation.case.language for conversation in told} == {"en"}
    Path(path).write_text("id,question,language\na,How much?,en\n", encoding="utf-8")
    with pytest.raises(InputError, match="none of the 1 rows is in 'ja': leave out --language"):
        ids(cases=path, language="ja")
