"""`cases make` from the command line: from documents, from logs, into a sheet, and what goes wrong."""

import json
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simulator.cases.cases import read_cases
from simulator.core import shelves
from simulator.core.settings import Settings
from simulator.core.types import Case
from simulator.runner.plan import read_plan
from simulator.testset.plan import KINDS, OUT_OF_SCOPE
from tests.commands import Command
from tests.question_models import Author
from tests.servers.faults import Reply, error
from tests.servers.openai import OpenAIServer
from tests.servers.sheets import SheetsServer
from tests.sheets_sink import KEY, column, letter, row_of, sheets_server

JA, EN = str(shelves.DEMO / "knowledge" / "ja"), str(shelves.DEMO / "knowledge" / "en")
TAB = "テスト質問"


@pytest.fixture
def make(command: Command) -> Command:
    """Runs `cases make` where the test stands."""
    return partial(command, "cases", "make")


@pytest.fixture
def author(server: OpenAIServer) -> Author:
    """A model at an endpoint that every role uses."""
    server.reply = author = Author()
    return author


@pytest.fixture
def sheet(monkeypatch: pytest.MonkeyPatch) -> Iterator[SheetsServer]:
    """A Google Sheet."""
    with sheets_server(monkeypatch) as server:
        yield server


def made(path: str = "cases-made.csv") -> tuple[Case, ...]:
    """What was written."""
    return read_cases(path)


@pytest.mark.parametrize("arguments", [(JA,), (JA, "--dry-run"), ("--from-logs", "logs.jsonl", "--offline")])
def test_without_a_model_nothing_is_made(make: Any, arguments: tuple[str, ...]) -> None:
    """One line says that it needs one and how to give it, with exit code 2; no file is written."""
    done = make(*arguments)

    assert done.code == 2
    assert "cases make needs a model" in done.err
    assert "OPENAI_API_KEY" in done.err
    assert ("--offline" in done.err) == ("--offline" in arguments)
    assert done.err.count("\n") == 1
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(("folder", "language"), [(JA, "ja"), (EN, "en")])
def test_a_model_makes_every_kind(make: Any, author: Author, folder: str, language: str) -> None:
    """Written and checked, in the documents' language, with gold passages, wordings and tags."""
    done = make(folder, "--number", "24", "--json")
    cases = made()
    shown = done.json

    assert done.code == 0
    assert shown["cases"] == len(cases) == 24
    assert set(shown["kinds"]) == set(KINDS)
    assert {case.language for case in cases} == {language}
    assert all(len(case.passages) == 2 for case in cases if "two-passages" in case.tags)
    assert all(case.history for case in cases if "follow-up" in case.tags)
    assert shown["calls"] == {"user": 24, "judge": 24}
    checks = [prompt for prompt in author.asked if '"settled"' in prompt or '"answerable"' in prompt]
    assert len(checks) == 24
    assert all('"reference"' not in prompt for prompt in checks)
    assert {case.answerable for case in cases if set(case.tags) & OUT_OF_SCOPE} == {False}
    assert all(case.passages for case in cases if case.answerable)
    plan, *_ = read_plan(Settings(cases="cases-made.csv", persona=("calm",), offline=True))
    assert len(plan) == 24


def test_what_fails_the_check_is_rejected_and_made_anew(make: Any, author: Author) -> None:
    """Each reason is named, the rejected ones stand beside the file, and others are made in their place."""
    author.wrong = {
        "料金プラン": {"answerable": "no"},
        "解約": {"names_document": True},
        "工事日": {"answer": "いいえ、9,999円です。"},
    }
    done = make(JA, "--number", "12", "--kinds", "simple", "--json")
    shown = done.json

    assert done.code == 0
    assert shown["cases"] == 12
    assert set(shown["rejected"]) <= {"unanswerable", "document", "differs", "duplicate"}
    assert sum(shown["rejected"].values()) >= 2
    assert "見送り" in done.err
    rejected = Path("cases-made.csv.rejected.csv").read_text(encoding="utf-8-sig")
    assert rejected.count("\n") == 1 + sum(shown["rejected"].values())


def test_an_out_of_scope_question_that_the_documents_answer_is_rejected(make: Any, author: Author) -> None:
    """The check of what should be unanswerable is turned round."""
    author.wrong = {"文書": {"settled": "yes"}}
    done = make(JA, "--number", "3", "--kinds", "neighbour", "--json")

    assert done.code == 2
    assert "no question could be made" in done.err


def test_rubbish_loses_only_itself(make: Any, author: Author) -> None:
    """Prose, refusals and half a reply are failures of their kind; all others are made; exit code 3."""
    author.wrong = {"セット割": "I would rather not.", "eSIM": Reply(refusal="No."), "引っ越し": '{"fact": "'}
    done = make(JA, "--number", "30", "--kinds", "simple", "--json")
    shown = done.json

    assert done.code == 3
    assert set(shown["failures"]) <= {"malformed", "refused", "empty"}
    assert shown["cases"] + sum(shown["failures"].values()) + sum(shown["rejected"].values()) >= 30
    assert shown["cases"] >= 20
    assert len(made()) == shown["cases"]
    assert "failed (" in done.err


