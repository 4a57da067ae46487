"""Who is answered, and what changes a run: the browser with the token, and nobody else."""

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.report.worksheets import blind_sheet
from simulator.results.review import blind_agreement, blind_sample
from simulator.storage.run_file import RunFile, read_run
from simulator.web.review import RunReview
from simulator.web.server import ASSETS, Pages
from tests.commands import Command
from tests.reviewed_runs import summary_of
from tests.sample_runs import rehearsed
from tests.servers.loopback import on_thread
from tests.servers.openai import serve
from tests.web.opened import Opened, opened, word

WRITES = {
    "words": word(judge_is=(None, "right")),
    "decision": {"was": {}, "now": {"verdict": "go", "by": "Sato"}},
    "again": {"conversation": "angry/cancel-03-ja#0", "agreed": True},
    "grades": {"key": "rehearsed/angry/cancel-03-ja#0/1", "by": "Sato", "grade": 2},
}


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Opened]:
    """The page of the rehearsed run."""
    with opened(tmp_path / "runs") as served:
        yield served


def test_a_word_is_saved_as_it_is_said(page: Opened) -> None:
    """In every conversation with the answer, with name and time; what counts then is answered."""
    reply = page.ask(
        "words", "POST", word(judge_is=(None, "wrong"), correct_answer=("", "解約料は9,800円です。 "))
    )
    (said,) = reply.json["words"]

    assert reply.status == 200
    assert (said["judge_is"], said["correct_answer"], said["by"]) == (
        "wrong",
        "解約料は9,800円です。",
        "Sato",
    )
    assert [(row["source"], row["reviewer"], row["judge_is"]) for row in page.rows] == [
        ("page", "Sato", "wrong")
    ]
    assert page.ask("state").json["words"] == [said]


