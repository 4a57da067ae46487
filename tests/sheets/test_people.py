"""People work in the sheet before, between and during pushes: nothing that they did is lost."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from simulator.core.errors import InputError
from simulator.sheets.google_api import target
from simulator.sheets.google_sheets import pull
from simulator.sheets.model import CellRead, SheetCell, Worksheet
from tests.servers.sheets import SheetsServer
from tests.servers.sheets_people import Person
from tests.sheets_sink import KEY, TITLE, Counting, Meddled, at, cell, column, letter, pushed, review


def filled(server: SheetsServer) -> Person:
    """A pushed run in which Mari has written to every row."""
    pushed(review())
    mari = server.person(KEY)
    for key in "abc":
        mari.type(TITLE, at(server, f"r1/{key}", "comment"), f"私見 {key}")
        mari.type(TITLE, at(server, f"r1/{key}", "judge_is"), "採点が誤り")
    return mari


def comments() -> dict[str, str]:
    """The team's comments by the rows' keys, as read back; rows without a key are left out."""
    rows = pull(target(KEY), ["review"], client=Counting()).rows["review"]
    return {row.key: row.cells.get("comment", "") for row in rows if row.key}


def insert_rows(_: SheetsServer, mari: Person) -> None:
    mari.insert_rows(TITLE, 1, 2)
    mari.insert_rows(TITLE, 5)


def rename_all(_: SheetsServer, mari: Person) -> None:
    for old in ("質問", "回答1", "コメント", "点"):
        mari.rename_header(TITLE, old, f"{old}（改）")


Deed = Callable[[SheetsServer, Person], object]
DEEDS: dict[str, Deed] = {
    "sort": lambda server, mari: mari.sort(
        TITLE, "A2:I60", letter(column(server, "question")), descending=True
    ),
    "insert columns": lambda _, mari: mari.insert_columns(TITLE, "B", 2),
    "move a column": lambda _, mari: mari.move_column(TITLE, "コメント", "キー"),
    "insert rows": insert_rows,
    "rename": rename_all,
    "hide rows": lambda _, mari: mari.filter(TITLE, "採点への意見", ["採点が誤り"]),
    "add rows": lambda _, mari: mari.paste(
        TITLE, "B9", [["自分で足した行", "回答", "採点は正しい", "鍵なし"]]
    ),
}


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS)
def test_what_people_do_between_pushes_stays(server: SheetsServer, deed: Deed) -> None:
    """The next push finds every row and column, mends its own cells, and touches no other."""
    mari = filled(server)
    deed(server, mari)
    before = mari.rows(TITLE)
    assert pushed(review()).writes == 0
    assert mari.rows(TITLE) == before

    done = pushed(review(question="変わった"))
    assert (done.rows, done.cells) == (0, 3)
    pushed(review("r2"))
    assert comments() == {f"r1/{k}": f"私見 {k}" for k in "abc"} | dict.fromkeys(["r2/a", "r2/b", "r2/c"], "")
    assert mari.read(TITLE, at(server, "r1/b", "question")) == "変わった"


def test_without_its_keys_a_worksheet_is_left_alone(server: SheetsServer) -> None:
    """The note says how to get them back; other worksheets are pushed."""
    mari = filled(server)
    mari.delete_columns(TITLE, "キー")
    before = mari.rows(TITLE)
    done = pushed(review("r2"), review("r2", name="blind").model_copy(update={"title": "目視"}))

    assert mari.rows(TITLE) == before
    assert done.worksheets == ("目視",)
    assert "変更履歴" in str(done.notes[0])


def test_program_cells_that_people_overwrote_are_put_right(server: SheetsServer) -> None:
    """A formula in the program's column goes; a note of people's on it stays, a colour does not."""
    mari = filled(server)
    place = at(server, "r1/a", "question")
    mari.type(TITLE, place, "=1+1")
    mari.note(TITLE, place, "見てください")
    mari.paint(TITLE, place, {"green": 1.0})
    done = pushed(review())

    now = cell(server, place)
    assert (done.cells, now["userEnteredValue"]) == (1, {"stringValue": "質問 r1/a"})
    assert now["note"] == "見てください"
    assert "backgroundColorStyle" not in now["userEnteredFormat"]


@pytest.mark.parametrize("deed", DEEDS)
def test_people_edit_during_a_push(server: SheetsServer, deed: str) -> None:
    """Between reading and writing rows and columns move: no team cell is touched, and all is right."""
    mari = filled(server)
    sheet = review(question="変わった")
    client = Meddled(lambda: DEEDS[deed](server, mari))
    pushed(sheet.model_copy(update={"rows": (*review("r2").rows, *sheet.rows)}), by=client)

    assert comments() == {f"r1/{k}": f"私見 {k}" for k in "abc"} | dict.fromkeys(["r2/a", "r2/b", "r2/c"], "")
    for key in ("r1/a", "r1/b", "r1/c", "r2/a", "r2/b", "r2/c"):
        wanted = "変わった" if key.startswith("r1") else f"質問 {key}"
        assert mari.read(TITLE, at(server, key, "question")) == wanted
    assert pushed(review("r2")).writes == 0
    assert not [n for n in pull(target(KEY), ["review"], client=Counting()).notes if n.about == "copy"]


def blind(keys: str) -> Worksheet:
    """A worksheet of which rows go where nobody wrote in them."""
    return review(keys=keys).model_copy(update={"departure": "unfilled"})


def test_a_row_that_somebody_deletes_while_others_go_stays_deleted(server: SheetsServer) -> None:
    """It is none that went by mistake."""
    pushed(blind("abc"))
    mari = server.person(KEY)
    mari.type(TITLE, at(server, "r1/c", "comment"), "私見 c")
    pushed(blind("d"), by=Meddled(lambda: None, lambda: mari.delete_rows(TITLE, 3), after=True))

    assert [row[0] for row in mari.rows(TITLE)[1:]] == ["r1/d"]


def test_rows_that_were_sorted_while_others_went_are_put_back(server: SheetsServer) -> None:
    """Google deletes what stands there by then: a row with words of the team's, and one without a key."""
    pushed(blind("abc"))
    mari = server.person(KEY)
    mari.type(TITLE, at(server, "r1/c", "comment"), "私見 c")
    mari.type(TITLE, f"{letter(column(server, 'question'))}5", "質問 r1/c の控え")
    client = Meddled(lambda: None, lambda: mari.sort(TITLE, "A2:I60", "質問", descending=True))
    done = pushed(blind("d"), by=client)

    rows = pull(target(KEY), ["review"], client=Counting()).rows["review"]
    found = {(row.key, row.cells["question"], row.cells.get("comment")) for row in rows}
    assert found == {
        ("r1/d", "質問 r1/d", None), ("r1/c", "質問 r1/c", "私見 c"), ("", "質問 r1/c の控え", None),
    }  # fmt: skip
    assert done.notes == (f"{TITLE}: sorted while rows went; 2 others are put back.",)
    assert pushed(blind("d")).writes == 0