def test_another_answer_is_looked_at_by_a_reader_of_both(make: Any, author: Author) -> None:
    """Where counting finds a difference, the model has the last word."""
    author.wrong = {
        "# 文書": {"answer": "それについては、まったく別の言い方になります。"},
        "# 一つ目の答え": {"same": True},
    }
    arguments = (JA, "--number", "3", "--kinds", "simple")

    assert make(*arguments).code == 0
    assert sum("# 一つ目の答え" in prompt for prompt in author.asked) == 3
    author.wrong["# 一つ目の答え"] = {"same": False}
    done = make(*arguments, "--seed", "7", "--out", "b.csv")
    assert (done.code, "passes the checks" in done.err) == (2, True)


def test_a_refused_key_ends_it_and_keeps_what_there_is(make: Any, author: Author) -> None:
    """One line, exit code 3, and the questions made before are in the file."""
    author.wrong = {"eSIM": error(401)}
    done = make(JA, "--number", "40", "--kinds", "simple", "--calls", "1")

    assert done.code == 3
    assert "401" in done.err
    assert done.err.endswith("and only the rest is paid for.\nAdd --overwrite to replace cases-made.csv.\n")
    assert made()


def test_a_forecast_starts_nothing(make: Any, author: Author) -> None:
    """--dry-run counts the calls of the real prompts."""
    done = make(JA, "--number", "10", "--dry-run", "--json")

    assert done.json["forecast"]["judge"]["calls"] == 20
    assert author.asked == []
    assert not Path("cases-made.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "KNOWLEDGE is missing"),
        ((JA, "--kinds", "funny"), "unknown kind of question: 'funny'"),
        ((JA, "--language", "en"), "none of its"),
        ((JA, "--out", "a.txt"), "ends in .csv, .jsonl"),
        ((JA, "--out", "none/a.csv"), "--out none/a.csv: no folder none."),
        ((JA, "--to", "sheets"), "Give --sheet KEY"),
        ((JA, "--personas-out", "p"), "can only be used with --from-logs"),
        (("--from-logs", JA), "no log of conversations of a known format"),
        (("--from-logs", "desk.jsonl"), "the customer says nothing"),
        (("--from-logs", "ja.jsonl", "--language", "en"), "no customer says anything in it (--language en)"),
    ],
)
def test_wrong_input_is_one_line(make: Any, author: Author, arguments: tuple[str, ...], said: str) -> None:
    """It says what to do, with exit code 2, writes nothing and asks nobody."""
    desk = {"turns": [{"role": "assistant", "content": "いらっしゃいませ"}]}
    for name, dialogue in (("desk", desk), ("ja", talk(["送料は？", "はい"]))):
        Path(f"{name}.jsonl").write_text(json.dumps(dialogue, ensure_ascii=False), encoding="utf-8")
    done = make(*arguments)

    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") <= 2
    assert author.asked == []
    assert not Path("cases-made.csv").exists()


def test_what_people_changed_is_not_replaced(make: Any, author: Author) -> None:
    """A file that is there stays, unless it is said to be replaced."""
    Path("cases-made.csv").write_text("question\nmine\n", encoding="utf-8")

    assert make(JA).code == 2
    assert Path("cases-made.csv").read_text(encoding="utf-8") == "question\nmine\n"
    assert make(JA, "--number", "3", "--overwrite").code == 0


LOGS = (
    {"turns": [
        {"role": "user", "content": "送料っていくら？ 09012345678 の山田です"},
        {"role": "assistant", "content": "500円です"},
        {"role": "user", "content": "メールは yamada@example.com です"},
    ]},
    {"turns": [
        {"role": "user", "content": "こんにちは！よろしくお願いします。"},
        {"role": "assistant", "content": "はい"},
        {"role": "user", "content": "返品したいのですが"},
    ]},
)  # fmt: skip


def logs() -> str:
    """Two recorded dialogues."""
    Path("logs.jsonl").write_text(
        "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in LOGS), encoding="utf-8"
    )
    return "logs.jsonl"


def test_logs_become_questions_and_personas(make: Any, author: Author) -> None:
    """Goals, facts and wordings, and persona files that a rehearsal takes; no personal data is sent."""
    done = make("--from-logs", logs(), "--personas-out", "own", "--json")
    first, second = made()

    assert done.code == 0
    assert first.question.startswith("送料っていくら？")
    assert second.question == "返品したいのですが"
    assert "伏せ字" in done.err
    assert "09012345678" not in Path("cases-made.csv").read_text(encoding="utf-8-sig")
    assert (first.goal, first.facts.knows) == ("送料を知りたい。", ("会員です",))
    assert "casual" in first.tags
    assert not any("09012345678" in prompt or "yamada" in prompt for prompt in author.asked)
    assert done.json["redacted"]
    [path] = done.json["personas"]
    persona = shelves.persona(f"./{path}")
    assert persona.ja.voice == '短く\n"早く"話す'
    assert persona.ja.phrases == shelves.persona("angry").ja.phrases


