"""A review as a team does it: pushed, written in, sorted and pushed again, read back, and asked again.

Over the command line, from a Google Sheet and from a workbook; the figures are worked out here by hand.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.api.outputs import RunOutputs
from simulator.cli.app import main
from simulator.core.settings import stored_settings
from simulator.core.types import HumanVerdict, Results
from simulator.results.disputes import read_results
from simulator.results.figures import Summary
from simulator.results.red import grading_judges
from simulator.results.review import blind_sample, review_keys
from simulator.results.summary import summarise
from simulator.storage.run_file import find_run, read_run
from simulator.storage.words import Edit, Word, save_words
from tests.excel import Person
from tests.servers.sheets import SheetsServer
from tests.sheets_sink import KEY, column, letter, row_of, sheets_server

ASKED = ("--offline", "--adapter", "demo", "--persona", "calm", "--turns", "1", "--judges", "turn")
GRADE_1, GRADE_2 = "人の評価（1人目）", "人の評価（2人目）"
TITLES = {
    "judge_is": "採点への意見", "cause": "原因", "comment": "コメント", "status": "対応状況",
    "assignee": "担当者", "correct_answer": "模範回答の案", "grade_1": GRADE_1, "grade_2": GRADE_2,
}  # fmt: skip
CAUSES = {"知識不足": "knowledge", "検索漏れ": "retrieval", "口調": "tone"}
PICKED = CAUSES | {
    "採点は正しい": "right", "採点が誤り": "wrong", "判断できない": "unsure", "反映済み": "mended",
}  # fmt: skip

# Cells that people write: worksheet, key of the row, key of the column, text.
Deed = tuple[str, str, str, str]


def figures(results: Results) -> Summary:
    """Its figures."""
    settings = stored_settings(results.run.settings)
    judges = grading_judges(results, settings.judges)
    return summarise(results, rules=settings.red, judges=judges, seed=settings.seed)


def sample(results: Results) -> dict[tuple[str, int], float]:
    """The turns that people grade blind, and their chances."""
    return blind_sample(results, figures(results))


def key(results: Results, at: tuple[str, int]) -> str:
    """The key of a turn's row in the worksheet to grade blind."""
    return f"{results.run.id}/{at[0]}/{at[1]}"


def answers(results: Results) -> dict[str, list[tuple[str, int]]]:
    """The red turns of each row of the review by its key, the reddest first."""
    key_of, found = review_keys(results, figures(results)), dict[str, list[tuple[str, int]]]()
    conversations = {conversation.id: conversation for conversation in results.conversations}
    for red in figures(results).red.answers:
        conversation = conversations[red.conversation]
        turn = conversation.turns[red.turn - 1]
        found.setdefault(key_of(conversation, turn), []).append((red.conversation, red.turn))
    return found


def human(number: int) -> tuple[int, int | None]:
    """What the two reviewers give the turn of that number in the sample."""
    return 1 + number * 7 % 5, 1 + number * 3 % 5 if number % 4 == 0 else None


