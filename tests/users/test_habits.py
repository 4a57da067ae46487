"""How customers write, where their persona's file asks for it, and how long they go on."""

import json
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core import shelves
from simulator.core.types import Conversation, Habits, Language, Query, Reaction
from simulator.users.mix import read_mix
from simulator.users.rules import SHARES, cues_of, lets_through, ruled, wanted_turns
from tests.run_helpers import prompts
from tests.servers.openai import OpenAIServer, play

CALM = shelves.persona("calm").model_copy(update={"habits": Habits(), "fragments": 0.0})
AS_SET = dict.fromkeys((*SHARES, "fragments"), 1.0) | {"detail": 0.0, "figures": 0.0}
LANGUAGES: tuple[Language, ...] = ("ja", "en")
BROKEN: dict[Language, dict[str, str]] = {
    "ja": {
        "emoji": "まだ届きません😢",
        "language": "Sorry, I don't know how to say this in Japanese",
        "rants": "1. 電話がつながらない\n2. メールの返事がない\n3. チャットも同じ",
    },
    "en": {
        "emoji": "still nothing here 😢",
        "language": "no entiendo la factura, perdón, ¿cuánto cuesta?",
        "rants": "1. nobody picks up the phone\n2. nobody answers my mail\n3. now this",
    },
}
RANT = (
    "I have been on hold for an hour, I wrote two mails that nobody answered, the page you sent me to does "
    "not open on my phone, the man in the shop told me to ask here, and here I get the same line three times "
    "over, so would somebody please read what I wrote and simply tell me what it costs, because really I am "
    "done with being sent around like a parcel that nobody wants to sign for"
)


@pytest.mark.parametrize("habit", [*Habits.model_fields])
def test_a_habit_shows_in_its_share_of_lines(habit: str) -> None:
    """And in no line of a persona that does not ask for it."""
    asks = CALM.model_copy(update={"habits": Habits.model_validate({habit: 0.3})})
    drawn, plain = (
        [{cue for row in cues_of(who, [], seed, AS_SET).values() for cue in row} for seed in range(2000)]
        for who in (asks, CALM)
    )

    assert sum(habit in cues for cues in drawn) / 2000 == pytest.approx(0.3, abs=0.03)
    assert not any(set(Habits.model_fields) & cues for cues in plain)


def test_who_writes_bare_words_does_not_rant() -> None:
    """The prompt would ask for one to four words, and for forty."""
    asks = CALM.model_copy(update={"habits": Habits(rants=1), "fragments": 1.0})
    rows = [row for seed in range(200) for row in cues_of(asks, [], seed, AS_SET).values()]

    assert not any("rants" in cues for cues in rows)


def test_a_line_shows_one_habit_at_most() -> None:
    """However many a persona has: what is drawn stands in place of what else would stand beside the form."""
    every = dict.fromkeys(Habits.model_fields, 0.11)
    who = CALM.model_copy(update={"habits": Habits.model_validate(every)})
    usual = AS_SET | {"detail": 0.5, "figures": 0.5}
    rows = [row for seed in range(500) for row in cues_of(who, [], seed, usual).values()]

    assert max(Counter(cue in every for cue in row)[True] for row in rows) == 1
    assert max(map(len, rows)) == 2


def test_what_is_asked_of_a_model_comes_after_what_it_fits() -> None:
    """A question mark alone where nothing came, a second matter where something did."""
    nudges, more = (
        CALM.model_copy(update={"habits": Habits.model_validate({name: 1})})
        for name in ("nudges", "second_matter")
    )

    assert cues_of(nudges, [], 1, AS_SET)["nothing"] == ("nudges",)
    assert "nudges" not in cues_of(nudges, [], 1, AS_SET)["partly"]
    assert cues_of(more, [], 1, AS_SET)["answered"] == ("second_matter",)
    assert "second_matter" not in cues_of(more, [], 1, AS_SET)["declined"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("habit", ["emoji", "language", "rants"])
def test_the_guard_lets_through_what_the_file_asks_for(habit: str, language: Language) -> None:
    """A line that falls out of everybody else's role is this customer's manner."""
    asks = CALM.model_copy(update={"habits": Habits.model_validate({habit: 0.1})})
    guard, text = prompts().guards[language], BROKEN[language][habit]

    assert guard.broken_rule(text, (), allowed=lets_through(CALM)) is not None
    assert guard.broken_rule(text, (), allowed=lets_through(asks)) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[habits]\ntypoes = 0.1", "habits.typoes: not a known key. Did you mean typos?"),
        ("[habits]\ntypos = 2", "habits.typos: must be at most 1."),
        ("[habits]\ntypos = 0.7\nemoji = 0.6", "habits: the shares add up to 1.3, and 1 is the most."),
    ],
)
def test_habits_that_cannot_be_are_named(text: str, problem: str) -> None:
    """In one line."""
    calm = shelves.PERSONAS.joinpath("elderly.toml").read_text("utf-8")
    Path("own.toml").write_text(calm.replace("\n[ja]\n", f"\n{text}\n\n[ja]\n", 1), encoding="utf-8")

    with pytest.raises(Exception, match=r"own\.toml") as caught:
        shelves.persona("./own.toml")
    assert problem in str(caught.value)


