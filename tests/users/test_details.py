"""Customers whose questions come without facts know who they are: invented details, the same by the seed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simulator.core import shelves
from simulator.core.errors import PromptError
from simulator.core.types import Answer, Case, Facts, Language, Turn
from simulator.privacy.redactor import Redactor
from simulator.users import details
from simulator.users.details import asked_details, detailed, details_file, invented_values
from simulator.users.offline import PhraseUser
from tests.commands import Command
from tests.servers.openai import OpenAIServer
from tests.servers.replies import text_of

CASES = """id,question,language,reference,facts
late,My parcel has not arrived,en,It comes within three days.,
hours,What are your opening hours?,en,From 9 to 6.,
own,Where is order 88412?,en,It comes tomorrow.,The order number is 88412.
遅れ,注文した荷物が届きません,ja,三日以内に届きます。,
"""
BOT = """
def answer(question):
    return "May I have your order number?" if question.isascii() else "ご注文番号を教えていただけますか？"
"""


@pytest.fixture
def asking_back(tmp_path: Path) -> None:
    """A desk that only asks for an order number, and questions without facts."""
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    (tmp_path / "cases.csv").write_text(CASES, encoding="utf-8")


RUN = ("--adapter", "bot.py:answer", "--cases", "cases.csv", "--persona", "calm", "--turns", "3", "--json")


def a_case(question: str, language: Language = "en", **fields: Any) -> Case:
    return Case(id="q", question=question, language=language, **fields)


@pytest.mark.usefixtures("asking_back")
def test_a_desk_that_asks_back_gets_an_answer(command: Command) -> None:
    """Who has a parcel on the way names its order number, in both languages."""
    run = command(*RUN, "--offline").run
    by_case = {talk.case.id: talk for talk in run.conversations}

    for case in ("late", "遅れ"):
        number = next(filter(None, (re.search(r"000-0\d+", text) for text in by_case[case].case.details)))
        assert number[0] in by_case[case].turns[1].user
    assert not any("order number" in text for text in by_case["hours"].case.details)
    assert by_case["hours"].case.details
    assert by_case["own"].case.details == ()


@pytest.mark.usefixtures("asking_back")
def test_the_same_seed_and_a_resumed_run_give_the_same_details(command: Command) -> None:
    """Another seed draws others; what is stored with a conversation stays when its run goes on."""

    def drawn(*options: str) -> dict[str, tuple[str, ...]]:
        return {talk.id: talk.case.details for talk in command(*RUN, *options).run.conversations}

    first = drawn("--offline")

    assert drawn("--offline") == first
    assert drawn("--offline", "--resume", "latest") == first
    assert any(drawn("--offline", "--seed", str(seed)) != first for seed in (8, 9))


@pytest.mark.usefixtures("asking_back")
def test_models_that_play_and_judge_are_given_them_and_the_page_says_that_they_are_invented(
    command: Command, server: OpenAIServer, tmp_path: Path
) -> None:
    """The customer's prompt has them from the first line it writes; a judge's from turn 2 on, as true."""
    done = command(*RUN, "--language", "en", "--persona", "calm")
    late = next(talk for talk in done.run.conversations if talk.case.id == "late")
    page = next((tmp_path / "runs").glob("*/report.html")).read_text(encoding="utf-8")
    asked = [_text(request.body) for request in server.requests if "chat" in request.path]
    customer = [text for text in asked if late.case.details[0] in text and "You know:" in text]
    judges = [text for text in asked if late.case.details[0] in text and "About this customer" in text]

    assert customer
    assert judges
    assert all("Conversation so far" in text or "whole conversation" in text for text in judges)
    assert f"Invented for this customer: {'; '.join(late.case.details)}" in page


@pytest.mark.usefixtures("asking_back")
def test_what_was_invented_survives_masking(command: Command, server: OpenAIServer) -> None:
    """A customer says the number, with or without --redact."""
    server.reply = _says_all_of_it(server.reply)
    for options in ((), ("--redact",)):
        done = command(*RUN, *options, "--language", "en")
        lines = [turn.user for talk in done.run.conversations for turn in talk.turns]

        assert any("000-0" in line for line in lines)
        assert not any("[" in line for line in lines if "order number" in line and "88412" not in line)


def _text(body: Any) -> str:
    return "\n".join(text_of(message) for message in body["messages"])


def _says_all_of_it(play: Any) -> Any:
    """A customer model that says what it knows."""

    def reply(body: Any) -> Any:
        known = re.search(r"You know: (.*)", _text(body))
        if known is None:
            return play(body)
        facts = [fact for fact in known[1].split(" / ") if "number is 000" in fact]
        line = {"why": "asked", "got": "asked_back", "feeling": 0, "next": "stay"}
        return json.dumps(line | {"message": f"Well, {facts[0] if facts else 'no'}."})

    return reply


def test_details_fit_the_case_and_the_persona() -> None:
    """What the question says already is not said again, nor what the persona or the case calls unknown."""
    calm, elderly = shelves.persona("calm"), shelves.persona("elderly")
    app = a_case("I cannot log in to the app")
    never = calm.model_copy(update={"discloses": "never"})
    no_numbers = calm.model_copy(update={"en": calm.en.model_copy(update={"unknown": ("Order numbers",)})})

    assert any(
        text in ("my phone is an iPhone 15", "my phone is a Pixel 8", "my phone is a Galaxy S23")
        for text in _of(app, "calm")
    )
    assert "my phone is an old Galaxy that the family chose" in detailed(app, elderly, 7).details
    assert not any("phone is" in text for text in _of(a_case("The app on my iPhone shows an error"), "calm"))
    assert detailed(app, never, 7).details == ()
    assert detailed(app, shelves.persona("attackers"), 7).details == ()
    late = a_case("My parcel has not arrived")
    assert any("order number" in text for text in detailed(late, calm, 7).details)
    assert not any("order number" in text for text in detailed(late, no_numbers, 7).details)
    unknown = late.model_copy(update={"facts": Facts(unknown=("my order number",))})
    assert not any("order number" in text for text in detailed(unknown, calm, 7).details)


def _of(case: Case, persona: str) -> tuple[str, ...]:
    return detailed(case, shelves.persona(persona), 7).details


@pytest.mark.parametrize(
    ("language", "answer", "asked"),
    [
        ("en", "Could you tell me your order number?", ["my order number is 000-0012"]),
        ("en", "Please provide your order number.", ["my order number is 000-0012"]),
        ("en", "You find the order number in your account.", []),
        ("ja", "ご注文番号を教えてください。", ["注文番号は000-0012です"]),
        ("ja", "注文番号はマイページに載っています。", []),
    ],
)
async def test_offline_customers_tell_what_they_are_asked_for(
    language: Language, answer: str, asked: list[str]
) -> None:
    """A request without a question mark counts, too; a statement that names the thing asks for nothing."""
    question = "My parcel has not arrived" if language == "en" else "荷物が届きません"
    case = a_case(question, language, details=("注文番号は000-0012です", "my order number is 000-0012"))
    turns = (Turn(index=1, user=question, answer=Answer(text=answer)),)
    line = await PhraseUser(shelves.persona("calm"), 1)(case, turns)

    assert asked_details(case, answer) == asked
    assert ("000-0012" in line.text) == bool(asked)


def test_no_value_of_the_file_is_masked_or_could_be_a_person_s() -> None:
    """Numbers begin with 000, addresses are of example domains; masking leaves them, and finds others."""
    redactor = Redactor(public=[*invented_values()])
    for text in invented_values():
        assert redactor.redact(text, "ja").text == redactor.redact(text, "en").text == text
        assert all(number.startswith("000") for number in re.findall(r"\d[\d-]{3,}", text))
        assert "@" not in text or "@example.com" in text
    assert "090" not in redactor.redact("電話番号は090-1234-5678です", "ja").text
    rows = details_file()
    assert all(row.asked for row in (*rows.ja, *rows.en))


def test_a_broken_file_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row without values is named with its place."""
    path = tmp_path / "_details.toml"
    monkeypatch.setattr(details, "FILE", path)
    path.write_text('ja = []\n[requests]\nja = "x"\nen = "x"\n[[en]]\nasked = "x"\n', encoding="utf-8")
    details_file.cache_clear()
    with pytest.raises(PromptError, match=re.escape("en.0.says")):
        details_file()
    details_file.cache_clear()


