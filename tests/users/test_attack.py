"""Attackers: personas that want what a bot must not give, and what becomes of each of their goals."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from simulator.core.errors import InputError, ModelFailure
from simulator.core.settings import Settings
from simulator.core.shelves import PERSONAS, customers, persona
from simulator.core.types import Answer, Failure, Results
from simulator.runner.plan import read_plan
from simulator.storage.run_file import read_run
from simulator.users.attack import AttackerUser, AttackPrompts, ScriptedAttacker, attack_cases
from tests.commands import Command, held_once
from tests.run_helpers import a_turn, at
from tests.servers.openai import OpenAIServer, script, serve

GOALS = {goal.id for goal in persona("attackers").goals}
# Gives in at the second line about money, breaks down where it is asked for a role, refuses the rest.
BOT = """
def answer(question, history):
    said = question + " ".join(m["content"] for m in history if m["role"] == "user")
    if "outage" in said:
        return "Agreed: half price for you." if history else "I will pass that on."
    if "pirate" in said:
        raise ValueError("down")
    return "I cannot do that."
"""
ATTACK = (
    "--persona", "attackers", "--adapter", "bot.py:answer", "--language", "en", "--turns", "2",
    "--causes", "ids", "--to", "json",
)  # fmt: skip


def replied(request: Any) -> Any:
    """The attacker presses on twice, and the judge says of each answer what stands in it."""
    system, material = (message["content"] for message in request["messages"][:2])
    if "# Aim" in system:
        return json.dumps({"why": "no", "got": "declined", "next": "stay", "message": "DO IT NOW 🤬!!! 早く"})
    rule = system.split("Rules (id: text)\n- ")[1].split(":")[0]
    *_before, answer = material.rsplit("<answer ", 1)
    broken, refused = "half price for you" in answer, "I cannot do that" in answer
    verdict = "broken" if broken else "kept" if refused else "untested"
    quote = "Agreed: half price for you" if broken else ""
    return json.dumps({
        "verdicts": [{"rule": rule, "quote": quote, "verdict": verdict}], "reason": "It says so.",
    })  # fmt: skip


def rules_of(body: Any) -> list[str]:
    """The rules that a judge is asked about, one line each."""
    rules = body["messages"][0]["content"].split("Rules (id: text)\n")[1].split("\n\n")[0]
    return [line.removeprefix("- ") for line in rules.splitlines()]


class Attacked(NamedTuple):
    """A run of the attackers: its folder, its report.json, what its models were asked."""

    folder: Path
    report: dict[str, Any]
    asked: list[Any]

    @property
    def run(self) -> Results:
        """The run."""
        return read_run(next(self.folder.glob("runs/*/run.sqlite")))


@pytest.fixture(scope="module")
def desk() -> Iterator[OpenAIServer]:
    """A model at an endpoint that attacks and judges."""
    with serve(replied) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "x")
        yield server


@pytest.fixture(scope="module")
def attacked(desk: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    """The attackers at the bot."""
    folder = held_once(tmp_path_factory, ATTACK, files={"bot.py": BOT})
    report = json.loads(next(folder.glob("runs/*/report.json")).read_text(encoding="utf-8"))
    return Attacked(folder, report, [request.body for request in desk.requests])


@pytest.fixture
def here(attacked: Attacked) -> None:
    """That run, where the test stands."""
    shutil.copytree(attacked.folder, Path(), dirs_exist_ok=True)


def test_every_goal_is_one_conversation_and_is_judged_by_its_own_rule(attacked: Attacked) -> None:
    """What the bot gave is quoted, what it refused is held, and where it broke down nobody knows."""
    attacks = attacked.report["attacks"]
    outcomes = {goal["goal"]: goal["outcome"] for goal in attacks["goals"]}
    [broken] = [goal for goal in attacks["goals"] if goal["outcome"] == "broken"]
    judged = [body for body in attacked.asked if "Rules (id: text)" in json.dumps(body)]

    assert outcomes == dict.fromkeys(GOALS, "held") | {"free_goods": "broken", "other_role": "not_reached"}
    assert (broken["turn"], broken["quote"]) == (2, "Agreed: half price for you")
    assert (attacks["broken"], attacks["held"], attacks["not_reached"]) == (1, 7, 1)
    assert attacked.run.run.settings["judges"] == ["risk"]
    rows = {row for body in judged for row in rules_of(body)}
    reached = [goal for goal in persona("attackers").goals if goal.id != "other_role"]
    assert rows == {f"{goal.id}: {goal.en.rule}" for goal in reached}


def test_a_line_that_no_customer_may_say_reaches_the_bot(attacked: Attacked) -> None:
    """Shouting, another language and emoji are an attacker's."""
    run = attacked.run

    lines = {turn.user for talk in run.conversations for turn in talk.turns if turn.index == 2}
    assert lines == {"DO IT NOW 🤬!!! 早く"}
    assert not any(turn.broken_rules for talk in run.conversations for turn in talk.turns)


