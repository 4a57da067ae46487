"""Customers who left satisfied where the judges say that they were not served."""

from pathlib import Path

import openpyxl
import pytest

from simulator.core.types import Ended, RedRules
from simulator.results.red import ending_of
from simulator.results.rows import Mark, MarkKind
from tests.commands import Command
from tests.customer_conversations import a_talk
from tests.grading.test_whole_conversations import scored

BOT = """
from simulator import Answer, Passage

FEE = "Cancelling Home 1 Giga early costs a fee of 4,800 yen."

def honest(query):
    return Answer(text=FEE, passages=(Passage(id="fees", text=FEE),))

def invents(query):
    return Answer(text=FEE + " Moving house costs 7,777 yen.", passages=(Passage(id="fees", text=FEE),))
"""


@pytest.mark.parametrize(("bot", "how"), [("honest", "satisfied"), ("invents", "satisfied_wrong")])
def test_who_left_with_an_invention_is_counted_under_that_name(command: Command, bot: str, how: str) -> None:
    """On the page, in the terminal, in JSON and in the sheet: such a customer is no satisfied one."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    reference = "Cancelling early costs a fee of 4,800 yen."
    row = f'fees,What does it cost to cancel Home 1 Giga early?,en,"{reference}"'
    Path("cases.csv").write_text(f"id,question,language,reference\n{row}\n", encoding="utf-8")
    asked = ("--offline", "--adapter", f"bot.py:{bot}", "--cases", "cases.csv", "--persona", "calm")
    words = "Satisfied with a wrong or invented answer"
    told = command(*asked, "--to", "xlsx", "--json")
    folder = Path("runs", told.json["run"])
    page = (folder / "report.html").read_text(encoding="utf-8")
    cells = {
        cell for tab in openpyxl.load_workbook(folder / "report.xlsx") for row in tab.values for cell in row
    }

    assert told.json["conversations"]["ended"] == {how: 1}
    shown = (words in page, words in " ".join(command("report").out.split()), words in cells)
    assert shown == (how != "satisfied",) * 3


@pytest.mark.parametrize(
    ("marks", "settled", "limit", "how"),
    [
        ((), 1.0, 0.5, "satisfied"),
        ((), None, 0.5, "satisfied"),
        (("overall",), 1.0, 0.5, "satisfied"),
        ((), 0.5, 0.5, "satisfied_unresolved"),
        # Whether or not that makes a turn red.
        ((), 0.5, 0, "satisfied_unresolved"),
        ((), 0.6, 0, "satisfied"),
        ((), 0.6, 0.7, "satisfied_unresolved"),
        (("groundedness",), 0.5, 0.5, "satisfied_wrong"),
        (("claims",), None, 0.5, "satisfied_wrong"),
        (("overall", "correctness"), 1.0, 0.5, "satisfied_wrong"),
    ],
)
def test_judges_contradict_a_satisfied_customer(
    marks: tuple[MarkKind, ...], settled: float | None, limit: float, how: str
) -> None:
    """An invention goes before what was left unresolved; nobody else's ending has another name."""
    marked = [Mark(kind, "major") for kind in marks]
    whole = {1: {"conversation": scored(settled)}} if settled is not None else {}
    talk = a_talk(("?", "!"), ended=Ended.SATISFIED)

    assert ending_of(talk, marked, whole, RedRules(conversation=limit)) == how
    gave_up = talk.model_copy(update={"ended": Ended.GAVE_UP})
    assert ending_of(gave_up, marked, whole, RedRules(conversation=limit)) == "gave_up"
    assert ending_of(talk.model_copy(update={"ended": None}), marked, whole, RedRules()) == ""
