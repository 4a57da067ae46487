"""Two models that play the customers of one run: one score, with what lies between them in its interval."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator import open_run
from simulator.core.settings import stored_settings
from simulator.results.gate import gate_of
from simulator.results.summary import figures_of
from simulator.storage.run_file import find_run, read_run
from tests.commands import Command
from tests.servers.faults import Reply, error
from tests.servers.openai import serve
from tests.servers.replies import ChatRequest

QUESTIONS = 6
# The bot is at a loss with customers who shout; the grade of an answer is its last word.
BOT = "def answer(question):\n    return 'no' if '!' in question else 'yes'\n"
JUDGE = "def right(context):\n    return context.turn.answer.text == 'yes'\n"
REPLAYS = (
    "--adapter", "bot.py:answer", "--judges", "mine.py:right", "--turns", "3", "--json", "--max-major", "1",
    "--cache", "off",
)  # fmt: skip
OPTIONS = ("--cases", "cases.csv", "--persona", "calm", "--language", "en", *REPLAYS)
BOTH = ("--user-model", "quiet", "--user-model", "loud")


class Customers:
    """A model that never shouts, and one that does; `refuses` is the name of one that nobody may ask."""

    refuses = ""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, request: ChatRequest) -> str | Reply:
        """The next line."""
        name = str(request["model"])
        self.asked[name] += 1
        if name == self.refuses:
            return error(401)
        turn = len(request["messages"])
        said = f"And what about part {turn} of it" + ("!" if name == "loud" else "")
        line = {"why": "w", "got": "partly", "feeling": 0, "next": "stay", "message": said}
        return json.dumps(line)


@pytest.fixture
def customers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Customers]:
    """Both at an endpoint; questions, bot and judge are files where the test stands."""
    rows = "".join(f"q{n},What does plan number {n} cost?\n" for n in range(QUESTIONS))
    Path("cases.csv").write_text(f"id,question\n{rows}", encoding="utf-8")
    Path("bot.py").write_text(BOT, encoding="utf-8")
    Path("mine.py").write_text(JUDGE, encoding="utf-8")
    playing = Customers()
    with serve(playing) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield playing


def test_each_plays_every_question(command: Command, customers: Customers) -> None:
    """One score, the score of each, how far they lie apart, and an interval that holds both."""
    shown = command(*OPTIONS, *BOTH).json
    alone = {name: command(*OPTIONS, "--user-model", name).json for name in ("quiet", "loud")}

    assert shown["simulators"] == {"quiet": {"score": 1.0, "n": 6}, "loud": {"score": 0.4667, "n": 6}}
    assert (shown["score"], shown["simulator_spread"]) == (0.7333, 0.5333)
    assert shown["interval"] == [alone["loud"]["interval"][0], alone["quiet"]["interval"][1]]
    assert alone["loud"]["simulators"] == {"loud": {"score": 0.4667, "n": 6}}
    assert alone["loud"]["simulator_spread"] is None
    assert customers.asked["quiet"] == customers.asked["loud"] == 2 * 3 * QUESTIONS
    page = Path(shown["store"]).with_name("report.html").read_text(encoding="utf-8")
    assert "Who plays the customers" in page
    assert "quiet 100, loud 47; spread 53." in page
    assert page.count("Calm customer (loud)</span>") == QUESTIONS


@pytest.mark.usefixtures("customers")
def test_the_gate_is_undecided_where_they_disagree(command: Command) -> None:
    """A target that both reach is reached."""
    reason = "it depends on the model that plays the customers: quiet 100 (Passed), loud 47 (Failed)"
    first = command(*OPTIONS, *BOTH, "--target", "50")
    reading = ("report", "latest", "--json", "--max-major", "1", "--target")
    runs = [first, *(command(*reading, target) for target in ("right >= 0.9", "20", "right >= 0.2"))]

    assert [(done.code, done.json["decision"], done.json["passed"]) for done in runs] == [
        (1, "undecided", False), (1, "undecided", False), (0, "passed", True), (0, "passed", True)
    ]  # fmt: skip
    assert [reason in done.json["reasons"] for done in runs] == [True, True, False, False]
    # With a conversation missing nothing is decided, and nobody is compared.
    whole = read_run(find_run("latest", Path("runs")))
    cut, settings = whole.model_copy(update={"planned": 13}), stored_settings(whole.run.settings)
    gate = gate_of(cut, figures_of(cut, settings), settings)
    assert [finding.problem for finding in gate.findings] == ["unfinished"]


def test_a_run_goes_on_with_who_is_missing(command: Command, customers: Customers) -> None:
    """Each conversation knows who plays it; what was held is not paid for again."""
    customers.refuses = "loud"
    stopped = command(*OPTIONS, *BOTH, "--concurrency", "1")
    before = customers.asked["quiet"]
    customers.refuses = ""
    done = command("--resume", "latest", "--json")
    held = open_run().conversations

    assert (stopped.code, done.code) == (3, 0)
    assert {name: each["n"] for name, each in done.json["simulators"].items()} == {"quiet": 6, "loud": 6}
    assert Counter(each.user_model for each in held) == {"quiet": 6, "loud": 6}
    assert {each.id for each in held if each.case.id == "q1"} == {"calm@quiet/q1#1", "calm@loud/q1#1"}
    assert {each.like_others for each in held if each.case.id == "q1"} == {"calm/q1#1"}
    assert before > 0
    assert customers.asked["quiet"] == 3 * QUESTIONS


@pytest.mark.usefixtures("customers")
def test_a_replay_has_the_models_of_its_run(command: Command) -> None:
    """Who said the lines goes on where they no longer fit; other models cannot."""
    before = command(*OPTIONS, *BOTH).json
    again = command(*REPLAYS, *BOTH, "--replay", "latest").json
    other = command(*REPLAYS, "--user-model", "quiet", "--user-model", "other", "--replay", "latest")
    extra = command(*OPTIONS, *BOTH, "--replay", "latest")

    assert again["simulators"] == before["simulators"]
    assert (other.code, "name one here" in other.err) == (2, True)
    assert (extra.code, "leave out --cases, --language, --persona." in extra.err) == (2, True)


@pytest.mark.parametrize("arguments", [("cases", "make", "cases.csv"), ("--replay", "latest")])
@pytest.mark.usefixtures("customers")
def test_where_one_customer_plays_one_model_is_named(command: Command, arguments: tuple[str, ...]) -> None:
    """A line that says so."""
    done = command(*arguments, *BOTH)

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "name one here" in done.err or "no run 'latest'" in done.err