@pytest.mark.parametrize("after", [False, True])
def test_a_newer_word_reaches_its_row_whatever_people_sort(server: SheetsServer, after: bool) -> None:
    """Right before it is written, or between its writing and the next look: no other row gets it."""
    mari, sheet = filled(server), review()
    first = replace(
        sheet.rows[0],
        cells={**sheet.rows[0].cells, "comment": SheetCell("新しい")},
        read={"comment": CellRead("私見 a")},
    )
    client = Meddled(lambda: None, lambda: DEEDS["sort"](server, mari), after=after)
    pushed(sheet.model_copy(update={"rows": (first, *sheet.rows[1:])}), by=client)

    assert client.deeds == []
    assert [row[0] for row in mari.rows(TITLE)[1:]] == ["r1/c", "r1/b", "r1/a"]
    assert comments() == {"r1/a": "新しい", "r1/b": "私見 b", "r1/c": "私見 c"}


def test_the_first_words_that_were_replaced_are_named_and_the_others_counted(server: SheetsServer) -> None:
    """Three rows, two words in each."""
    filled(server)
    sheet = review()
    rows = [
        replace(
            row,
            cells={**row.cells, "comment": SheetCell("新しい"), "judge_is": SheetCell("right")},
            read={"comment": CellRead(f"私見 {row.key[-1]}"), "judge_is": CellRead("wrong")},
        )
        for row in sheet.rows
    ]
    notes = [str(note) for note in pushed(sheet.model_copy(update={"rows": tuple(rows)})).notes]

    assert notes[0].endswith("“採点が誤り” (sheet) is now “採点は正しい” (sheet).")
    assert (len(notes), notes[-1]) == (6, "1 more cell was replaced.")
    assert set(comments().values()) == {"新しい"}


def test_a_column_that_lost_its_mark_gets_it_again(server: SheetsServer) -> None:
    """As one does that was cut and pasted: until it has it, its title tells which it is."""
    mari, book = filled(server), server.book(KEY)
    book.metadata[:] = [known for known in book.metadata if known.get("metadataValue") != "comment"]
    pushed(review())
    mari.rename_header(TITLE, "コメント", "ひとこと")
    pushed(review("r2"))

    assert {comments()[f"r1/{key}"] for key in "abc"} == {"私見 a", "私見 b", "私見 c"}


def test_a_refusal_is_said_at_once(server: SheetsServer) -> None:
    """Somebody deletes the worksheet that is being written; the next push makes it anew."""
    mari = filled(server)
    client = Meddled(lambda: mari.delete_sheet(TITLE))
    with pytest.raises(InputError, match=r"Google Sheets refused the request .* try again"):
        pushed(review("r2"), by=client)

    assert client.writes == 1
    assert pushed(review("r2")).worksheets == (TITLE,)


def test_restless_people_end_a_push(server: SheetsServer) -> None:
    """Rows that move at every attempt end in one line."""
    pushed(review())
    mari = server.person(KEY)
    client = Meddled(*[lambda: mari.insert_rows(TITLE, 2)] * 50)

    with pytest.raises(InputError, match="people keep moving"):
        pushed(review(question="変わった"), by=client)
