"""Whether customers react, as `doctor --customers` finds out."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core import shelves
from simulator.lab.likeness.reactions import BOTS
from tests.servers.openai import OpenAIServer, play

CHECK = ("doctor", "--customers", "--language")


@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_phrases_of_every_persona_react(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Content with what is right, out of patience with what is of no use; nobody tells grades."""
    code = main([*CHECK, language, "--persona", "all", "--offline", "--json"])
    found = json.loads(capsys.readouterr().out)
    pairs = {(each["persona"], each["bot"]): each for each in found["reactions"]}
    ended = {who: {pairs[who, bot]["ended"] for bot in BOTS[1:]} for who, _bot in pairs}

    assert (code, found["problems"]) == (0, [])
    assert ended == {who: {"gave_up"} for who in shelves.customers()}
    assert pairs["calm", "perfect"]["ended"] == "satisfied"
    assert pairs["demands_person", "perfect"]["ended"] == "handed_over"
    assert pairs["angry", "perfect"]["feelings"] == [-1, 1]
    assert pairs["angry", "rude"]["feelings"] == [-1, -2, -2]
    assert {each["grade"] for each in found["reactions"]} == {None}
    asking = [each for each in found["reactions"] if each["bot"] == "asking"]
    assert all(each["told"] == each["turns"] - 1 for each in asking)


def graded(reply: Any, grade: int) -> Any:
    """A judge's reply with this grade wherever it has one."""
    if isinstance(reply, dict):
        return {name: graded(value, grade) for name, value in reply.items()}
    return grade if isinstance(reply, int) and not isinstance(reply, bool) else reply


def played(request: dict[str, Any], *, reacts: bool, grade: int) -> str:
    """A customer that understands the desk, or feels well whatever is said; and a judge with one opinion."""
    said = request["messages"][-1]["content"]
    form = request.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if "message" not in form:
        return json.dumps(graded(json.loads(play(request)), grade))
    got, feeling, asked = "partly", 2, re.search("your name|number\\?|postal code", said)
    if reacts:
        useless = "website" in said or "manual" in said or "Platinum" in said
        helped = "handed_over" if "colleague" in said else "answered"
        got, feeling = ("nothing", -2) if useless else ("asked_back", 0) if asked else (helped, 2)
    count = len(request["messages"])
    leaves = {"handed_over": "handed_over", "answered": "satisfied"}
    line = {"why": "", "got": got, "feeling": feeling, "next": leaves.get(got, "stay")}
    told = re.findall(r"my (?:last name|phone number|postal code) is \S+", request["messages"][0]["content"])
    asks = f"could a person tell me about part {count} of it"
    return json.dumps(line | {"message": told[count // 2 % len(told)] if reacts and asked else asks})


@pytest.mark.parametrize(("reacts", "grade", "code"), [(True, 1, 0), (True, 5, 1), (False, 1, 1)])
def test_who_does_not_react_is_named(
    reacts: bool, grade: int, code: int, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1 for a customer who feels well whatever is said, and for a judge who praises inventions."""
    server.reply = lambda request: played(request, reacts=reacts, grade=grade)
    ended = main([*CHECK, "en", "--persona", "calm,demands_person", "--cache", "off", "--json"])
    found = json.loads(capsys.readouterr().out)
    named = {(each["persona"], each["problem"]) for each in found["problems"]}
    inventions = {each["grade"] for each in found["reactions"] if each["bot"] == "inventing"}

    assert ended == code
    assert inventions == {grade / 5}
    assert (("calm", "a wrong figure gets 100 of 100 from the judge") in named) is (grade == 5)
    assert (("calm", "an invention gets 100 of 100 from the judge") in named) is (grade == 5)
    assert (("calm", "does not give up on a useless bot") in named) is not reacts
    assert (("calm", "does not feel worse with a rude bot") in named) is not reacts
    assert (("demands_person", "is not content with a perfect bot") in named) is not reacts


def test_without_a_question_to_answer_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2."""
    Path("cases.csv").write_text("question\nhow?\n", encoding="utf-8")
    assert main([*CHECK, "en", "--cases", "cases.csv", "--offline"]) == 2
    assert "None of the questions has a reference answer" in capsys.readouterr().err