UNFIT = """id,question,personas
open,When do you open?,
young,Is there a student discount?,
mine,Who are you?,"angry, calm"
theirs,How long is the waiting time?,!calm
wide,How far is the next shop?,！ calm
"""


def test_customers_ask_what_fits_them(command: Command, tmp_path: Path) -> None:
    """A persona's `not_for` and a case's `personas` are respected, by lot and by name, and said."""
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    (tmp_path / "cases.csv").write_text(UNFIT, encoding="utf-8")
    (tmp_path / "mix.toml").write_text(
        '[[customers]]\npersona = "elderly"\nfrequency = 9\n[[customers]]\npersona = "calm"\nfrequency = 1\n',
        encoding="utf-8",
    )
    run = ("--adapter", "bot.py:answer", "--cases", "cases.csv", "--offline", "--turns", "1")
    named = command(*run, "--persona", "elderly", "--persona", "calm")
    all_of_them = named.run
    by_lot = command(*run, "--persona", "mix.toml")

    assert {talk.id for talk in all_of_them.conversations} == {
        *(
            "elderly/open#1",
            "calm/open#1",
            "calm/young#1",
            "calm/mine#1",
            "elderly/theirs#1",
            "elderly/wide#1",
        )
    }
    pairs = "elderly/young, elderly/mine, calm/theirs and 1 more"
    assert f"Not asked, because the question does not fit the customer: {pairs}." in named.err
    assert "Not asked" not in by_lot.err
    assert {talk.case.id: talk.persona for talk in by_lot.run.conversations} == {
        **{"open": "elderly", "young": "calm", "mine": "calm", "theirs": "elderly", "wide": "elderly"}
    }


def test_where_no_question_fits_one_line_says_so(command: Command, tmp_path: Path) -> None:
    """Exit code 2, and nothing is asked."""
    (tmp_path / "cases.csv").write_text("question\nIs there a student discount?\n", encoding="utf-8")
    done = command("--cases", "cases.csv", "--adapter", "bot.py:answer", "--offline", "--persona", "elderly")

    assert done.code == 2
    assert "does not fit the customer: elderly/" in done.error


def test_a_question_for_a_customer_who_does_not_exist_is_named(command: Command, tmp_path: Path) -> None:
    """A misspelt name is no customer whom the question does not fit: one line, exit code 2."""
    (tmp_path / "cases.csv").write_text(
        "id,question,personas\nhours,When do you open?,!eldery\n", encoding="utf-8"
    )
    done = command("--cases", "cases.csv", "--adapter", "demo", "--offline", "--persona", "calm")

    assert done.code == 2
    assert "unknown customer of question hours: 'eldery'. Did you mean elderly?" in done.error
