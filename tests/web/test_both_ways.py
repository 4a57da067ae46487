"""Page, sheet and workbook say the same of an answer: the newest word, and whose word it replaced."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.core.messages import shown
from simulator.sheets.model import CHOICES, COLUMNS, TABS
from tests.commands import Command
from tests.excel import Person
from tests.servers.sheets import SheetsServer
from tests.sheets_sink import KEY, column, letter, sheets_server
from tests.web.opened import Opened, opened, word


class Desk:
    """A run, its page, and the workbook of its team, where the gravest answer is in the first row."""

    to: tuple[str, ...] = ("--to", "xlsx")

    def __init__(self, page: Opened, command: Command) -> None:
        self.page, self.command = page, command
        self.run, self.runs = page.path.parent.name, str(page.path.parent.parent)

    def report(self) -> str:
        """Writes what the team works in; what is said on stderr."""
        return self.command("report", self.run, "--runs", self.runs, *self.to).err

    def review(self) -> str:
        """Reads it; what is said on stderr."""
        return self.command("review", self.run, "--runs", self.runs, "--from", self.source).err

    def say(self, by: str, name: str, was: str | None, now: str | None) -> None:
        """Somebody's word on the page."""
        assert self.page.ask("words", "POST", {**word(**{name: (was, now)}), "by": by}).status == 200

    def decide(self, was: dict[str, str], now: dict[str, str]) -> None:
        """A decision on the page."""
        assert self.page.ask("decision", "POST", {"was": was, "now": now}).status == 200

    def said(self, name: str) -> str:
        """What counts on the page."""
        (said,) = self.page.ask("state").json["words"]
        return str(said[name] or "")

    @property
    def source(self) -> str:
        """The newest workbook."""
        return str(max(self.page.path.parent.glob("report*.xlsx"), key=lambda path: len(path.name)))

    def cell(self, name: str, tab: str = "review") -> str:
        """What the cell shows."""
        person = Person(Path(self.source))
        title, place = shown(TABS[tab], "ja"), shown(COLUMNS[name].title, "ja")
        return str(person.book[title].cell(2, person.place(title, place)).value or "")

    def type(self, name: str, text: str, tab: str = "review") -> None:
        """Types, and saves."""
        with Person(Path(self.source)) as person:
            person.type(shown(TABS[tab], "ja"), 2, shown(COLUMNS[name].title, "ja"), text or None)


class SheetDesk(Desk):
    """The same at a Google Sheet."""

    to = ("--to", "sheets", "--sheet", KEY)
    source = f"sheet:{KEY}"
    server: SheetsServer

    def cell(self, name: str, tab: str = "review") -> str:
        """What the cell shows."""
        return self.server.person(KEY).rows(shown(TABS[tab], "ja"))[1][column(self.server, name, tab)]

    def type(self, name: str, text: str, tab: str = "review") -> None:
        """Types."""
        place = f"{letter(column(self.server, name, tab))}2"
        self.server.person(KEY).type(shown(TABS[tab], "ja"), place, text)


@pytest.fixture(params=[Desk, SheetDesk])
def desk(
    request: pytest.FixtureRequest, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    """A desk with a workbook, then one with a Google Sheet."""
    with sheets_server(monkeypatch) as server, opened(tmp_path / "runs") as page:
        SheetDesk.server = server
        yield request.param(page, command)


def test_a_newer_word_of_the_page_replaces_the_cell(desk: Desk) -> None:
    """Typed there, written there or taken back; one line names the row, the old word, the new one and who."""
    desk.report()
    desk.type("judge_is", "採点は正しい")
    desk.type("comment", "古い")
    desk.review()
    desk.say("伊藤", "judge_is", "right", "wrong")
    desk.say("真理", "comment", "古い", "")
    said = desk.report()
    quiet = desk.report()

    assert (desk.cell("judge_is"), desk.cell("comment")) == ("採点が誤り", "")
    assert "確認, row 2, column 採点への意見: “採点は正しい” (sheet) is now “採点が誤り” (伊藤)." in said
    assert "確認, row 2, column コメント: “古い” (sheet) is now “” (真理)." in said
    assert "伊藤" not in quiet


def test_a_newer_word_of_the_cell_replaces_that_of_the_page(desk: Desk) -> None:
    """Read by `review` or by the next report; one line says what it was and whose."""
    desk.say("伊藤", "comment", "", "資料どおり")
    desk.report()
    desk.type("comment", "資料は古い")
    read = desk.review()
    desk.say("真理", "comment", "資料は古い", "直した")
    desk.report()
    desk.type("comment", "まだです")
    written = desk.report()

    assert "返却期限は', column Comment: “資料どおり” (伊藤) is now “資料は古い” (sheet)." in read
    assert "“直した” (真理) is now “まだです” (sheet)." in written
    assert (desk.said("comment"), desk.cell("comment")) == ("まだです", "まだです")


@pytest.mark.parametrize("desk", [Desk], indirect=True)
def test_what_both_said_of_other_fields_is_joined(desk: Desk) -> None:
    """A cell that was changed and a word that was said since are both there, and no line is said."""
    desk.say("伊藤", "comment", "", "資料どおり")
    desk.report()
    desk.type("assignee", "真理")
    desk.say("伊藤", "cause", "", "tone")
    said = desk.report()

    assert [desk.said(name) for name in ("comment", "assignee", "cause")] == ["資料どおり", "真理", "tone"]
    assert (desk.cell("comment"), desk.cell("assignee")) == ("資料どおり", "真理")
    assert desk.cell("cause") == shown(CHOICES["cause"]["tone"], "ja")
    assert "“" not in said


@pytest.mark.parametrize("desk", [SheetDesk], indirect=True)
def test_the_newer_decision_counts_wherever_it_was_made(desk: Desk) -> None:
    """The page's takes the place of the cell's, and the other way round, each with a line."""
    desk.report()
    desk.type("decision", "可", "summary")
    desk.review()
    go = desk.page.ask("state").json["decision"]
    desk.decide(go, {"verdict": "no", "by": "伊藤"})
    said = desk.report()
    shown_there = desk.cell("decision", "summary"), desk.cell("approver", "summary")
    desk.type("decision", "条件付き", "summary")
    read = desk.review()

    assert shown_there == ("公開しない", "伊藤")
    assert "“公開してよい” (sheet) is now “公開しない” (伊藤)." in said
    assert "(伊藤) is now “" in read
    assert desk.page.ask("state").json["decision"]["verdict"] == "conditional"
