"""Prompt files: what they may hold, what they are filled with, and what of them stands in a run."""

from pathlib import Path
from typing import Any

import pytest

from simulator.core import shelves
from simulator.core.errors import InputError, PromptError, UnknownName
from simulator.core.settings import Settings
from simulator.core.templates import LANGUAGES, read_toml
from simulator.core.types import Case, ChatMessage, Conversation, Query, Traits, traits_of
from simulator.runner.prompts import (
    AppliedPrompt,
    PromptedBot,
    PromptRenderer,
    PromptVariant,
    case_lookup,
    describe_prompt,
    read_prompt,
)

FULL = """
version = 2
[ja]
system = "判定者です。"
user = '''$labels
$examples

文：$questionです。（${お客様の種類}、$$100）'''
example = "文：$question／$answer"
[en]
system = "You judge."
user = '''$labels
$examples

Text: $question (${お客様の種類}, $$100)'''
example = "Text: $question / $answer"
[labels.ja]
0 = "適切"
1 = "不適切"
[labels.en]
0 = "fine"
1 = "rude"
[examples]
rows = [{ question = "A", label = "1" }, { question = "B", label = "0" }, { question = "C", label = "0" }]
shots = 2
[variants.expert]
about = "an expert"
ja.system = "専門家です。"
en.system = "You are an expert."
"""
ROW = Case(id="r1", question="やあ", language="ja", label="0", values={"お客様の種類": "常連"})


def written(text: str, name: str = "mine.toml") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return f"./{name}"


def prompt_of(text: str, variant: str = "") -> PromptVariant:
    return read_prompt(written(text) + (f":{variant}" if variant else ""))


def conversation(case: Case) -> Conversation:
    return Conversation(id=f"scripted/{case.id}#1", case=case, persona="scripted", repeat=1)


@pytest.mark.parametrize("name", shelves.prompt_names())
def test_prompts_of_the_shelf_hold_together(name: str) -> None:
    """Each reads in all its variants, in both languages with the same variables, and shows its examples."""
    tables = read_toml(shelves.prompt_path(name))
    for variant in ("", *tables.get("variants", ())):
        prompt = read_prompt(f"{name}:{variant}" if variant else name)

        assert tuple(prompt.wordings) == LANGUAGES
        assert all(wording.title for wording in prompt.wordings.values())
        assert prompt.version
    assert f"version {prompt.version}" in str(describe_prompt(shelves.prompt_path(name)))


def test_a_row_is_filled_in() -> None:
    """Labels, examples, the question before kana, a column with kanji in braces, and a plain dollar."""
    rendered = PromptRenderer(prompt_of(FULL))(ROW)

    assert rendered.system == "判定者です。"
    assert rendered.user == "適切\n不適切\n文：B／適切\n\n文：C／適切\n\n文：やあです。（常連、$100）"
    assert rendered.choices == ("適切", "不適切")


def test_examples_are_the_same_for_all_rows_but_never_the_row_itself() -> None:
    """Drawn once by the seed, shown in their order; for the row that is one of them another steps in."""
    rendering = PromptRenderer(prompt_of(FULL))
    shown = {q: rendering(ROW.model_copy(update={"question": q})).user.split("文：")[1:-1] for q in "ABCXY"}

    assert shown["X"] == shown["Y"]
    assert all(f"{question}／" not in "".join(shown[question]) for question in "ABC")
    assert {len(each) for each in shown.values()} == {2}


def test_an_example_that_differs_in_another_column_is_another_row() -> None:
    """Rows with one common question are told apart by their other columns."""
    rows = '{ question = "Same?", label = "1", a = "x" }, { question = "Same?", label = "0", a = "y" }'
    text = (
        "version = 1\n[ja]\nuser = '$examples|$question $a'\nexample = '$a=$answer'\n"
        f"[examples]\nrows = [{rows}]\nshots = 1\nseed = 0"
    )
    users = [
        PromptRenderer(prompt_of(text))(ROW.model_copy(update={"question": "Same?", "values": {"a": a}})).user
        for a in "xy"
    ]

    assert users == ["y=0|Same? x", "x=1|Same? y"]