def test_a_test_is_written_as_it_is_ticked(
    page: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masked, once, with what is said of it later; a file with a line that is no test is named."""
    monkeypatch.chdir(tmp_path)
    tests = tmp_path / "tests.jsonl"
    page.ask("words", "POST", word(judge_is=(None, "wrong")))
    assert not tests.exists()
    for change in (
        {"make_test": (False, True)},
        {"correct_answer": ("", "9,800円です。電話は090-1234-5678です。")},
        {"status": ("", "mended")},
    ):
        assert page.ask("words", "POST", word(**change)).status == 200
    (line,) = map(json.loads, tests.read_text(encoding="utf-8").splitlines())
    assert "9,800円です。" in line["references"][0][0]
    assert "090-1234-5678" not in line["references"][0][0]
    assert line["tags"][-1] == "must-not-break"

    tests.write_text("no test\n", encoding="utf-8")
    reply = page.ask("words", "POST", word(comment=("", "料金表")))
    assert (reply.status, "line 1" in reply.json["error"]) == (400, True)


def test_another_word_is_not_overwritten_unseen(page: Opened) -> None:
    """What is there comes back, with who wrote it; nothing is written."""
    page.ask("words", "POST", word(judge_is=(None, "right")))
    reply = page.ask("words", "POST", {**word(judge_is=(None, "wrong")), "by": "Ito"})

    assert reply.status == 409
    assert (reply.json["current"]["judge_is"], reply.json["current"]["by"]) == ("right", "Sato")
    assert len(page.rows) == 1


def test_a_decision_is_not_overwritten_unseen(page: Opened) -> None:
    """The one that is there comes back."""
    first = page.ask("decision", "POST", WRITES["decision"])
    second = page.ask("decision", "POST", {"was": {}, "now": {"verdict": "no", "by": "Ito"}})
    decided = read_run(page.path).release_decision

    assert (first.status, second.status) == (200, 409)
    assert second.json["current"]["by"] == "Sato"
    assert decided
    assert (decided.verdict, decided.by) == ("go", "Sato")


def test_a_forged_request_writes_nothing(page: Opened) -> None:
    """Under another name, from another page, as a form, or from who knows where."""
    for name, body in WRITES.items():
        for status, headers in (
            (403, {"Host": "rehearsal.example"}),
            (403, {"Origin": "https://evil.example"}),
            (403, {"Origin": "null"}),
            (415, {"Content_Type": "text/plain"}),
        ):
            reply = page.ask(name, "POST", body, **headers)
            assert (reply.status, reply.text) == (status, ""), (name, headers)

    assert page.rows == []
    assert read_run(page.path).release_decision is None


def test_without_the_token_there_is_nothing(page: Opened) -> None:
    """Not even whether the run is there."""
    known = page.address.split("/")[3]
    for forged in ("", "runs", known[:-1]):
        for path in ("", "state", "words", "events"):
            for method, body in (("GET", None), ("POST", WRITES["words"])):
                reply = page.ask(f"/{forged}/{page.path.parent.name}/{path}", method, body)
                assert (reply.status, reply.text) == (404, ""), (forged, path, method)
    assert page.rows == []


def test_a_ticket_opens_once(page: Opened) -> None:
    """It leads to the page; whoever reads it from a list of processes comes too late."""
    ticket = page.pages.address(page.path.parent.name, once=True)
    path = ticket[ticket.index("/", 8) :]
    first, second = page.ask(path), page.ask(path)

    assert (first.status, second.status) == (303, 404)
    assert page.address.endswith(first.headers["Location"])


def test_another_page_reads_nothing(page: Opened) -> None:
    """A script elsewhere may send the request, but nothing lets it read the answer, or show it in a frame."""
    reply = page.ask("state", Origin="https://evil.example")
    ours = page.ask("")

    assert (reply.status, reply.text) == (403, "")
    assert not [name for name in ours.headers if name.lower().startswith("access-control")]
    assert ours.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert ours.headers["Cache-Control"] == "no-store"
    assert "connect-src &#39;self&#39;" in ours.text


def test_looking_changes_nothing(page: Opened) -> None:
    """Whatever address is asked for with GET, HEAD or another word, every row stays as it is."""
    before = read_run(page.path).model_dump()
    for path in ("", "state", *ASSETS, *WRITES, "difference"):
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
            status = page.ask(path, method, None).status
            assert status in {200, 404} if method in {"GET", "HEAD"} else status == 404, (
                path,
                method,
                status,
            )

    assert page.rows == []
    assert read_run(page.path).model_dump() == before


def test_nothing_outside_the_folder_is_served(page: Opened, tmp_path: Path) -> None:
    """A run is a name that the folder has; no path is made of a request."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "run.sqlite").write_bytes(page.path.read_bytes())
    token = page.address.split("/")[3]
    for name in ("..", "%2e%2e%2fsecret", "../secret", "..%5c", "%00", "*", "run.sqlite", "%2fetc%2fpasswd"):
        for path in (f"{name}/", f"{name}/state", f"{page.path.parent.name}/{name}"):
            reply = page.ask(f"/{token}/{path}")
            assert reply.status in {400, 403, 404}, path
            assert "会話" not in reply.text


def test_it_listens_on_this_machine_alone(page: Opened) -> None:
    """At one of its own addresses: at another one the port is free."""
    with socket.socket() as other:
        other.bind(("127.0.0.2", page.pages.port))

    assert page.address.startswith("http://127.0.0.1:")


def test_what_is_no_word_is_refused(page: Opened) -> None:
    """In one line, and nothing is written."""
    bodies: tuple[Any, ...] = (
        {**word(judge_is=(None, "right")), "turn": 9},
        {**word(judge_is=(None, "right")), "conversation": "nobody/0"},
        word(judge_is=(None, "maybe")),
        word(source=("", "blind")),
        word(comment=("", "x" * 20_001)),
        {**word(comment=("", "x")), "by": "x" * 81},
        {**word(), "changes": {}},
        {}, [], None,
    )  # fmt: skip
    for body in bodies:
        assert page.ask("words", "POST", body).status in {400, 415}, body

    assert page.rows == []
    longest = {**word(comment=("", "x" * 20_000)), "by": "x" * 80}
    assert page.ask("words", "POST", longest).status == 200


def test_a_body_has_a_limit(page: Opened) -> None:
    """A megabyte is not read."""
    assert page.ask("words", "POST", "x" * 2**20).status == 413


def test_a_text_is_held_against_the_answer(page: Opened) -> None:
    """By words and figures, signs of Japanese one by one; joined, both texts are there."""
    place = {key: value for key, value in word().items() if key in {"conversation", "turn"}}
    talk = next(talk for talk in read_run(page.path).conversations if talk.id == place["conversation"])
    pieces = page.ask("difference", "POST", {**place, "text": "解約料は9,900円です。"}).json["pieces"]

    assert "".join(text for kind, text in pieces if kind != "ins") == talk.turns[0].answer.text
    assert "".join(text for kind, text in pieces if kind != "del") == "解約料は9,900円です。"
    assert {("del", "9,800"), ("ins", "9,900")} <= set(map(tuple, pieces))


def test_what_differs_is_shown_in_words(page: Opened) -> None:
    """A kana that both happen to have is no common word, and two texts that share little are two texts."""
    place = {key: value for key, value in word().items() if key in {"conversation", "turn"}}
    for text, changes in (
        ("解約金は9,800円です。工事費で別に請求します。", [
            ["", "解約金は9,800円です。"],
            ["del", "機器は解約後いつでもご返却いただけます"],
            ["ins", "工事費で別に請求します"],
            ["", "。"],
        ]),
        ("電話でしか、受け付けません。", [
            ["del", "解約金は9,800円です。機器は解約後いつでもご返却いただけます。"],
            ["ins", "電話でしか、受け付けません。"],
        ]),
    ):  # fmt: skip
        assert page.ask("difference", "POST", {**place, "text": text}).json["pieces"] == changes


def test_an_unknown_run_is_one_line(command: Command) -> None:
    """Before anything is served."""
    done = command("open", "nowhere", "--no-browser")

    assert (done.code, done.out) == (2, "")
    assert done.error


def test_blind_grades_are_those_of_the_worksheet(page: Opened, command: Command) -> None:
    """The same answers in the same order, and what is written counts as a grade of its sample."""
    reading = RunReview(page.path).reading
    context = reading.outputs.context
    rows = blind_sheet(context).rows
    state = page.ask("blind?by=Sato").json
    drawn = blind_sample(context.results, context.summary)
    for n, row in enumerate(rows):
        grade = {"key": row.key, "by": " Sato ", "grade": 1 + n % 5, "comment": "早い"}
        assert page.ask("grades", "POST", grade).status == 200
    results = read_run(page.path)
    given = {(word.conversation, word.turn): word for word in results.verdicts}
    agreement = blind_agreement(results, summary_of(results))
    reviewed = command("review", page.path.parent.name, "--runs", str(page.path.parent.parent), "--json")

    assert [answer["key"] for answer in state["answers"]] == [row.key for row in rows]
    assert [answer["answer"] for answer in state["answers"]] == [row.cell("answer").text for row in rows]
    assert {answer["passages"][:1] for answer in state["answers"]}.isdisjoint("[#")
    assert {place: word.sampled for place, word in given.items()} == drawn
    assert {(word.source, word.reviewer, word.comment) for word in results.verdicts} == {
        ("blind", "Sato", "早い")
    }
    assert agreement
    assert agreement.grades == len(rows)
    assert "人のコメント：早い" in reviewed.err


def test_a_blind_reader_sees_no_other_word(page: Opened) -> None:
    """No score, reason or mark, and nothing that another one graded or wrote; what was taken back is gone."""
    page.ask("words", "POST", word(judge_is=(None, "wrong"), comment=("", "口外無用")))
    key = page.ask("blind?by=Ito").json["answers"][0]["key"]
    page.ask("grades", "POST", {"key": key, "by": "Sato", "grade": 1, "comment": "他言無用"})
    other = page.ask("blind?by=Ito")
    mine = page.ask("blind?by=Sato").json["grades"]
    seen = {"grade": 1, "comment": "他言無用"}
    page.ask("grades", "POST", {"key": key, "by": "Sato", "grade": None, "was": seen})
    html = page.ask("blind.html").text

    assert other.json["grades"] == {}
    assert {name for answer in other.json["answers"] for name in answer} == {
        "key", "earlier", "question", "passages", "answer",
    }  # fmt: skip
    assert not [text for text in ("口外無用", "他言無用", "Sato", "▲") if text in other.text + html]
    assert mine == {key: {"grade": 1, "comment": "他言無用"}}
    assert page.ask("blind?by=Sato").json["grades"] == {key: {"grade": None, "comment": ""}}
    assert blind_agreement(read_run(page.path), summary_of(read_run(page.path))) is None


def test_a_blind_grade_of_the_same_name_is_not_overwritten_unseen(page: Opened) -> None:
    """Two people who typed one name: the second one gets what is there; once seen, it may be changed."""
    grade = {"key": page.ask("blind").json["answers"][0]["key"], "by": "Sato", "grade": 1}
    page.ask("grades", "POST", {**grade, "comment": "料金が違う"})
    refused = page.ask("grades", "POST", {**grade, "grade": 5})
    other_name = page.ask("grades", "POST", {**grade, "grade": 5, "by": "Sato K."})
    seen = {"grade": 1, "comment": " 料金が違う\x07"}
    changed = page.ask("grades", "POST", {**grade, "grade": 5, "was": seen})

    current = refused.json["current"]
    assert (refused.status, current["grade"], current["comment"]) == (409, 1, "料金が違う")
    assert (other_name.status, changed.status) == (200, 200)
    assert [(row["reviewer"], row["grade"]) for row in page.rows] == [
        ("Sato", 1), ("Sato K.", 5), ("Sato", 5),
    ]  # fmt: skip


def test_what_is_no_blind_grade_is_refused(page: Opened) -> None:
    """Nothing is written, and sampling rates are not the page's to say."""
    grade = {"key": page.ask("blind").json["answers"][0]["key"], "by": "Sato", "grade": 3}
    long = ({"by": "x" * 81}, {"comment": "x" * 20_001})
    for change in ({"grade": 6}, {"grade": 0}, {"by": " "}, {"key": "x/y/1"}, {"sampled": 1}, *long):
        assert page.ask("grades", "POST", {**grade, **change}).status == 400, change

    assert page.rows == []


def test_blind_grading_is_of_one_run(command: Command) -> None:
    """Without a run, one line says how."""
    done = command("open", "--blind", "--no-browser")

    assert done.code == 2
    assert "open latest --blind" in done.err


def _rehearsed_by(command: Command, *options: str) -> Path:
    """The file of a run of a bot that says one more each time."""
    Path("bot.py").write_text(
        "from itertools import count\n\nn = count(1)\n\n\n"
        "def answer(question):\n    return f'9,800円 {next(n)}'\n",
        encoding="utf-8",
    )
    done = command(
        "--adapter", "bot.py:answer", "--limit", "1", "--persona", "angry", "--turns", "2", *options
    )
    assert done.code == 0, done.err
    return next(Path("runs").glob("*/run.sqlite"))


def test_a_question_is_asked_again(command: Command) -> None:
    """Its cost is said first; the new answers are a note, and every score and answer stays as it was."""
    path = _rehearsed_by(command, "--offline")
    before = read_run(path)
    (talk,) = before.conversations
    with on_thread(Pages(path.parent.parent)) as pages:
        page = Opened(path, pages)
        assert page.ask("again").status == 404
        cost = page.ask("again", "POST", {"conversation": talk.id})
        unasked = page.ask("state").json["again"]
        done = page.ask("again", "POST", {"conversation": talk.id, "agreed": True})
        (held,) = page.ask("state").json["again"]
    after = read_run(path)

    assert cost.json == {"cost": "At most 2 answers of the bot, no call of a model."}
    assert (unasked, done.status) == ([], 200)
    assert held["conversation"] == talk.id
    assert held["turns"][0]["user"] == talk.turns[0].user
    assert held["turns"][0]["answer"].startswith("9,800円")
    assert list(after.conversations) == list(before.conversations)
    assert list(after.scores) == list(before.scores)


def test_the_customer_that_is_asked_again_is_the_same_model(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the run's models; a key that is gone is one line, as is a bot that is gone."""
    with serve() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        path = _rehearsed_by(command, "--cache", "off")
        (talk,) = read_run(path).conversations
        with on_thread(Pages(path.parent.parent)) as pages:
            page = Opened(path, pages)
            cost = page.ask("again", "POST", {"conversation": talk.id}).json["cost"]
            asked = server.counts.total()
            done = page.ask("again", "POST", {"conversation": talk.id, "agreed": True})
            (held,) = page.ask("state").json["again"]
            calls = server.counts.total() - asked
            Path("bot.py").unlink()
            gone = page.ask("again", "POST", {"conversation": talk.id, "agreed": True})
            monkeypatch.delenv("OPENAI_BASE_URL")
            monkeypatch.delenv("OPENAI_API_KEY")
            no_key = page.ask("again", "POST", {"conversation": talk.id})

    assert (done.status, len(held["turns"]) > 0, calls > 0) == (200, True, True)
    assert cost.startswith("At most 2 answers of the bot, 2 model calls, about ")
    assert "USD" in cost
    assert (gone.status, no_key.status) == (400, 400)
    assert "bot.py" in gone.json["error"]
    assert "OPENAI_API_KEY" in no_key.json["error"]


def test_a_bot_that_blocks_holds_up_no_page(command: Command) -> None:
    """While it is asked again, and keeps its event loop to itself, pages are served."""
    Path("bot.py").write_text(
        "from pathlib import Path\nfrom urllib.request import urlopen\n\npage = Path('page')\n\n\n"
        "async def answer(question):\n"
        "    return str(urlopen(page.read_text(), timeout=5).status) if page.exists() else '9,800円'\n",
        encoding="utf-8",
    )
    assert command("--adapter", "bot.py:answer", "--limit", "1", "--turns", "1", "--offline").code == 0
    path = next(Path("runs").glob("*/run.sqlite"))
    talk = next(iter(read_run(path).conversations))
    with on_thread(Pages(path.parent.parent)) as pages:
        page = Opened(path, pages)
        Path("page").write_text(f"{page.address}state", encoding="utf-8")
        page.ask("again", "POST", {"conversation": talk.id, "agreed": True})
        (held,) = page.ask("state").json["again"]

    assert [turn["answer"] for turn in held["turns"]] == ["200"]


def test_recorded_answers_are_not_asked_again(command: Command) -> None:
    """One line says that there is no bot."""
    row = {"id": "a", "question": "いくらですか", "answer": "980円です。", "reference": "980円です。"}
    Path("log.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert command("--cases", "log.jsonl", "--adapter", "recorded", "--offline").code == 0
    path = next(Path("runs").glob("*/run.sqlite"))
    (talk,) = list(read_run(path).conversations)[:1]
    with on_thread(Pages(path.parent.parent)) as pages:
        reply = Opened(path, pages).ask("again", "POST", {"conversation": talk.id})

    assert reply.status == 400
    assert "recorded" in reply.json["error"]


def test_a_run_that_was_killed_is_not_in_progress(tmp_path: Path) -> None:
    """It still says so itself; what tells is that its lock is free."""
    results = rehearsed(status="running")
    folder = tmp_path / "runs" / results.run.id
    with (
        contextlib.closing(
            RunFile.create(folder, results.run, results.conversations, results.personas)
        ) as file,
        on_thread(Pages(tmp_path / "runs")) as pages,
    ):
        page = Opened(file.path, pages)
        held = page.ask("state").json["running"]
        file.close()
        killed = page.ask("state").json["running"]

    assert (held, killed) == (True, False)


def test_a_run_that_cannot_be_read_is_a_page(page: Opened) -> None:
    """Whoever follows a link reads a sentence; the script of a page gets it as JSON."""
    page.path.write_bytes(b"no run")
    shown = page.ask("", Accept="text/html,*/*")

    assert shown.status == 400
    assert "<h1>" in shown.text
    assert "run.sqlite" in shown.text
    assert "run.sqlite" in page.ask("state").json["error"]
