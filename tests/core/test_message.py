"""A sentence of the program: English where it arises, the reader's language where it is shown."""

import json
import math
import pickle
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, ValidationError

from simulator.core import messages
from simulator.core.errors import CaseFileError, value_problem
from simulator.core.messages import (
    Message,
    _,
    changed,
    language_of,
    language_of_most,
    listed,
    message_of,
    ngettext,
    pgettext,
    quote,
    restored,
    say,
    sentences,
    shown,
    stored,
)
from simulator.core.types import Failure


def test_a_message_is_no_text() -> None:
    """It cannot be put together like one; as a text it is English."""
    message = _("{path}: the file is empty.", path="faq.csv")

    assert not isinstance(message, str)
    assert str(message) == "faq.csv: the file is empty."
    with pytest.raises(TypeError):
        message + "!"  # type: ignore[operator]
    with pytest.raises(TypeError):
        f"{message}"  # type: ignore[misc]
    assert {message, _("{path}: the file is empty.", path="faq.csv")} == {message}


def test_numbers_are_formatted_where_they_are_shown() -> None:
    """Separators, but not in a line number; a format that does not fit tells of no second mistake."""
    assert str(_("{n} rows", n=12_000)) == "12,000 rows"
    assert str(_("line {line:d}, {share:.0%}", line=12_000, share=0.5)) == "line 12000, 50%"
    assert str(_("line {line:d}", line="A7")) == "line A7"
    assert str(_("{share:d}", share=0.5)) == "0.5"
    assert str(_("{yes}", yes=True)) == "True"


def test_a_count_chooses_the_sentence() -> None:
    """English has two forms, Japanese one."""
    one, two = (ngettext("{n} passage", "{n} passages", n=n) for n in (1, 2))

    assert (str(one), str(two)) == ("1 passage", "2 passages")
    assert (one.english, two.english) == ("{n} passage", "{n} passages")
    assert (shown(one, "ja"), shown(two, "ja")) == ("検索された部分1件", "検索された部分2件")


def test_a_message_within_a_message_is_translated_with_it() -> None:
    """An error that carries one, too; a text of others stays word for word."""
    inner = CaseFileError(_("interrupted."))
    outer = _("The run stopped: {why}", why=inner)

    assert str(outer) == "The run stopped: interrupted."
    assert shown(outer, "ja") == "実行が途中で止まりました。理由：中断しました。"
    said = _("The run stopped: {why}", why="interrupted.")
    assert shown(said, "ja") == "実行が途中で止まりました。理由：interrupted."
    assert message_of(ValueError("interrupted.")) == "interrupted."


def test_sentences_follow_one_another() -> None:
    """After a space in English, after none in Japanese; what is missing is left out."""
    both = sentences(_("interrupted."), None, "", _("See: {path} --help", path="run.py"))

    assert str(both) == "interrupted. See: run.py --help"
    assert shown(both, "ja") == "中断しました。使い方：run.py --help"
    assert shown(sentences("One.", _("interrupted.")), "ja") == "One. 中断しました。"


def test_a_sentence_within_a_sentence_has_one_full_stop() -> None:
    """`clause` takes it away, `sentence` gives one."""
    stopped, open_ = _("interrupted."), _("interrupted")

    assert str(_("({why:clause})", why=stopped)) == "(interrupted)"
    assert [str(_("{why:sentence}", why=why)) for why in (stopped, open_, "why?")] == [
        "interrupted.", "interrupted.", "why?",
    ]  # fmt: skip
    assert shown(_("{why:sentence}", why=open_), "ja").endswith("。")


