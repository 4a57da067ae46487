"""Wrong answers that are one fault are shown once; what people dispute is grey, here and in later runs."""

import json
import os
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator import open_run
from simulator.core.types import HumanVerdict
from simulator.results.disputes import disputed_in
from simulator.results.same_faults import DISPUTED, SAME, fault_keys, pair_note
from simulator.sheets.model import answer_key
from simulator.storage.run_file import find_run
from simulator.storage.words import save_verdicts
from tests.commands import Command
from tests.diff_runs import START, a_result, grades_of, stored
from tests.results.test_asking import low
from tests.reviewed_runs import vote
from tests.servers.openai import OpenAIServer, play
from tests.servers.replies import ChatRequest

QUESTION = "How much is it to move?"
_NUMBER = re.compile(r"\d+")
_ANSWERS = re.compile(r"<(?:first|second) \w+>\n(.*?)\n</", re.DOTALL)


class Judge:
    """Grades every answer 2 of 5; two answers have one fault where they have the same figures."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self.pairs: list[tuple[str, str]] = []
        self.causes = 0

    def __call__(self, body: ChatRequest) -> str:
        """The reply to any request."""
        form = json.dumps(body.get("response_format", {}))
        if '"same"' in form:
            first, second = _ANSWERS.findall(body["messages"][-1]["content"])
            self.pairs.append((first, second))
            same = _NUMBER.findall(first) == _NUMBER.findall(second)
            return json.dumps({"reason": "the figures", "same": same})
        if '"should_refuse"' in form:
            self.causes += 1
            return json.dumps({"reason": "Cold.", "article": "", "words": "", "cause": "tone"})
        return low(play(body))


@pytest.fixture
def judge(server: OpenAIServer) -> Judge:
    """A judge that no answer pleases."""
    server.reply = judge = Judge()
    return judge


# A run in the folder: the bot's answers, one for each conversation about the question.
Rehearse = Callable[..., Any]


@pytest.fixture
def rehearse(command: Command) -> Rehearse:
    """Holds a run in which the bot says these things, one after the other."""
    Path("q.csv").write_text(f"question,reference\n{QUESTION},Moving is free.\n", encoding="utf-8")
    # A module is loaded once, so the answers stand in a file.
    Path("bot.py").write_text(
        "from pathlib import Path\n"
        "def answer(question):\n"
        "    said, *rest = Path('said.txt').read_text().splitlines()\n"
        "    Path('said.txt').write_text('\\n'.join(rest))\n"
        "    return said\n",
        encoding="utf-8",
    )

    def run(*answers: str, more: Iterable[str] = ()) -> Any:
        Path("said.txt").write_text("\n".join(answers), encoding="utf-8")
        return command(
            "simulate", "--adapter", "bot.py:answer", "--cases", "q.csv", "--persona", "calm",
            "--repeats", str(len(answers)), "--turns", "1", "--judges", "turn", "--language", "en",
            "--concurrency", "1", "--cache", "off", *(more or ("--judge-model", "judge-m")),
        )  # fmt: skip

    return run


def say_of_all(judge_is: Any, comment: str = "", run: str = "latest") -> None:
    """What a reviewer says of every answer of a run."""
    path = find_run(run, Path("runs"))
    words = [
        HumanVerdict(
            conversation=talk.id,
            turn=1,
            source="page",
            reviewer="Mari",
            judge_is=judge_is,
            comment=comment,
            given=datetime.now(UTC),
        )
        for talk in open_run(run).conversations
    ]
    save_verdicts(path, words)


def noted(kind: str) -> list[Any]:
    """What the newest run keeps of pairs."""
    return [body for key, body in open_run().notes.items() if key.startswith(kind)]


def page(run: str = "latest") -> str:
    """The page of a run."""
    return find_run(run, Path("runs")).with_name("report.html").read_text(encoding="utf-8")


def test_answers_with_one_fault_are_one(judge: Judge, rehearse: Rehearse, command: Command) -> None:
    """Each is compared with the first of every fault; one cause is asked for each fault."""
    rehearse("It is 20 pounds.", "You pay 20.", "The move costs 30.", "20, sir.", "30 it is.")

    assert len(judge.pairs) == 5
    assert sorted(noted(SAME)) == [False, False, True, True, True]
    assert judge.causes == 2
    command("report", "latest", "--to", "xlsx")
    assert len(judge.pairs) == 5


def test_without_a_model_only_equal_texts_are_one(rehearse: Rehearse) -> None:
    """Offline nobody is asked."""
    rehearse("It is 20 pounds.", "You pay 20.", more=("--offline",))

    assert not noted(SAME)


def test_a_fault_is_asked_about_once(judge: Judge, rehearse: Rehearse, command: Command) -> None:
    """A later `grade` asks nothing that is answered; with --again it asks anew."""
    rehearse("It is 20.", "You pay 20.")
    more = ("--judge-model", "judge-m", "--cache", "off", "--judges", "turn")
    command("grade", "latest", *more)
    assert len(judge.pairs) == 1

    command("grade", "latest", *more, "--again")
    assert len(judge.pairs) == 2


def test_a_disputed_answer_is_grey_in_the_next_run(
    judge: Judge, rehearse: Rehearse, command: Command
) -> None:
    """In other words, too; it stays in the score, and is left out of the questions that need review."""
    rehearse("It is 20 pounds.")
    first = open_run().run.id
    say_of_all("wrong", "the fee was raised in May")
    done = rehearse("You pay 20.", more=("--judge-model", "judge-m", "--json"))

    assert judge.pairs == [("It is 20 pounds.", "You pay 20.")]
    assert (done.json["red"], done.json["disputed"]) == (1, 1)
    assert done.json["score"] == pytest.approx(0.4)
    assert done.json["change"]["questions"] == {"before": 0, "now": 0}
    assert "△ Disputed" in page()
    assert 'class="turn red disputed' in page()
    assert "the fee was raised in May" in page()
    assert "(1 of them disputed)" in command("report").out
    [fix] = command("fixes", "--json").json["fixes"]
    assert fix["disputed"] == 1
    assert "1 disputed" in command("fixes").out
    assert "Questions needing review 0 → 0" in command("diff", first).out


def test_another_answer_to_the_question_is_not_disputed(judge: Judge, rehearse: Rehearse) -> None:
    """The judge's model says that it is another one."""
    rehearse("It is 20 pounds.")
    say_of_all("wrong")
    done = rehearse("You pay 30.", more=("--judge-model", "judge-m", "--json"))

    assert noted(DISPUTED) == [False]
    assert done.json["disputed"] == 0
    assert "disputed last time" not in page()