def test_choices_have_letters() -> None:
    """Numbers of choices other than four, the letters to choose among, and an example's right letter."""
    text = (
        "version=1\n[ja]\nuser='''$examples\n$question\n$choices\n($letters)'''\n"
        "example='$question $answer'\n[examples]\nrows=[{question='Q', choices=['a','b'], label='b'}]"
    )
    row = ROW.model_copy(update={"choices": ("x", "y", "z")})
    rendered = PromptRenderer(prompt_of(text))(row)

    assert rendered.user == "Q B\nやあ\nA) x\nB) y\nC) z\n(ABC)"
    assert rendered.choices == ("A", "B", "C")


def test_every_field_of_a_row_can_be_shown() -> None:
    """Tags, contexts, the goal and the id; what it has not is a lack."""
    shown = PromptRenderer(prompt_of("version=1\n[ja]\nuser='$id|$tags|$goal|$contexts|$question'"))
    row = ROW.model_copy(update={"tags": ("a", "b"), "goal": "知る", "contexts": ("x", "y")})

    assert shown(row).user == "r1|a, b|知る|[1] x\n\n[2] y|やあ"
    for name in ("tags", "goal", "contexts"):
        told = shown.lack(row.model_copy(update={name: getattr(ROW, name)}))
        assert str(told) == f"the prompt mine needs ${name}; this row has none."


def test_an_example_of_choices_may_name_its_letter() -> None:
    """A label that is no choice is a letter of one; more choices than letters cannot be shown."""
    text = (
        "version=1\n[ja]\nuser='$examples $question $choices'\nexample='$question $answer'\n"
        "[examples]\nrows=[{question='Q', choices=['a','b'], label='%s'}]"
    )
    many = ROW.model_copy(update={"choices": tuple(map(str, range(27)))})

    assert PromptRenderer(prompt_of(text % "A")).right(prompt_of(text % "A").examples["ja"].rows[0]) == "A"
    with pytest.raises(PromptError, match="has no label to show"):
        prompt_of(text % "C")
    assert str(PromptRenderer(prompt_of(text % "A")).lack(many)) == (
        "the prompt mine needs $letters; 27 choices; there are 26 letters."
    )
    missing = text.replace("$answer", "$answer $x").replace("label=", "x='', label=") % "A"
    with pytest.raises(PromptError, match=r"row 001 lacks \$x, which the example uses"):
        prompt_of(missing.replace("x='', ", ""))


def test_an_invalid_prompt_is_described_by_what_is_wrong() -> None:
    """In `list`, beside the others."""
    assert str(describe_prompt(Path(written("version = 1")))).startswith("mine.toml: it has neither")
    texts = "version=1\n[ja]\n%suser='$question'\n[en]\n%suser='$question'\n"
    titles = [
        str(describe_prompt(Path(written(texts % pair))))
        for pair in (("title='和'\n", "title='E'\n"), ("title='和'\n", ""), ("", "title='E'\n"), ("", ""))
    ]
    assert titles == [f"{title} (version 1)" for title in ("E / 和", "和", "E", "mine")]


def test_variants_stand_side_by_side() -> None:
    """A variant has its own system text and all else of the prompt; its words have another hash."""
    plain, expert = prompt_of(FULL), prompt_of(FULL, "expert")

    assert (expert.name, expert.version) == ("mine:expert", "2")
    assert PromptRenderer(expert)(ROW).system == "専門家です。"
    assert PromptRenderer(expert)(ROW).user == PromptRenderer(plain)(ROW).user
    assert expert.hash != plain.hash
    with pytest.raises(UnknownName, match=r"exprt.*Did you mean expert"):
        prompt_of(FULL, "exprt")