def test_a_translation_with_an_unknown_variable_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The English is shown instead, and nothing is raised."""
    monkeypatch.setattr(messages, "_looked_up", lambda *_: "{gone} 行")

    assert shown(_("{n} rows", n=3), "ja") == "3 rows"


def test_a_context_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wording of a context where there is one, in English as well; else the usual one."""
    texts = {("rows", "{n} turns"): "{n} rows", ("rows", "Customer"): "Rows"}
    texts["rows: who speaks", "Customer"] = "Question"
    monkeypatch.setattr(
        messages, "_looked_up", lambda _, each, context: texts.get((context, each.english), each.english)
    )
    message = _("{n} turns", n=2)

    assert (shown(message, "en"), shown(message, "en", "rows")) == ("2 turns", "2 rows")
    assert shown(pgettext("of a verdict", "Missed"), "en", "rows") == "Missed"
    assert shown(pgettext("who speaks", "Customer"), "en", "rows") == "Question"
    assert shown(_("Customer"), "en", "rows") == "Rows"


def test_a_stored_failure_is_read_in_any_language() -> None:
    """As template and values; a sentence of an older run file, or of the bot, is shown as it is."""
    message = _("link {name}: {reason}", name="reply", reason=ngettext("{n} turn", "{n} turns", n=2))
    failure = Failure(kind="error", message=message)

    assert json.loads(failure.model_dump_json())["message"]["template"] == "link {name}: {reason}"
    assert Failure.model_validate_json(failure.model_dump_json()) == failure
    assert Failure.model_validate(failure.model_dump()) == failure
    old = Failure.model_validate({"kind": "error", "message": "interrupted."})
    assert shown(old.message, "ja") == "interrupted."
    assert pickle.loads(pickle.dumps(message)) == message  # noqa: S301


def test_commands_and_pages_are_named_as_they_are_found_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a folder beside the checkout, and installed; in the checkout as they are written."""
    folder = tmp_path / "my desk"
    page = folder / "docs" / "lab" / "load.md"
    page.parent.mkdir(parents=True)
    page.touch()
    message = _("python run.py load: docs/lab/load.md, docs/none.md")
    monkeypatch.setattr(messages, "_pages", None)
    monkeypatch.setattr(messages, "_called", messages.CHECKOUT)
    assert str(message) == "python run.py load: docs/lab/load.md, docs/none.md"

    messages.called_from_python(folder)
    assert str(message) == f"rehearsal load: {page}, docs/none.md"
    (folder / "run.py").touch()
    messages.called_from_python(tmp_path)
    assert str(message) == f"rehearsal load: {page}, docs/none.md"
    monkeypatch.setattr(messages, "_pages", None)
    messages.called_from_python(folder)
    assert str(message) == f"python '{folder}/run.py' load: {page}, docs/none.md"
    monkeypatch.chdir(folder)
    assert str(message) == f"python '{folder}/run.py' load: docs/lab/load.md, docs/none.md"


def test_a_stored_template_can_do_no_harm() -> None:
    """Places are names with a short format: no attributes, no items, no width of a billion."""
    for template in ("{n.__class__}", "{n[0]}", "{n:999999999999d}", "{n!r}", "{"):
        assert str(Message(template, (("n", 1),))) == template


def test_masking_reaches_every_value() -> None:
    """The texts of others within a message, however deep; never the message's own words."""
    message = _("{path}: {why}", path="key", why=_("link {name}", name=("key", 3)))

    assert str(changed(message, lambda text: text.replace("key", "***"))) == "***: link ***, 3"
    assert changed("key", str.upper) == "KEY"