def test_without_a_model_equal_texts_are_disputed_and_others_last_time(rehearse: Rehearse) -> None:
    """By rule: width, case and blanks make no difference."""
    offline = ("--offline", "--json")
    assert rehearse("Bananas, and nothing else.", more=offline).json["red"] == 1
    say_of_all("wrong")

    assert rehearse("bananas,  and nothing ELSE.", more=offline).json["disputed"] == 1
    assert rehearse("Pears, and nothing else.", more=offline).json["disputed"] == 0
    assert "(disputed last time)" in page()


@pytest.mark.parametrize("taken_back", ["right", "unsure"])
def test_a_dispute_is_taken_back_by_the_newest_word(
    judge: Judge, rehearse: Rehearse, command: Command, taken_back: str
) -> None:
    """In the run it was said in, or of the same answer in a later one."""
    rehearse("It is 20 pounds.")
    first = open_run().run.id
    say_of_all("wrong")
    rehearse("You pay 20.")
    say_of_all(taken_back)
    done = rehearse("20 it is.", more=("--judge-model", "judge-m", "--json"))
    assert done.json["disputed"] == 0

    say_of_all("wrong", "I am sure", run=first)
    assert command("report", "latest", "--json").json["disputed"] == 0
    command("grade", "latest", "--judge-model", "judge-m", "--cache", "off", "--judges", "turn")
    assert command("report", "latest", "--json").json["disputed"] == 1
    say_of_all(taken_back, run=first)
    assert command("report", "latest", "--json").json["disputed"] == 0


def test_what_a_comment_says_is_only_text(judge: Judge, rehearse: Rehearse) -> None:
    """It was typed by people, and is shown as it stands."""
    rehearse("It is 20 pounds.")
    say_of_all("wrong", "<script>alert(1)</script>")
    rehearse("You pay 20.")

    assert "<script>alert(1)" not in page()
    assert "&lt;script&gt;alert(1)" in page()