def test_the_hash_is_of_the_words() -> None:
    """A version or a name changes no hash, words and examples do."""
    same = prompt_of(FULL.replace("version = 2", 'version = "3"\nid = "other"'))

    assert same.hash == prompt_of(FULL).hash
    others = {
        prompt_of(FULL.replace(*change)).hash for change in (("判定者", "係"), ("shots = 2", "shots = 1"))
    }
    assert same.hash not in others


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((FULL, "version = 1"), "it has neither [ja] nor [en]"),
        (("version = 2", ""), "version: missing"),
        (("$labels\n$examples\n\n文", "$examples\n\n文"), "user uses $labels in one language only"),
        (("$questionです", "$reference"), "[ja] user: $reference would give the solution away"),
        (("$questionです", "${正解}"), "[ja] user: $正解 would give the solution away"),
        (("$$100）", "$100）"), "[ja] user: a lone dollar; write $$"),
        (('example = "文：$question／$answer"\n[en]', "[en]"), "are needed together"),
        (('1 = "不適切"', '1 = "適切"'), "[labels.ja] has the same text for two labels"),
        (('1 = "rude"', ""), "must have texts for the same labels"),
        ((', label = "1" }', " }"), "[examples] row 001 has no label to show"),
        (("shots = 2", "shots = 4"), "4 examples are required, but there are only 3"),
        (("shots = 2", "shot = 2"), "examples.shot: not a known key"),
        (('en.system = "You are an expert."', ""), "[variants.expert] has no [en]"),
        (
            ("'''$labels\n$examples\n\n文：$questionです。（${お客様の種類}、$$100）'''", "' '"),
            "[ja] user is missing",
        ),
        (('question = "A", ', 'question = 5, x = ["a"], language = "fr", '), "[examples]: "),
        (
            ('"文：$question／$answer"\n', '"文：$question／$answer $x"\n'),
            "example uses $x in one language only",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(change: tuple[str, str], told: str) -> None:
    """Each names the file and what is wrong, before anything is asked."""
    text = FULL.replace(*change, 1)
    variant = "expert" if "en.system" in change[0] else ""

    with pytest.raises(PromptError) as error:
        prompt_of(text, variant)

    assert str(error.value).startswith("mine.toml: ")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_row_lacks_a_column() -> None:
    """The sentence names the prompt and the column; an empty cell is there, a missing one is not."""
    told = PromptRenderer(prompt_of(FULL), ("-",)).lack

    assert told(ROW) is None
    assert told(ROW.model_copy(update={"values": {"お客様の種類": ""}})) is None
    assert str(told(ROW.model_copy(update={"values": {}}))) == (
        "the prompt mine needs a column 'お客様の種類'; this row has none."
    )
    letters = PromptRenderer(prompt_of("version=1\n[ja]\nuser='$choices'"))
    assert str(letters.lack(ROW)) == "the prompt mine needs $choices; this row has none."


async def asked(bot: Any, text: str = FULL, query: Query | None = None) -> Any:
    plan = [conversation(ROW)]
    return await PromptedBot(bot, prompt_of(text), case_lookup(plan))(query or Query(text="やあ", case="r1"))


async def test_a_bot_is_told_what_it_takes() -> None:
    """System text apart where the bot says that it takes one, else before the question with an empty line."""

    class Bot:
        traits = Traits(takes=frozenset({"system", "history"}))

        def __call__(self, query: Query) -> Query:
            return query

    apart = await asked(
        Bot(), query=Query(text="おい", case="r1", history=(ChatMessage(role="user", content="前"),))
    )
    together = await asked(lambda query: query)

    first = apart.text.splitlines()[0]
    assert (apart.system, first, apart.choices) == ("判定者です。", "適切", ("適切", "不適切"))
    assert "おいです" in apart.text
    assert apart.history == (ChatMessage(role="user", content="前"),)
    assert (together.system, together.text.splitlines()[:3]) == ("", ["判定者です。", "", "適切"])


async def test_the_shelf_knows_who_takes_a_system_text() -> None:
    """A function by its parameters, an endpoint by its request, a chat model always."""
    bots = {
        "a": "def a(question, system=''): return f'{system}|{question}'",
        "b": "def b(messages): return messages[0]['role']",
        "c": "def c(query): return query.text.splitlines()[0]",
    }
    written("\n".join(bots.values()), "bots.py")
    answers = [(await asked(await shelves.connect(f"bots.py:{name}", {}, {}))).text for name in bots]
    http = {"url": "http://localhost:1", "answer": "a", "request": '{"s": "$system", "q": "$question"}'}
    chat = {"url": "http://localhost:1/v1", "model": "m", "retries": "1"}

    assert answers == ["判定者です。|" + PromptRenderer(prompt_of(FULL))(ROW).user, "system", "判定者です。"]
    assert traits_of(await shelves.connect("http", http, {})).takes == {"system"}
    assert traits_of(await shelves.connect("openai_chat", chat, {})).takes == {"system", "history"}


def test_a_prompt_is_for_rows() -> None:
    """A rehearsal with customers never applies one, though rehearsal.toml names it."""
    with pytest.raises(InputError, match="only `evaluate` applies a prompt"):
        AppliedPrompt(Settings(prompt="choose"))
