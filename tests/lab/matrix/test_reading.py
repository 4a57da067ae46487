"""A matrix as it is written: a TOML file, or options given more than once; mistakes name file and key."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.lab.matrix.plan import (
    CellId,
    Matrix,
    ResolvedCell,
    matrix_of_options,
    read_matrix,
    resolved,
)


def read(text: str, name: str = "matrix.toml") -> Matrix:
    """The matrix of a file with this text."""
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return read_matrix(path)


def of(matrix: Matrix, flags: dict[str, Any] | None = None, **environ: str) -> dict[str, ResolvedCell]:
    """The cells by their keys."""
    found = resolved(matrix, flags or {}, lambda settings: settings, environ)
    return {each.cell.key: each for each in found}


def test_every_data_set_with_every_prompt_and_model() -> None:
    """Cells come data set by data set; what is not varied is not in their names."""
    matrix = read("""
        [matrix]
        cases = ["data/faq.csv", "chat.jsonl.gz"]
        prompts = ["plain", "./mine/strict.toml:terse"]
        models = ["gpt-5-mini", "org/qwen3"]
    """)

    keys = [cell.key for cell, _ in matrix.cells()]
    assert keys[:4] == ["faq/plain/gpt-5-mini", "faq/plain/org/qwen3", "faq/strict:terse/gpt-5-mini",
                        "faq/strict:terse/org/qwen3"]  # fmt: skip
    assert (len(keys), CellId(data="faq", model="m").shown) == (8, "faq x m")
    told = dict(matrix.cells())[CellId(data="chat", prompt="plain", model="org/qwen3")]
    assert told == {"cases": "chat.jsonl.gz", "prompt": "plain", "set": {"model": "org/qwen3"}}


def test_names_adapters_and_settings_of_their_own() -> None:
    """Tables give names; a data set has judges of its own, a model its adapter."""
    matrix = read("""
        adapter = "http"
        set = { url = "http://localhost:1" }
        turns = 1
        [matrix]
        title = "Autumn"
        judges = ["rouge_l"]
        models = [{ name = "own", adapter = "bot.py:answer" }, { name = "big", set = { answer = "$.text" } }]
        [matrix.cases]
        faq = "2026-09.csv"
        words = "w.csv"
        more = "m.csv"
        [judges]
        words = ["em"]
        [judges.faq]
        judges = "turn,fluency"
        limit = 3
    """)

    cells = of(matrix)
    own, big = cells["faq/own"].settings, cells["words/big"].settings
    assert (matrix.title, own.cases, own.adapter, own.set) == ("Autumn", "2026-09.csv", "bot.py:answer", {})
    assert (own.judges, own.limit) == (("turn", "fluency"), 3)
    assert (big.adapter, big.set) == ("http", {"url": "http://localhost:1", "answer": "$.text"})
    assert big.limit is None
    assert (big.judges, cells["more/big"].settings.judges) == (("em",), ("rouge_l",))


def test_files_are_found_beside_the_matrix() -> None:
    """What lies beside the file that names it goes before what is called so where the user stands."""
    Path("eval").mkdir()
    for name in ("faq.csv", "strict.toml", "bot.py"):
        Path("eval", name).touch()
    for name in ("here.csv", "bot.py", "strict.toml"):
        Path(name).touch()
    matrix = read("""
        adapter = "bot.py:answer"
        [matrix]
        cases = ["faq.csv", "here.csv", "missing.csv"]
        prompts = ["strict.toml:terse", "plain"]
        judges = ["em", "bot.py:grade", "strict.toml"]
    """, "eval/matrix.toml")  # fmt: skip

    assert [data.cases for data in matrix.data] == ["eval/faq.csv", "here.csv", "missing.csv"]
    assert [each.prompt for each in matrix.prompts] == ["eval/strict.toml:terse", "plain"]
    assert matrix.settings == {
        "adapter": "eval/bot.py:answer", "judges": ["em", "eval/bot.py:grade", "eval/strict.toml"],
    }  # fmt: skip


def test_models_by_name_are_asked_at_an_endpoint() -> None:
    """Without an adapter anywhere, that of endpoints which know models by name; a file may say another."""
    matrix = read('[matrix]\ncases = "faq.csv"\nmodels = ["a"]')
    assert of(matrix, {"set": ["url=http://x"]})["faq/a"].settings.adapter == "openai_chat"
    assert of(matrix, {"set": ["url=http://x"]})["faq/a"].settings.set == {"url": "http://x", "model": "a"}
    assert of(matrix, REHEARSAL_ADAPTER="bot.py:make")["faq/a"].settings.adapter == "bot.py:make"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cases = 'a.csv'", "m.toml: no table [matrix]"),
        ("[matrix]", "m.toml: [matrix] cases: name at least one file"),
        ("[matrix]\ncases = [1]", "m.toml: [matrix] cases 1: must be a text"),
        ("[matrix]\ncases = ['a/x.csv', 'b/x.csv']", "two are called 'x'; name them: [matrix.cases] x ="),
        ("[matrix]\ncase = 'a.csv'", "unknown key of [matrix]: 'case'. Did you mean cases?"),
        ("turn = 1\n[matrix]\ncases = 'a.csv'", "unknown setting: 'turn'"),
        (
            "prompt = 'x'\n[matrix]\ncases = 'a.csv'",
            "m.toml: prompt: data sets and prompts belong in [matrix]",
        ),
        ("[matrix]\ncases = 'a.csv'\n[judges]\nb = ['em']", "unknown data set: 'b'. There are: a."),
        ("[matrix]\ncases = 'a.csv'\n[judges]\na = 1", "m.toml: [judges] a 1: a list of judges, or a table"),
        ("[matrix]\ncases = 'a.csv'\nmodels = [1]", "[matrix] models 1: a name, or a table of name, adapter"),
        ("[matrix]\ncases = 'a.csv'\nmodels = [{ url = 'x' }]", "unknown key of [[matrix.models]]: 'url'"),
        ("[matrix]\ncases = 'a.csv'\nmodels = [{ set = {} }]", "[[matrix.models]]: each needs a name"),
        ("[matrix]\ncases = 'a.csv'\nmodels = ['a', 'a']", "[matrix] models: two are called 'a'"),
        ("[matrix]\ncases = 'a.csv'\nprompts = 1", "[matrix] prompts: ids or files"),
    ],
)
def test_mistakes_name_file_and_key(text: str, said: str) -> None:
    """One line that says what to write."""
    with pytest.raises(InputError) as told:
        read(text, "m.toml")
    assert said in str(told.value)
    assert "m.toml" in str(told.value)


def test_options_that_are_given_more_than_once_are_axes() -> None:
    """One of each is no matrix; one key of --set may have several values, two may not."""
    assert matrix_of_options(["a.csv"], ["p"], ["model=x", "url=y"]) is None
    assert matrix_of_options(["a.csv"], [], ["model=x", "model=x"]) is None
    matrix = matrix_of_options(["a.csv"], [], ["knowledge=a", "top=2", "knowledge=b"])
    assert matrix is not None
    assert [(model.name, model.set) for model in matrix.models] == [
        ("a", {"knowledge": "a"}), ("b", {"knowledge": "b"}),
    ]  # fmt: skip
    with pytest.raises(InputError, match="--set model and url: only one of them may have several values"):
        matrix_of_options(["a.csv"], [], ["model=x", "model=y", "url=x", "url=y"])
    with pytest.raises(InputError, match="two are called 'a'; name them: rename a file"):
        matrix_of_options(["1/a.csv", "2/a.csv"], [], [])


def test_secrets_are_written_nowhere() -> None:
    """Neither in the record of a matrix nor in the names of its cells; a wrong setting is one line."""
    matrix = matrix_of_options(["a.csv"], [], ["api_key=first-secret", "api_key=other-secret"])
    assert matrix is not None
    cells = of(matrix, {"adapter": "http", "set": ["api_key=first-secret", "token=third-secret"]})

    assert list(cells) == ["a/api_key 1", "a/api_key 2"]
    assert [cell.settings.set["api_key"] for cell in cells.values()] == ["first-secret", "other-secret"]
    for cell in cells.values():
        assert "-secret" not in json.dumps(cell.stored())
    with pytest.raises(InputError, match="--set url: 'url' is not key=value"):
        of(matrix, {"set": ["url"]})