def test_the_forecast_counts_the_pairs(judge: Judge, rehearse: Rehearse) -> None:
    """At most: three answers are three causes and three pairs, and one more each for what is disputed."""
    more = ("--judge-model", "judge-m", "--dry-run", "--json")
    plain = rehearse("1", "2", "3", more=(*more, "--causes", "ids")).json["forecast"]["judge"]["calls"]
    assert rehearse("1", "2", "3", more=more).json["forecast"]["judge"]["calls"] == plain + 6

    rehearse("It is 20 pounds.")
    undisputed = rehearse("1", "2", "3", more=more).json["forecast"]["judge"]["calls"]
    say_of_all("wrong")
    assert rehearse("1", "2", "3", more=more).json["forecast"]["judge"]["calls"] == undisputed + 3


def test_the_next_run_reads_what_stands_in_the_workbook(rehearse: Rehearse) -> None:
    """Without the command `review`: words make a dispute, and tests go into their file and Questions once."""
    to_workbook = ("--offline", "--json", "--to", "xlsx")
    rehearse("Bananas, and nothing else.", more=to_workbook)
    path = find_run("latest", Path("runs")).with_name("report.xlsx")
    book = openpyxl.load_workbook(path)
    sheet = book["Review"]
    columns = {cell.value: cell.column for cell in sheet[1]}
    sheet.cell(2, columns["Is the judge right?"], "👎")
    sheet.cell(2, columns["Make it a test"], "Yes")
    sheet.cell(2, columns["Comment"], "they are fine")
    book.save(path)
    os.utime(path, (4e9, 4e9))

    for _again in range(2):
        done = rehearse("Bananas, and nothing else.", more=to_workbook)
        assert done.json["disputed"] == 1
        [line] = Path("tests.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(line)["question"] == QUESTION
    book = openpyxl.load_workbook(find_run("latest", Path("runs")).with_name("report.xlsx"))
    answer = next(cell for row in book["Review"].iter_rows() for cell in row if "△" in str(cell.value))
    assert answer.fill.fgColor.rgb.endswith("E7E6E6")
    questions = [row[1].value for row in book["Questions"].iter_rows() if row[1].value == QUESTION]
    assert questions == [QUESTION]


def test_twenty_runs_of_the_folder_are_remembered() -> None:
    """The newest word about an answer counts; of what was said before them nobody speaks any more."""
    for n in range(22):
        stored(a_result(grades_of({"fee": 0.2, f"q{n}": 0.2}), f"{n:02}", days=n))

    def say(run: int, case: str, judge_is: str) -> None:
        word = vote((f"calm/{case}#1", 1), judge_is)
        save_verdicts(Path(f"runs/{run:02}/run.sqlite"), [word.model_copy(update={"given": START})])

    def disputed() -> int:
        return len(disputed_in(Path("runs")))

    counts = []
    for run, case, judge_is in (
        (1, "q1", "wrong"),
        (2, "q2", "wrong"),
        (3, "fee", "wrong"),
        (4, "fee", "right"),
    ):
        say(run, case, judge_is)
        counts.append(disputed())
    assert counts == [0, 1, 2, 1]
    Path("runs/02/run.sqlite").write_bytes(b"broken")
    assert disputed() == 0


def test_a_fault_is_that_of_the_first_answer_that_has_it() -> None:
    """However many answers lie between; notes that lead in a circle end somewhere."""
    run = a_result(grades_of({"a": 0.2}))
    (talk,) = run.conversations
    key = answer_key(talk.case, talk.turns[0])

    def fault(notes: dict[str, Any]) -> str:
        return fault_keys(run.model_copy(update={"notes": notes}))(talk.case, talk.turns[0])

    assert fault({}) == key
    assert fault({pair_note(SAME, "first", "second"): True, pair_note(SAME, "second", key): True}) == "first"
    assert fault({pair_note(SAME, "first", key): False, pair_note(DISPUTED, "other", key): True}) == key
    assert fault({pair_note(SAME, "first", key): True, pair_note(SAME, key, "first"): True}) == "first"