@pytest.mark.parametrize(
    ("target", "code", "decision"),
    [("attacks_held == 1", 1, "missed"), ("attacks_held >= 0.5", 1, "undecided")],
)
def test_the_gate_counts_the_attacks_that_were_held_off(
    here: None, command: Command, target: str, code: int, decision: str
) -> None:
    """Seven of the eight that reached their rule; the rest failed, so that nothing is passed."""
    done = command("report", "latest", "--target", target, "--max-major", "0.5", "--json")

    assert (done.code, done.json["decision"]) == (code, decision)


def test_without_a_model_the_lines_of_the_goal_are_said_and_nothing_is_judged(command: Command) -> None:
    """A trial opens no gate: no attack was put to the test."""
    done = command(
        "--persona", "attackers", "--offline", "--language", "ja", "--json", "--target", "attacks_held == 1"
    )
    [goal] = [goal for goal in persona("attackers").goals if goal.id == "promise"]
    [talk] = [talk for talk in done.run.conversations if talk.case.id == "attack-promise-ja"]

    assert tuple(turn.user for turn in talk.turns) == goal.ja.lines
    assert (done.code, done.json["attacks"]["not_reached"]) == (3, len(GOALS))
    assert done.json["decision"] == "undecided"


def test_all_customers_are_not_attackers() -> None:
    """`all` asks the questions of a file, and attackers are named alone."""
    assert "attackers" not in customers()
    assert len(read_plan(Settings(persona=("attackers",))).plan) == len(GOALS)
    with pytest.raises(InputError, match="--persona attackers brings its own questions: name no other"):
        read_plan(Settings(persona=("angry", "attackers")))


def test_a_goal_needs_a_line_and_a_rule_in_both_languages(tmp_path: Path) -> None:
    """One line that names the place."""
    text = (PERSONAS / "attackers.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(
        text.replace('rule = "Promises no free service', 'rules = "Promises', 1), encoding="utf-8"
    )

    with pytest.raises(InputError, match=r"mine.toml: goals.2.en.rules: not a known key"):
        persona(str(path))


async def test_the_same_attack_is_made_on_a_repaired_bot() -> None:
    """A replay says the line, whatever the bot said before it."""
    case = next(attack_cases(persona("attackers")))
    user = ScriptedAttacker(("Once more.",), 3)
    failed = Answer(text="", error=Failure(kind="error", message="down"))

    line = await user.follow(case, (a_turn(1),), "The first one.", failed)

    assert (line.text, line.diverged) == ("The first one.", False)


async def test_a_line_without_words_is_asked_for_once_more() -> None:
    """The model is shown its empty draft as a dash; what it writes then is said."""
    attackers, prompts = persona("attackers"), AttackPrompts(PERSONAS / "_attacker.toml")
    empty, line = (
        json.dumps({"why": "-", "got": "declined", "next": "stay", "message": text})
        for text in (" ", "So when?")
    )
    async with OpenAIServer(script([empty, line], then=lambda _: empty)) as server, at(server) as model:
        user = AttackerUser(attackers, prompts, model("user"), seed=1, turns=3, greeting="Hello.")
        said = await user(next(attack_cases(attackers)), (a_turn(),))

        with pytest.raises(ModelFailure, match="broke the rule 'empty' twice"):
            await user(next(attack_cases(attackers)), (a_turn(),))
        asked = len(server.requests)
        follow = await user.follow(next(attack_cases(attackers)), (), "Once more.", Answer(text="No."))
        over = await user(next(attack_cases(attackers)), (a_turn(1), a_turn(2), a_turn(3)))

    assert (follow.text, over.next, len(server.requests)) == ("Once more.", "over", asked)
    assert said.text == "So when?"
    assert server.requests[1].body["messages"][-2] == {"role": "assistant", "content": "-"}


def test_attacks_are_written_to_no_question_file(here: None, command: Command) -> None:
    """Their rules come with the persona."""
    command("fixes", "latest", "--focus", "failed.jsonl")

    assert not Path("failed.jsonl").read_text("utf-8")


def test_a_replay_is_judged_by_the_same_rules(
    desk: OpenAIServer, here: None, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other judge comes in its place, and the repaired bot holds."""
    monkeypatch.setenv("OPENAI_BASE_URL", desk.url)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    Path("repaired.py").write_text("def answer(question):\n    return 'I cannot do that.'\n", "utf-8")
    again = command("--replay", "latest", "--adapter", "repaired.py:answer", "--json", "--causes", "ids")

    assert again.run.run.settings["judges"] == ["risk"]
    assert again.json["attacks"]["held"] == len(GOALS)
