"""--redact: what is masked, what stays, and that no unmasked text is stored, sent or kept."""

import json
from pathlib import Path

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core.errors import InputError
from simulator.core.settings import load_settings
from simulator.core.types import Results
from simulator.privacy.redactor import Redactor, redacted_link
from simulator.runner.masking import masks_of
from simulator.storage.run_file import find_run
from tests.servers.openai import OpenAIServer

PERSONAL = ("桐生", "090-1", "０９０", "4-5678", "HR-220981", "kiryu@example.jp", "西町", "瀬戸口", "1985年")
CASES = """id,question,language,reference,answer,contexts,goal
桐生太郎,桐生太郎です。電話は０９０－１２３４－５６７８、会員番号HR-220981です。解約できますか,ja,\
kiryu@example.jp宛てに送ります。窓口は0120-000-123です。,瀬戸口様、窓口は0120-000-123です。携帯は090-9999-5678ですね。,\
解約は0120-000-123。住所は愛知県豊田市西町3-12-4。,桐生様の解約
q2,席はXY77です。生年月日は1985年4月12日です。,ja,月額2980円です。,月額2980円です。,,
"""
BOT = """
def answer(question):
    if "2" in question or "席" in question:
        raise RuntimeError("no customer 瀬戸口様, 090-1234-5678")
    found = ["愛知県豊田市西町3-12-4 kiryu@example.jp"]
    return {"answer": "瀬戸口様、090-1234-5678ですね。", "passages": found}
"""


@pytest.fixture
def server(server: OpenAIServer, tmp_path: Path) -> OpenAIServer:
    """Questions with personal data, a careless bot, and a model for every role."""
    (tmp_path / "cases.csv").write_text(CASES, encoding="utf-8")
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    (tmp_path / "contacts.txt").write_text("0120-000-123 窓口\n", encoding="utf-8")
    return server


def rehearsed(tmp_path: Path, *options: str) -> Results:
    """A run of the questions."""
    main(
        ["--cases", "cases.csv", "--persona", "calm", "--turns", "2", "--contacts", "contacts.txt", *options]
    )
    return open_run()


def unmasked(folder: Path, *names: str) -> list[str]:
    """What personal data the files below these folders hold."""
    files = [path for name in names for path in (folder / name).rglob("*") if path.is_file()]
    assert files
    told = [path.read_bytes() for path in files]
    return [word for word in PERSONAL if any(word.encode() in each for each in told)]