def test_personas_from_logs_have_nothing_of_the_lender_and_no_masks(make: Any, author: Author) -> None:
    """Neither what the shelf's persona knows of itself nor "[氏名]", in persona and facts."""
    author.wrong["# お客様の話し方"] = {
        "personas": [
            {
                "id": "letters",
                "like": "elderly",
                "members": [1],
                "name_ja": "[氏名]様",
                "voice_ja": "短く話す。「[氏名]です」と名乗る。急ぐ。",
                "name_en": "Writer of letters",
                "voice_en": "Polite. Gives [phone number] at once.",
            }
        ]
    }
    author.wrong["返品したい"] = {"knows": ["氏名は[氏名]です", "会員です"], "manner": "短い。"}
    make("--from-logs", logs(), "--personas-out", "own", "--json")
    text = Path("own/letters.toml").read_text(encoding="utf-8")
    persona = shelves.persona("./own/letters.toml")

    assert (persona.ja.knows, persona.en.knows) == ((), ())
    assert (persona.ja.name, persona.ja.voice) == ("letters", "短く話す。急ぐ。")
    assert (persona.en.name, persona.en.voice) == ("Writer of letters", "Polite.")
    assert "家族" not in text
    assert "telephone" not in text
    assert persona.ja.phrases.keys() == shelves.persona("elderly").ja.phrases.keys()
    assert made()[1].facts.knows == ("会員です",)


def talk(lines: list[str]) -> dict[str, Any]:
    """A recorded dialogue in which the customer says this."""
    said = [{"role": "user", "content": line} for line in lines]
    return {"turns": [each for line in said for each in (line, {"role": "assistant", "content": "はい"})]}


def test_logs_become_a_mix(make: Any, author: Author) -> None:
    """How often each kind comes, when it tells of itself, how it leaves."""
    calm = [talk([f"{n}番の件でお願いします", "それはいつからですか？", "了解"]) for n in range(15)]
    loud = [talk([f"{n}番の件、怒鳴りますよ", "まだですか"]) for n in range(5)]
    Path("logs.jsonl").write_text(
        "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in calm + loud), encoding="utf-8"
    )
    author.wrong["怒鳴り"] = {"manner": "怒る。", "told": "when_asked", "useless": 4, "left": "person"}
    kind = {"name_ja": "人", "voice_ja": "話す", "name_en": "c", "voice_en": "speaks"}
    author.wrong["# お客様の話し方"] = {
        "personas": [{"id": "calm", "members": [1], **kind}, {"id": "mix", "members": [1, 2], **kind}]
    }
    done = make("--from-logs", "logs.jsonl", "--personas-out", "own", "--json")
    mix = tomllib.loads(Path(done.json["mix"]).read_text(encoding="utf-8"))

    assert done.json["mix"] == str(Path("own/mix-2.toml"))
    assert mix["customers"] == [
        {"persona": "calm.toml", "frequency": 0.75, "discloses": "at_once", "patience": 2},
        {"persona": "mix.toml", "frequency": 0.25, "discloses": "when_asked", "asks_for_person": True},
    ]  # fmt: skip
    plan, personas, *_ = read_plan(
        Settings(cases="cases-made.csv", persona=("own/mix-2.toml",), offline=True)
    )
    assert {each.persona for each in plan} == {"calm", "mix"}
    assert [(each.patience, each.asks_for_person) for each in personas] == [(2, False), (2, True)]


def test_proposed_in_the_sheet_and_left_out_until_approved(
    make: Any, author: Author, sheet: SheetsServer
) -> None:
    """Unapproved; twice adds nothing; people's rows stay as they are; only approved ones are asked."""
    done = make(JA, "--number", "8", "--to", "sheets", "--sheet", KEY, "--json")
    cases = made()
    mari = sheet.person(KEY)
    rows = mari.rows(TAB)

    assert done.json["sheet"]["added"] == len(cases) == 8
    assert [row[1] for row in rows[1:9]] == [case.question for case in cases]
    assert {row[column(sheet, "approved", "questions")] for row in rows[1:9]} == {"未承認"}
    row = row_of(sheet, cases[0].id, TAB)
    mari.type(TAB, f"{letter(column(sheet, 'question', 'questions'))}{row}", "人が直した質問")
    mari.type(TAB, f"{letter(column(sheet, 'approved', 'questions'))}{row}", "承認")
    before = mari.rows(TAB)
    again = make(JA, "--number", "8", "--to", "sheets", "--sheet", KEY, "--overwrite", "--json")

    assert (again.json["sheet"]["added"], mari.rows(TAB)) == (0, before)
    plan, *_ = read_plan(Settings(cases=f"sheet:{KEY}", persona=("calm",)))
    [asked] = [conversation.case for conversation in plan]
    right = cases[0].model_copy(update={"question": "人が直した質問"})
    assert asked.model_copy(update={"details": ()}) == right