def test_a_mix_may_change_habits() -> None:
    """As it may change anything that a persona can set."""
    row = '[[customers]]\npersona = "angry"\nfrequency = 1\nhabits = { emoji = 0.5 }\n'
    Path("mix.toml").write_text(row, encoding="utf-8")
    mix = read_mix("mix.toml")

    assert mix
    assert mix.personas[0].habits == Habits(emoji=0.5)


def conversation(server: OpenAIServer, persona: str, message: str) -> Conversation:
    """One of two turns with a customer who says this."""
    Path("cases.csv").write_text("id,question,language\nq,What does it cost?,en\n", encoding="utf-8")
    bot = "def answer(query):\n    return f'{len(query.messages)} of it: ' + ' / '.join(query.messages)\n"
    Path("bot.py").write_text(bot, encoding="utf-8")

    def reply(request: dict[str, object]) -> str:
        told = {"why": "", "got": "partly", "feeling": 0, "next": "stay", "message": message}
        return json.dumps(told) if "message" in json.dumps(request) else play(request)

    server.reply = reply
    main(["--cases", "cases.csv", "--adapter", "bot.py:answer", "--persona", persona, "--judges", "rouge_l",
          "--turns", "2", "--cache", "off"])  # fmt: skip
    (held,) = open_run().conversations
    return held


def test_several_messages_reach_the_bot_in_one_line_each(server: OpenAIServer) -> None:
    """Joined by line breaks; a bot that takes several in a row has them one by one."""
    held = conversation(server, "hurried", "hm\n\nand the rest?")

    assert [turn.user for turn in held.turns] == ["What does it cost?", "hm\n\nand the rest?"]
    assert held.turns[1].answer.text == "2 of it: hm / and the rest?"
    assert Query(text=" one ").messages == ("one",)


@pytest.mark.parametrize(("persona", "ended"), [("angry", "turn_limit"), ("calm", "user_failed")])
def test_who_has_a_habit_of_ranting_may(persona: str, ended: str, server: OpenAIServer) -> None:
    """In seventy words and more, which are too many for anybody else."""
    assert len(RANT.split()) >= 70
    assert conversation(server, persona, RANT).ended == ended


@pytest.mark.parametrize("language", LANGUAGES)
def test_people_take_seven_or_eight_turns_where_they_can(language: Language) -> None:
    """With a desk that serves them; where no more than three can be taken, they leave as soon as served."""
    wanted = [wanted_turns(language, seed, 20) for seed in range(999)]

    assert 7 <= median(wanted) <= 8
    assert (min(wanted) >= 4, max(wanted) <= 11) == (True, True)
    assert wanted_turns(language, 1, 3) == 0
    assert max(wanted_turns(language, seed, 5) for seed in range(999)) == 5


def test_who_takes_more_turns_asks_on_after_a_full_answer() -> None:
    """As often as they like within them; and leaves where the model says so, or when they are over."""
    served = [Reaction(got="answered", next="stay")] * 3

    assert ruled(CALM, served, wanted=4).next == "stay"
    assert ruled(CALM, served, wanted=3).next == "satisfied"
    assert ruled(CALM, [*served, Reaction(got="answered", next="satisfied")], wanted=9).next == "satisfied"
    asked_on = cues_of(CALM, served, 1, AS_SET, wanted=5)
    assert asked_on["answered"] == asked_on["partly"] != ("settled",)
    assert asked_on["nothing"] == ("later",)
    assert cues_of(CALM, served, 1, AS_SET, wanted=4)["answered"] == ("settled",)


@pytest.mark.parametrize(("turns", "held"), [(3, 1), (9, 4)])
def test_phrases_go_on_as_long_and_leave_content_with_what_was_answered(turns: int, held: int) -> None:
    """Without a model, too: further questions, and no complaint where the first was answered."""
    row = "fees,What does it cost to cancel Home 1 Giga?,en,The fee is 4800 yen."
    Path("cases.csv").write_text(f"id,question,language,reference\n{row}\n", encoding="utf-8")
    bot = """
def answer(query):
    if len(query.history) > 5:
        return "I am sorry, I cannot tell you that."
    return f"The fee is 4800 yen, as page {len(query.history) + 1} says."
"""
    Path("bot.py").write_text(bot, encoding="utf-8")
    main(["--offline", "--cases", "cases.csv", "--adapter", "bot.py:answer", "--persona", "calm",
          "--turns", str(turns)])  # fmt: skip
    (talk,) = open_run().conversations

    assert (talk.ended, len(talk.turns)) == ("satisfied", held)
    assert not {turn.user for turn in talk.turns} & {*shelves.persona("calm").en.phrases["pressing"]}
