"""Which articles a run tested, at which rank the right ones came, and the gate that asks for it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from simulator.core.document import Cell, Notes
from simulator.core.types import (
    Answer,
    Case,
    Conversation,
    Failure,
    Passage,
    RedRules,
    Results,
    Run,
    StoredArticle,
    Turn,
)
from simulator.report.coverage import coverage_sections
from simulator.results.articles import heading_of
from simulator.results.coverage import Coverage, coverage_of, over_last_runs
from simulator.results.turns import run_turns
from simulator.storage.run_file import read_run
from tests.commands import Command
from tests.diff_runs import START, a_result, grades_of, stored
from tests.texts import said

ASKED = {"one": Cell(text="What does it cost?", href="#c1")}
BOT = """
ARTICLES = {"fees/price": "The plan costs 20 dollars.", "fees/late": "A late fee of 3 dollars is charged.",
            "desk/hours": "We are open from 9 to 5."}
CAME = {"price": ["fees/price", "desk/hours"], "hours": ["fees/price", "fees/late"]}

def answer(question):
    ids = next((ids for word, ids in CAME.items() if word in question.lower()), [])
    passages = [{"id": id, "text": ARTICLES[id]} for id in ids]
    return (passages[0]["text"] if passages else "I do not know."), passages
"""
QUESTIONS = """id,question,reference,passages,answerable,tags
price,What is the price?,It costs 20 dollars.,fees/price,yes,money
hours,What are your hours?,From 9 to 5.,desk/hours,yes,desk
moon,Do you deliver to the moon?,,,no,desk
gone,What is the price of a gone thing?,,fees/gone,yes,money
again,Is that your best price?,It costs 20 dollars.,fees/price,yes,money|must-not-break
"""
NAMED = "id,question,passages\n"


@pytest.fixture
def desk() -> None:
    """A bot with three articles, and questions that name two of them, and one that does not exist."""
    for folder, name, text in (
        ("fees", "price", "# Price\nThe plan costs 20 dollars."),
        ("fees", "late", "# Late payment\nA late fee of 3 dollars is charged."),
        ("desk", "hours", "# Hours\nWe are open from 9 to 5."),
    ):
        Path("kb", folder).mkdir(parents=True, exist_ok=True)
        Path("kb", folder, f"{name}.md").write_text(text, encoding="utf-8")
    Path("bot.py").write_text(BOT, encoding="utf-8")
    Path("questions.csv").write_text(QUESTIONS, encoding="utf-8")


WORDS = (
    "--cases", "questions.csv", "--adapter", "bot.py:answer", "--offline", "--json", "--persona", "calm",
    "--turns", "1",
)  # fmt: skip


def talk(case: str, needed: tuple[str, ...], *came: str, repeat: int = 1) -> Conversation:
    """A question that needs these articles, and what came for it."""
    passages = tuple(Passage(id=id_, text=id_) for id_ in came)
    turn = Turn(index=1, user="?", answer=Answer(text="!", passages=passages))
    asked = Case(id=case, question="?", language="en", passages=needed)
    return Conversation(id=f"calm/{case}#{repeat}", case=asked, persona="calm", repeat=repeat, turns=(turn,))


def covered(*talks: Conversation, articles: Mapping[str, str] | None = None) -> Coverage:
    """The coverage of a run of these conversations; without `articles` these are not known."""
    run = Run(id="run", created=START, settings={})
    stored_articles = tuple(
        StoredArticle.of(id_, heading_of(text), text) for id_, text in (articles or {}).items()
    )
    results = Results(run=run, planned=len(talks), conversations=talks, articles=stored_articles)
    return coverage_of(results, run_turns(results, RedRules(), "turn"))


def test_where_all_that_came_are_articles_the_search_is_at_fault() -> None:
    """Nothing that a question needs came; where something else came, too, the ids may be of another kind."""
    articles = {"a": "A.", "b": "B.", "c": "C."}
    lost = covered(talk("one", ("a",), "b", "c"), articles=articles).retrieval
    assert lost
    assert (lost.ranks, lost.recall, lost.mrr) == ({"one": None}, {1: 0}, 0)
    assert covered(talk("one", ("a",), "b", "kb/12"), articles=articles).retrieval is None
    assert covered(talk("one", ("a",)), articles=articles).retrieval is None


@pytest.mark.parametrize(
    ("articles", "needed", "came", "line", "note"),
    [
        (2, "a0", "a0", "1 of 2 articles tested; never retrieved: 1", "Never retrieved: a1."),
        (1, "a0", "a0", "1 of 1 article tested", "as ones for a person: 0."),
        (
            2, "a0", "a1",
            "1 of 2 articles tested; never retrieved: 1; questions whose article never came: 1",
            "Never retrieved: a0.",
        ),
        (52, "a0", "a0", "1 of 52 articles tested; never retrieved: 51", "1 more in --json."),
        (51, "a0", "a0", "1 of 51 articles tested; never retrieved: 50", "Never retrieved: a1, "),
        (2, "", "a0", "1 of 2 articles tested; never retrieved: 1", "No question names its articles"),
        (0, "a0", "a0", "Articles tested: 1; how many there are is not known", "--knowledge says which"),
        (0, "", "a0", "Articles retrieved: 1; how many there are is not known", "--knowledge says which"),
    ],
)  # fmt: skip
def test_the_report_says_in_a_line_what_was_tested(
    articles: int, needed: str, came: str, line: str, note: str
) -> None:
    """And in notes what was not; fifty articles are listed."""
    known = {f"a{n}": f"Text {n}." for n in range(articles)}
    coverage = covered(talk("one", (needed,) if needed else (), came), articles=known)
    first, *_search = coverage_sections(coverage, ASKED)
    *_tables, notes = first.blocks

    assert said(first.line) == line
    assert isinstance(notes, Notes)
    texts = [said(text.text) for text in notes.lines]
    assert any(note in text for text in texts)
    assert ("1 more in --json." in texts) is (articles == 52)
    assert [len(table.rows) for table in first.tables if table.name == "untested"] == (
        [min(articles - 1, 50)] if articles > 1 else []
    )


@pytest.mark.parametrize(
    ("came", "line", "ranks"),
    [
        ("abc", "Needed articles that came first: 100 %, among the first 3: 100 % (1 question)", []),
        ("bca", "Needed articles that came first: 0 %, among the first 3: 100 % (1 question)", ["3"]),
        (
            "bcd",
            "Needed articles that came first: 0 %, among the first 3: 0 % (1 question)",
            ["did not come"],
        ),
    ],
)
def test_the_report_says_how_the_search_did(came: str, line: str, ranks: list[str]) -> None:
    """Questions whose article did not come first are listed, what never came before all others."""
    _coverage, search = coverage_sections(
        covered(talk("one", ("a",), *came), articles=dict.fromkeys("abcd", "T.")), ASKED
    )

    assert said(search.line) == line
    assert search.folded
    assert [said(row[1].text) for table in search.tables for row in table.rows] == ranks
    assert all(row[0] == ASKED["one"] for table in search.tables for row in table.rows)


def test_a_first_answer_that_never_came_is_not_ranked() -> None:
    """A bot that failed searched for nothing; recall is shown as far as so many passages come."""
    good = talk("good", ("a",), *"abcde")
    answer = Answer(text="", error=Failure(kind="timeout", message="late"))
    failed = talk("bad", ("a",)).model_copy(update={"turns": (Turn(index=1, user="?", answer=answer),)})
    retrieval = covered(good, failed).retrieval
    assert retrieval
    assert (retrieval.ranks, retrieval.recall) == ({"good": 1}, {1: 1, 3: 1, 5: 1})


def test_articles_of_a_language_that_nobody_asked_in_are_not_counted() -> None:
    """Where each language has a folder; other folders are no languages."""
    ja, en, fees = {"ja/a": "A.", "ja/b": "B."}, {"en/a": "A."}, {"fees/a": "A."}
    asked = talk("one", ("ja/a",), "ja/a")
    assert [*covered(asked, articles=ja | en).titles] == ["ja/a", "ja/b"]
    assert [*covered(asked, articles=ja | en | fees).titles] == ["ja/a", "ja/b", "en/a", "fees/a"]
    assert [*covered(talk("one", ()), articles=ja | en).titles] == ["ja/a", "ja/b", "en/a"]
    assert covered(asked, articles=ja | en).topics == {}
    rows = covered(asked, articles={"ja/a": "A.", "faq.csv#1": "One.", "faq.csv#2": "Two."})
    assert rows.topics == {"ja": (1, 1), "faq.csv": (0, 2)}
    assert (rows.share, rows.untested) == (1 / 3, ("faq.csv#1", "faq.csv#2"))


def test_a_passage_counts_for_the_heading_that_it_stands_below() -> None:
    """Also where its piece begins in the middle of a section; an article with one heading has no list."""
    article = "# All\n\n## Price\n\nIt costs 20.\n\n## Delivery\n\nWe deliver.\n\nTo Mars, too."
    pieces = {"middle": "All\nTo Mars, too.", "head": "## Price\n\nIt costs 20.", "none": "Something else."}
    talks = []
    for name, text in pieces.items():
        turn = Turn(index=1, user="?", answer=Answer(text="!", passages=(Passage(id="all#1", text=text),)))
        talks.append(talk(name, ()).model_copy(update={"turns": (turn,)}))
    coverage = covered(*talks, articles={"all": article, "other": "# Other\n\n## One\n\nText."})
    assert coverage.headings == {"all": {"Price": 1, "Delivery": 1}}
    assert covered(*talks, articles={"other": "# Other\n\n## One\n\nText."}).headings == {}


def test_ten_runs_of_a_folder_count_and_only_those_of_the_same_bot() -> None:
    """What was tested before them may have changed since."""
    needed = {1: "old", 2: "kept", 5: "other"}
    for n in range(12):
        run = a_result(grades_of([1.0]), f"{n:02}", adapter="other" if n == 5 else "demo")
        (held,) = run.conversations
        case = held.case.model_copy(update={"passages": (needed.get(n, "none"),)})
        stored(run.model_copy(update={"conversations": (held.model_copy(update={"case": case}),)}))
    newest = read_run(Path("runs/11/run.sqlite")).run
    known = covered(talk("one", ("a",), "a"), articles=dict.fromkeys(("a", *needed.values()), "Text."))
    over = over_last_runs(known, newest, Path("runs"))

    assert (over.runs, [*over.tested_before]) == (9, ["kept"])
    assert over.as_json()["runs"] == {"n": 9, "tested": 2}


def test_ranks_are_those_of_a_table_worked_by_hand() -> None:
    """Recall@k is the share of the needed articles among k passages, MRR the mean of 1 / rank."""
    retrieval = covered(
        talk("first", ("a",), "a", "b", "c"),  # rank 1:   1    recall 1, 1
        talk("second", ("a",), "b", "a", "c"),  # rank 2:   1/2  recall 0, 1
        talk("both", ("a", "d"), "c", "b", "d"),  # rank 3:   1/3  recall 0, 1/2
        talk("never", ("e",), "a", "b", "c"),  # none:     0    recall 0, 0
        talk("unnamed", (), "a", "b", "c"),  # names nothing, and is no question of retrieval
    ).retrieval
    assert retrieval
    assert retrieval.ranks == {"first": 1, "second": 2, "both": 3, "never": None}
    assert retrieval.recall == pytest.approx({1: 1 / 4, 3: 2.5 / 4})
    assert retrieval.mrr == pytest.approx((1 + 1 / 2 + 1 / 3 + 0) / 4)


def test_repeats_of_a_question_weigh_as_one_question() -> None:
    """A question that was asked three times is not three questions."""
    retrieval = covered(
        talk("often", ("a",), "a"), talk("often", ("a",), "b", repeat=2), talk("once", ("b",), "b")
    ).retrieval
    assert retrieval
    assert retrieval.recall == {1: pytest.approx((1 / 2 + 1) / 2)}


def test_ids_of_another_kind_than_the_bots_are_not_ranked() -> None:
    """Where no named article ever came and nobody knows the articles, the ids may be of another kind."""
    assert covered(talk("one", ("FAQ 12",), "kb/12"), talk("two", ("FAQ 13",), "kb/13")).retrieval is None


@pytest.mark.usefixtures("desk")
def test_a_run_says_what_of_the_articles_it_tested(command: Command) -> None:
    """Articles no question needs, articles that never came, questions whose article never came, by folder.

    The page opens lists by a click: a lead reads how many were tested; who writes articles looks up which.
    A target may ask for it: the articles are counted, so that few of them are no small sample.
    """
    done = command(*WORDS, "--knowledge", "kb", "--target", "coverage >= .6", "--max-major", "1")
    shown = done.json["coverage"]
    page = Path(done.json["store"]).with_name("report.html").read_text(encoding="utf-8")
    for title in ("By folder", "By tag of the question", "Articles that no question needs: 1"):
        assert f"<summary>{title}</summary>" in page
    assert (shown["tested"], shown["articles"], shown["share"]) == (2, 3, pytest.approx(2 / 3, abs=1e-4))
    assert (shown["untested"], shown["never_retrieved"], shown["absent"]) == (["fees/late"], [], ["hours"])
    assert (shown["unknown"], shown["unanswerable"]) == ({"fees/gone": ["gone"]}, 1)
    assert shown["topics"] == {"fees": {"tested": 1, "articles": 2}, "desk": {"tested": 1, "articles": 1}}
    assert shown["tags"]["desk"] == {"questions": 2, "absent": 1}
    assert "must-not-break" in shown["tags"]
    assert ">must not break<" in page
    assert done.code == 0, json.dumps(done.json["reasons"])
    assert command("report", "latest", "--target", "coverage >= .9", "--max-major", "1").code == 1


@pytest.mark.usefixtures("desk", "server")
def test_without_knowledge_nobody_knows_how_many_articles_there_are(command: Command) -> None:
    """No share is made up, a target on it is undecided, and no questions are made for what is untested."""
    done = command(*WORDS, "--target", "coverage >= .9")
    assert (done.json["coverage"]["share"], done.json["coverage"]["complete"]) == (None, False)
    assert done.code == 1
    assert done.json["reasons"] == ["Articles tested not known (90 % required)"]
    made = command("cases", "make", "kb", "--uncovered", "latest", "--dry-run")
    assert made.code == 2
    assert "--knowledge" in made.error


@pytest.mark.usefixtures("desk", "server")
def test_what_no_run_tested_is_counted_over_several_and_gets_questions(command: Command) -> None:
    """Several runs of one folder together test more than the last of them; one question for each article."""
    for name in ("late", "price"):
        path = Path("kb", "fees", f"{name}.md")
        path.write_text(
            path.read_text(encoding="utf-8") + " It is charged on the first day of a month.\n" * 3
        )
    for name in ("late", "price"):
        Path("questions.csv").write_text(f"{NAMED}q,Is there a {name}?,fees/{name}\n", encoding="utf-8")
        shown = command(*WORDS, "--knowledge", "kb").json["coverage"]
    assert (shown["tested"], shown["runs"]) == (1, {"n": 2, "tested": 2})
    made = command("cases", "make", "--uncovered", "latest", "--dry-run", "--json").json
    assert made["forecast"]["judge"]["calls"] == 4  # late and hours: written, and checked


@pytest.mark.usefixtures("desk")
def test_articles_that_cannot_be_read_stop_a_run_before_it_begins(command: Command) -> None:
    """One line that names the file; nothing was run."""
    Path("kb", "faq.csv").write_text("colour,size\nred,9\n", encoding="utf-8")
    done = command(*WORDS, "--knowledge", "kb")
    assert done.code == 2
    assert "faq.csv" in done.error
    assert not list(Path("runs").glob("*/run.sqlite"))


@pytest.mark.usefixtures("desk")
def test_a_document_with_many_headings_is_counted_by_heading(command: Command) -> None:
    """A long document is one article: its headings say which part of it came."""
    filler = "All of it is in the contract. " * 60
    parts = "".join(f"\n\n## {name}\n\n{text} {filler}" for name, text in (
        ("Price", "The plan costs 20 dollars."), ("Delivery", "We deliver to Mars."),
    ))  # fmt: skip
    Path("kb/desk/all.md").write_text(f"# Everything{parts}", encoding="utf-8")
    Path("bot.py").write_text(
        "def answer(question):\n    text = 'Everything\\n## Price\\n\\nThe plan costs 20 dollars.'\n"
        "    return 'It costs 20 dollars.', [{'id': 'desk/all#1', 'text': text}]\n",
        encoding="utf-8",
    )
    shown = command(*WORDS, "--knowledge", "kb").json["coverage"]
    assert shown["headings"] == {"desk/all": {"Price": 5, "Delivery": 0}}