@pytest.mark.parametrize(
    "options", [("--adapter", "bot.py:answer", "--redact"), ("--adapter", "recorded", "--turns", "1")]
)
def test_nothing_unmasked_is_stored_kept_or_sent(
    options: tuple[str, ...], server: OpenAIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Run file, reports, cache, what the models got, what is printed; naming a pattern is asking, too."""
    shown = ("--to", "xlsx,json,csv,markdown", "--json")
    rehearsed(tmp_path, *options, "--redact-pattern", r"XY(\d+)", *shown)
    told = capfd.readouterr()

    assert unmasked(tmp_path, "runs", "cache") == []
    assert [word for word in PERSONAL if word in told.out + told.err] == []
    sent = json.dumps([request.body for request in server.requests], ensure_ascii=False)
    assert server.requests
    assert [word for word in PERSONAL if word in sent] == []
    assert "0120-000-123" in sent
    assert "77" not in json.loads(told.out)["redacted"]
    assert {"name", "phone", "email", "reference", "birth_date", "address", "custom"} <= set(
        json.loads(told.out)["redacted"]
    )
    page = next((tmp_path / "runs").glob("*/report.html")).read_text(encoding="utf-8")
    assert "個人情報を伏せています：[" in page


def test_the_bot_meets_the_masked_customer_and_its_failures_are_masked(
    server: OpenAIServer, tmp_path: Path
) -> None:
    """A case is masked when it is read; an error message is one more text of the bot's."""
    results = rehearsed(tmp_path, "--adapter", "bot.py:answer", "--redact", "ON", "--offline")

    by_case = {conversation.case.id: conversation for conversation in results.conversations}
    assert set(by_case) == {"masked-001", "q2"}
    assert (
        by_case["masked-001"].turns[0].user.startswith("[氏名]です。電話は[電話番号]、会員番号[番号]です。")
    )
    assert by_case["masked-001"].turns[0].answer.passages[0].text == "[住所] [メールアドレス]"
    failure = by_case["q2"].turns[0].answer.error
    assert failure is not None
    assert str(failure.message) == "RuntimeError: no customer [氏名]様, [電話番号] (bot.py, line 4)."


def test_without_redact_everything_is_as_it_was(
    server: OpenAIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is masked unless asked; where dialogues were recorded, one line says how to ask."""
    how = "Texts are kept as recorded; --redact masks names, telephone numbers and the like."
    for adapter, is_said in (("bot.py:answer", False), ("recorded", True)):
        results = rehearsed(tmp_path, "--adapter", adapter, "--offline", "--turns", "1")
        assert "桐生太郎です" in results.conversations[0].turns[0].user
        assert (how in " ".join(capfd.readouterr().err.split())) == is_said


def test_a_run_that_was_masked_unasked_stays_masked(server: OpenAIServer, tmp_path: Path) -> None:
    """Earlier versions stored "auto" with it: its page tells of the masks, and what is resumed gets some."""
    recorded = ("--adapter", "recorded", "--turns", "1", "--redact", "auto", "--budget", "0.0000001")
    rehearsed(tmp_path, *recorded)
    main(["--resume", "latest", "--budget", "9"])

    results = open_run()
    assert results.run.status == "finished"
    assert unmasked(tmp_path, "runs", "cache") == []
    assert masks_of(results)


def test_a_replay_is_masked(server: OpenAIServer, tmp_path: Path) -> None:
    """What customers of an unmasked run said is masked before it is said again."""
    bot = ("--adapter", "bot.py:answer", "--offline")
    main(["--cases", "cases.csv", "--persona", "calm", "--turns", "1", *bot])
    find_run("latest", tmp_path / "runs").parent.rename(tmp_path / "before")
    main(["--replay", "before", *bot, "--redact"])

    assert unmasked(tmp_path, "runs") == []
    conversation = open_run().conversations[0]
    assert (conversation.id, conversation.turns[0].user[:6]) == ("calm/masked-001#1", "[氏名]です")


def test_patterns_come_from_the_file_and_broken_ones_are_told(tmp_path: Path) -> None:
    """redact_patterns = [...] in rehearsal.toml; commas and braces belong to a pattern."""
    (tmp_path / "rehearsal.toml").write_text("redact_patterns = ['K-\\d{3,5}', 'Z\\d']\n", encoding="utf-8")
    assert load_settings({}).redact_patterns == (r"K-\d{3,5}", r"Z\d")

    with pytest.raises(InputError, match=r"--redact-pattern.*not a valid regular expression"):
        load_settings({"redact_patterns": ["("]})


def test_public_texts_are_compared_without_their_signs() -> None:
    """03-1234-5678, ０３（１２３４）５６７８ and 03 1234 5678 are one number; another is not."""
    redactor = Redactor(public=("窓口 03-1234-5678", "Mail: help@example.jp"))

    text = "０３（１２３４）５６７８か03 1234 5678、HELP@example.jp、それか03-1234-5679"
    assert redactor.redact(text, "ja").text == text.replace("03-1234-5679", "[電話番号]")


LINKED = """
def answer(question):
    return {"answer": "14日以内なら返せます。", "passages": [
        {"id": "crm/customers/kiryu@example.jp", "text": "返品は14日以内です。",
         "source": "https://crm.example/瀬戸口様/notes?tel=090-1234-5678&mail=kiryu%40example.jp"},
        {"id": "returns-2", "text": "送料は550円です。", "source": "docs/returns.md#2"},
    ]}
"""


def test_ids_and_links_of_passages_are_masked_too(
    server: OpenAIServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An address of the desk's own system tells who a customer is; gold passages are still recognised."""
    (tmp_path / "bot.py").write_text(LINKED, encoding="utf-8")
    (tmp_path / "cases.csv").write_text(
        "id,question,language,reference,passages\n"
        "q1,届いた服を返せますか,ja,14日以内なら返せます。,crm/customers/kiryu@example.jp\n",
        encoding="utf-8",
    )
    results = rehearsed(
        tmp_path, "--adapter", "bot.py:answer", "--redact", "--judges", "context_precision,groundedness,turn",
        "--to", "xlsx,json,csv,markdown", "--json",
    )  # fmt: skip
    told = capfd.readouterr()

    assert unmasked(tmp_path, "runs", "cache") == []
    assert [word for word in (*PERSONAL, "kiryu") if word in told.out + told.err] == []
    sent = json.dumps([request.body for request in server.requests], ensure_ascii=False)
    assert [word for word in (*PERSONAL, "kiryu") if word in sent] == []
    (conversation,) = results.conversations
    first, second = conversation.turns[0].answer.passages
    assert (first.id, first.source) == (
        "crm/customers/[メールアドレス]",
        "https://crm.example/[氏名]様/notes?tel=[電話番号]&mail=[メールアドレス]",
    )
    assert (second.id, second.source) == ("returns-2", "docs/returns.md#2")
    assert conversation.case.passages == (first.id,)


@pytest.mark.parametrize(
    ("link", "masked"),
    [
        ("https://crm.example/u/tanaka%40example.jp", "https://crm.example/u/[e-mail address]"),
        ("https://crm.example:8080/?name=Jane+Doe&page=2", "https://crm.example:8080/?name=[name]&page=2"),
        ("crm?order=12345", "crm?order=[reference number]"),
        ("kb/090-1234-5678.md", "kb/[phone number].md"),
        ("https://docs.example/articles/120012345678/2024-04-01#3", None),
        ("returns_en_v2.md", None),
    ],
)
def test_a_link_is_read_part_by_part(link: str, masked: str | None) -> None:
    """Decoded, and with the name of a field; addresses of articles stay. Masked twice, it is the same."""
    redactor = Redactor()
    once = redacted_link(link, redactor, "en").text

    assert once == (masked or link)
    assert redacted_link(once, redactor, "en").text == once