def deeds(results: Results) -> list[Deed]:
    """All that the team writes: a review of most red answers, and both reviewers' grades."""
    red = list(answers(results).items())
    assert len(red) >= 8
    assert len(red) < len(figures(results).red.answers), "some were given to several customers"
    written: list[Deed] = []
    for number, (row, turns) in enumerate(red[:-1]):
        said = {
            "judge_is": ("採点は正しい", "採点が誤り", "採点は正しい", "判断できない")[number % 4],
            "comment": f"=私見 {number}　改行\nあり",
        }
        if number % 4 in (0, 2):
            said |= {"cause": list(CAUSES)[number // 2 % 3], "assignee": "佐藤" if number % 4 else "鈴木"}
        if turns[0][1] == 1 and number % 4 == 0:
            said |= {"correct_answer": f"正しくは {number} です", "status": "反映済み"}
        written += [("確認", row, name, text) for name, text in said.items()]
    for number, drawn in enumerate(sample(results)):
        one, two = human(number)
        written.append(("目視採点", key(results, drawn), "grade_1", f"{one}点" if number % 3 else str(one)))
        if two is not None:
            written.append(("目視採点", key(results, drawn), "grade_2", "１２３４５"[two - 1]))
    return written


def push_it(results: Results) -> None:
    """Into the sheet; the run keeps a note of where."""
    assert main(("report", results.run.id, "--to", "sheets", "--sheet", KEY)) == 0
    assert read_run(find_run(results.run.id, Path("runs"))).notes["sheet"] == {"key": KEY, "worksheet": ""}


def check_the_figures(shown: dict[str, Any], results: Results) -> None:
    """Counts, shares by sampling rate, and precision: by hand."""
    values = {(s.conversation, s.turn): s.value for s in results.scores if s.judge == "turn"}
    red = {(t.conversation, t.turn) for t in figures(results).red.answers}
    rows = []
    for number, (at, chance) in enumerate(sample(results).items()):
        grades = [grade for grade in human(number) if grade is not None]
        rows.append((sum(grades) / len(grades), 5 * (values[at] or 0), at in red, 1 / chance))
    whole = sum(weight for *_, weight in rows)
    same = sum(weight for human, _, is_red, weight in rows if (human < 3.5) == is_red)
    missed = [human for human, _, is_red, _ in rows if human <= 2 and not is_red]
    found, n = shown["agreement"], len(answers(results)) - 1
    right, wrong, unsure = (sum(i % 4 in kind for i in range(n)) for kind in ((0, 2), (1,), (3,)))
    precision = shown["review"]["precision_of_red"]

    assert found["turns"] == len(rows)
    assert found["same_side"] == pytest.approx(same / whole, abs=1e-4)
    assert found["missed"]["n"] == len(missed)
    assert (precision["right"], precision["wrong"], precision["unsure"]) == (right, wrong, unsure)
    assert precision["precision"] == pytest.approx(right / (right + wrong), abs=1e-4)
    assert len(shown["review"]["judge_wrong"]) == wrong


def check_nothing_is_lost(results: Results, written: list[Deed]) -> None:
    """Every cell that people wrote stands in the run, beside every turn with the answer of its row."""
    said: dict[tuple[str, str, str], HumanVerdict] = {
        (v.source, key(results, v.key), v.reviewer): v for v in results.verdicts
    }
    same = answers(results)
    for sheet, row, name, text in written:
        source, reviewer = ("review", "") if sheet == "確認" else ("blind", name[-1])
        expected: object = int(text.removesuffix("点")) if source == "blind" else PICKED.get(text, text)
        turns = [f"{results.run.id}/{at}/{turn}" for at, turn in same[row]] if source == "review" else [row]
        for turn in turns:
            value = getattr(said[source, turn, reviewer], "grade" if source == "blind" else name)
            assert value == expected


@pytest.fixture
def finished(long_run: Path) -> Path:
    """A run with enough answers to say something of the judge."""
    return long_run


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SheetsServer]:
    with sheets_server(monkeypatch) as running:
        yield running


def write_in_the_sheet(server: SheetsServer, written: list[Deed]) -> None:
    """One cell after the other; none of them moves a row."""
    mari = server.person(KEY)
    rows = {
        title: {text: number for number, texts in enumerate(mari.rows(title), 1) for text in texts}
        for title in {title for title, *_ in written}
    }
    for title, row, name, text in written:
        sheet = "review" if title == "確認" else "blind"
        # An apostrophe keeps a text from being a formula, as people know.
        mari.type(title, f"{letter(column(server, name, sheet))}{rows[title][row]}", _typed(text))


def rearrange(server: SheetsServer) -> None:
    """What people do to worksheets to make them theirs."""
    mari = server.person(KEY)
    mari.sort("確認", "A2:P80", "D", descending=True)
    mari.insert_columns("確認", "E", 2)
    mari.rename_header("確認", "コメント", "気づいたこと")
    mari.sort("目視採点", "A2:I60", "E")
    mari.insert_rows("目視採点", 3)
    mari.insert_columns("目視採点", "B")


def _typed(text: str) -> str:
    return f"'{text}" if text.startswith("=") else text


def test_blind_grades_in_the_workbook_of_a_run_count_without_naming_it(run: Any) -> None:
    """At the next run into workbooks, and at `review`; a word that is no grade is named at both."""
    run("report", "latest", "--to", "xlsx")
    (path,) = Path("runs").glob("*/report.xlsx")
    with Person(path) as person:
        for row, text in ((2, "4"), (3, "２点"), (4, "良い")):
            person.type("目視採点", row, GRADE_1, text)
    written = run("report", "latest", "--to", "xlsx")
    grades = sorted(v.grade or 0 for v in open_run().verdicts if v.source == "blind")
    read = run("review", "latest", "--json")

    for done in (written, read):
        assert "Blind, row 4, column Grade, reviewer 1: grade '良い'" in done.err
    assert grades == [2, 4]
    assert read.json["agreement"]["grades"] == 2


def test_a_workbook_that_cannot_be_read_keeps_no_review_from_its_words(run: Any) -> None:
    """It is named, where nobody asked for it."""
    (folder,) = Path("runs").iterdir()
    (folder / "report.xlsx").write_bytes(b"no workbook")
    done = run("review", "latest")

    assert done.code == 0
    assert "report.xlsx" in done.err
    assert done.err.rstrip().endswith("It is left alone.")
    assert run("review", "latest", "--from", str(folder / "report.xlsx")).code == 2


def test_a_review_in_a_sheet(run: Any, server: SheetsServer) -> None:
    """Nothing is lost, whatever people do; figures are those worked out by hand; the next run asks it."""
    results = open_run()
    push_it(results)
    written = deeds(results)
    write_in_the_sheet(server, written[: len(written) // 2])
    push_it(results)
    halfway = run("review", "latest", "--from", "sheet", "--json").json
    # A push reads what was written before it, too.
    read = halfway["read"]
    assert (read["new"], read["known"]) == (0, read["review"] + read["blind"])
    # Its unit is the row, however many customers got the answer.
    assert 0 < read["known"] < len(open_run().verdicts)
    rearrange(server)
    write_in_the_sheet(server, written)
    push_it(results)

    address = f"sheet:https://docs.google.com/spreadsheets/d/{KEY}/edit#gid=0"
    done = run("review", "latest", "--from", address, "--json")
    shown = done.json
    assert done.code == 0
    assert "skipped" not in done.err
    assert shown["read"]["skipped"] == 0
    check_nothing_is_lost(open_run(), written)
    check_the_figures(shown, open_run())
    again = run("review", "latest", "--from", "sheet", "--json").json
    assert (again["read"]["new"], again["read"]["known"]) == (0, shown["read"]["known"])
    assert again["agreement"] == shown["agreement"]

    labels = run("review", "latest", "--export", "labels.jsonl")
    assert f"({len(sample(results))} answers)" in labels.err
    rehearsal = run(*ASKED, "--cases", f"sheet:{KEY}")
    assert rehearsal.code == 0
    same = answers(results)
    mended = {same[row][0][0].partition("/")[2].partition("#")[0]: text
              for _, row, name, text in written if name == "correct_answer"}  # fmt: skip
    asked = {conversation.case.id: conversation.case for conversation in open_run().conversations}
    assert mended
    assert set(asked) == {conversation.case.id for conversation in results.conversations}
    assert all(text in asked[case].references_at(1) for case, text in mended.items())
    assert any(f"the reference answer of {case} (run {results.run.id})" in rehearsal.err for case in mended)


def test_a_review_in_a_workbook(run: Any) -> None:
    """The same from --to xlsx, sorted, inserted into, sent around and written again."""
    results = open_run()
    folder = find_run("latest", Path("runs")).parent
    assert run("report", "latest", "--to", "xlsx").code == 0
    written = [(title, row, name, text.removeprefix("=")) for title, row, name, text in deeds(results)]
    write_in_the_workbook(folder / "report.xlsx", written[: len(written) // 2])
    assert run("report", "latest", "--to", "xlsx").code == 0
    newest = folder / "report-2.xlsx"
    write_in_the_workbook(newest, written[len(written) // 2 :])
    sent = Path(shutil.copy(newest, "確認済み（最終）.xlsx"))

    shown = run("review", "latest", "--from", str(sent), "--json").json
    assert shown["read"]["skipped"] == 0
    check_nothing_is_lost(open_run(), written)
    check_the_figures(shown, open_run())
    again = run("review", "latest", "--from", str(newest))
    assert (again.code, again.err) == (0, "")
    assert "そのうち新しい記入は0件です" in again.out.replace("\n", "")
    asked = run(*ASKED, "--cases", str(sent))
    assert asked.code == 0
    assert "what the team reviewed is now the reference answer" in asked.err


@pytest.mark.parametrize("place", ["sheets", "page"])
def test_what_the_team_wrote_counts_for_the_run_that_follows(
    run: Any, server: SheetsServer, place: str
) -> None:
    """It is read from where the run will be written, before that begins: its own report knows it.

    Where the same answer is given again, the run has the words, with who said them.
    """
    to = ("--language", "ja", "--to", "sheets", "--sheet", KEY)
    assert run(*ASKED, "--limit", "6", *to).code == 0
    first = open_run()
    row, places = next(iter(answers(first).items()))
    if place == "sheets":
        write_in_the_sheet(server, [("確認", row, "judge_is", "採点が誤り")])
    else:
        changes: dict[Word, Edit] = {"judge_is": Edit(None, "wrong"), "comment": Edit("", "料金が古い")}
        save_words(find_run("latest", Path("runs")), dict.fromkeys(places, True), changes, "森", red=True)

    assert run(*ASKED, "--limit", "6", *to, "--json").json["disputed"] == len(places) > 0
    results, by = read_results(find_run("latest", Path("runs"))), "森" if place == "page" else ""
    said = {(v.conversation, v.turn): (v.judge_is, v.reviewer) for v in results.verdicts}
    assert said == dict.fromkeys(places, ("wrong", by))
    disputed = [red.dispute.dispute for red in figures(results).red.answers if red.dispute]
    assert {dispute.run for dispute in disputed} == {first.run.id}
    context = RunOutputs(find_run("latest", Path("runs")), stored_settings(results.run.settings)).context
    assert [len(context.words(*turn)) for turn in places] == [1] * len(places)
    if place == "page":
        assert {"採点が誤り", "料金が古い"} <= {*server.person(KEY).rows("確認")[row_of(server, row) - 1]}


def test_words_go_on_with_a_wrong_answer_in_other_words(run: Any) -> None:
    """But for what was said of the mark; not once the question was answered rightly."""
    Path("bot.py").write_text("def answer(question):\n    return open('said.txt').read()\n", encoding="utf-8")
    Path("one.csv").write_text("question,reference\n送料はいくらですか,送料は550円です。\n", encoding="utf-8")
    asked = [*ASKED, "--adapter", "bot.py:answer", "--cases", "one.csv"]
    said = []
    for answer in ("送料は8,000円です。", "存じません。", "送料は550円です。", "送料は9,000円です。"):
        Path("said.txt").write_text(answer, encoding="utf-8")
        assert run(*asked).code == 0
        said.append([(v.judge_is, v.assignee, v.reviewer) for v in open_run().verdicts])
        if not said[-1]:
            changes: dict[Word, Edit] = {"judge_is": Edit(None, "right"), "assignee": Edit("", "佐藤")}
            [talk] = open_run().conversations
            save_words(find_run("latest", Path("runs")), {(talk.id, 1): True}, changes, "森", red=True)

    assert said == [[], [(None, "佐藤", "森")], [], []]


def write_in_the_workbook(path: Path, written: list[Deed]) -> None:
    """By the rows' keys, in a workbook that is sorted and has a column more before."""
    with Person(path) as person:
        person.sort("確認", lambda row: str(row[3]))
        person.insert_column("確認", "採点への意見", "優先度")
        for title, row, name, text in written:
            cells = person.book[title]
            place = next(n for n in range(2, cells.max_row + 1) if cells.cell(n, 1).value == row)
            person.type(title, place, TITLES[name], text)