def test_lists_of_names_are_short() -> None:
    """So many of them, and how many more there are."""
    assert [str(listed(["a", "b", "c"], most)) for most in (3, 2, 1)] == [
        "a, b, c",
        "a, b and 1 more",
        "a and 2 more",
    ]
    assert shown(listed(["a", "b"], 2), "ja") == "a、b"
    assert str(_("{parts:clauses} {parts:dots} {parts}", parts=("a", "b"))) == "a; b a · b a, b"
    assert [language_of_most(each) for each in (("en", "ja"), ("en", "en", "ja"), ())] == ["ja", "en", "ja"]


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("x" * 40, f"'{'x' * 40}'"), ("x" * 41, f"'{'x' * 40}…'"), ("a\x1b[31m\nb", "'a [31m b'"), ([1],
        "a list"),
        ({}, "an object"), (5, "'5'"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_quoted_on_one_line(value: object, quoted: str) -> None:
    """Short, and without control characters."""
    assert str(quote(value)) == quoted


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"REHEARSAL_LANGUAGE": "ja", "LANG": "en_US"}, "ja"),
        ({"REHEARSAL_LANGUAGE": "en", "LANG": "ja_JP"}, "en"),
        ({"REHEARSAL_LANGUAGE": "all", "LANG": "ja_JP"}, "ja"), ({"REHEARSAL_LANGUAGE": ""}, "en"),
    ],
)  # fmt: skip
def test_the_setting_goes_before_the_locale(environment: dict[str, str], language: str) -> None:
    """Where it names one of the two."""
    assert language_of(environment) == language


def test_what_is_said_stands_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """With its indent; line breaks and control codes of others are taken out."""
    say(_("  {text}", text="a\x1b[31m\r\n  b\tc"))

    assert capsys.readouterr().err == "  a b c\n"


def test_a_damaged_message_is_shown_all_the_same() -> None:
    """What is no message stays as it is; of a message whatever can be read of it counts."""
    odd = {"template": "{a}", "values": 5, "plural": None, "n": "x", "context": 7}

    assert restored(odd) == Message("{a}", (), "", 1, "7")
    assert str(restored(odd)) == shown(restored(odd), "ja") == "{a}"
    assert str(restored({"template": "{a:d} of {b}, {{c}}", "values": {"b": 5}})) == "{a:d} of 5, {c}"
    assert restored({"template": 5}) == {"template": 5}
    assert restored(["a", {"template": "b"}]) == ("a", Message("b"))
    whole = pgettext("of a verdict", "Missed")
    for message in (whole, ngettext("{n} row", "{n} rows", n=2), _("{a}", a=(_("b"), 3))):
        assert restored(json.loads(json.dumps(stored(message)))) == message
    assert stored(_("plain")) == {"template": "plain"}


class Form(BaseModel, extra="forbid"):
    """What is wrong with a value."""

    n: int = Field(ge=1, le=9)
    share: float = Field(gt=0, lt=1, allow_inf_nan=False)
    name: str = Field(min_length=2, max_length=3, pattern="^[a-z]*$")
    on: bool
    items: list[int] = Field(min_length=2)
    table: dict[str, int]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"n": 0}, "at least 1"), ({"n": 10}, "at most 9"),
        ({"n": "x"}, "a whole number"), ({"n": 1.5}, "a whole number"), ({"n": None}, "a whole number"),
        ({"share": 0}, "more than 0"), ({"share": 1}, "less than 1"), ({"share": "x"}, "a number"),
        ({"share": []}, "a number"), ({"share": math.nan}, "a finite number"),
        ({"name": "a"}, "2 characters or more"), ({"name": "abcd"}, "3 characters or fewer"),
        ({"name": 3}, "be text"), ({"name": "AB"}, "match the pattern '^[a-z]*$'"),
        ({"on": "x"}, "true or false"), ({"on": []}, "true or false"),
        ({"items": [1]}, "2 items or more, not 1"), ({"items": 3}, "a list"),
        ({"table": 3}, "a table"), ({"other": 1}, "not a known key"), ({}, "missing"),
    ],
)  # fmt: skip
def test_problems_of_values_are_said_in_both_languages(values: dict[str, object], said: str) -> None:
    """By the type of the problem, whose limits stand in the sentence."""
    with pytest.raises(ValidationError) as caught:
        Form.model_validate(values)
    problems = [p for p in caught.value.errors() if p["loc"][0] in values or not values]

    for problem in problems:
        message = value_problem(problem)
        assert isinstance(message, Message)
        assert said in str(message)
        assert shown(message, "ja") != str(message)
