"""A name is looked up on the shelf, anything else where the user stands; mistakes are one line."""

from functools import partial
from inspect import isawaitable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from simulator.core import shelves
from simulator.core.errors import BotFailure, InputError, PromptError
from simulator.core.loading import shelf_module, user_object
from simulator.core.types import Query
from simulator.grading.rubric import Rubric, load_judge

BOT = '''
"""A bot."""
loaded = []

def answer(question):
    loaded.append(question)
    return f"{len(loaded)}: {question}"

class Desk:
    def reply(self, question):
        return "from an object: " + question

desk = Desk()
number = 42

def connect(*, tone: str, warm: bool = False, top: int = 4, path: "Path" = None, **rest):
    def rag(query):
        return f"{tone} {warm} {top}"
    return rag

def nothing():
    pass
'''


@pytest.fixture(autouse=True)
def bot(tmp_path: Path, apart: None) -> None:
    """A bot of the user's own where the user stands; what it brings into the process goes again."""
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("", encoding="utf-8")


def test_everything_on_the_shelves_can_be_had() -> None:
    """Every persona, judge and adapter is found by its name and says in a line what it is."""
    assert [shelves.persona(name).id for name in shelves.persona_names()] == shelves.persona_names()
    for name in shelves.judge_names():
        found = load_judge(name)
        assert found.name == name if isinstance(found, Rubric) else found.__name__ == name
    for name in shelves.adapter_names():
        assert callable(shelves.connector(name))
    names = {*shelves.persona_names(), *shelves.judge_names(), *shelves.adapter_names()}
    for shelf in (shelves.PERSONAS, shelves.JUDGES, shelves.ADAPTERS):
        for path in shelf.iterdir():
            if path.suffix == ".py" and path.stem in names:
                assert str(shelves.summary_line(path)), path


@pytest.mark.parametrize(
    ("look_up", "name", "message"),
    [
        (load_judge, "groundednes", "unknown judge: 'groundednes'. Did you mean groundedness?"),
        (shelves.connector, "mybot", "Your own bot: --adapter bot.py:answer."),
        (shelves.persona, "_user", "unknown customer: '_user'."),
        (shelves.persona, "../personas/angry", "no such file"),
        (shelves.persona, "none.toml", "none.toml: no such file; check the name and the folder."),
        (load_judge, "no.such.module:x", "no.such.module:x: cannot be imported: ModuleNotFoundError"),
        (load_judge, "bot.py:", "unknown name in bot.py: ''."),
        (load_judge, "bot.py:number", "bot.py:number is int, not something that can be called."),
        (
            shelves.connector,
            "bot.py:number",
            "bot.py:number is int, not a function. Wrap it: def answer(question)",
        ),
        (load_judge, "./notes.txt:x", "notes.txt: not a Python file."),
        (
            shelves.connector,
            "simulator:x",
            "simulator:x is this program itself. A file of yours: ./simulator.py:x.",
        ),
        (shelves.prompt_path, "chose", "unknown prompt: 'chose'. Did you mean choose?"),
    ],
)
def test_a_wrong_name_is_answered_with_what_there_is(look_up: Any, name: str, message: str) -> None:
    """One line, with near names and what the shelf holds."""
    with pytest.raises(InputError) as met:
        look_up(name)
    assert message in str(met.value)
    assert "\n" not in str(met.value)


def test_a_persona_of_ones_own(tmp_path: Path) -> None:
    """It is named like its file; a misspelt key in it is named with the file."""
    text = (shelves.PERSONAS / "angry.toml").read_text(encoding="utf-8")
    (tmp_path / "louder.toml").write_text(text, encoding="utf-8")
    (tmp_path / "wrong.toml").write_text(text.replace("[ja]\nname", "[ja]\nnmae"), encoding="utf-8")

    assert shelves.persona("./louder.toml").id == "louder"
    assert shelves.persona("louder.toml").ja == shelves.persona("angry").ja
    with pytest.raises(PromptError, match=r"wrong\.toml: ja\.nmae: not a known key\. Did you mean name\?"):
        shelves.persona("./wrong.toml")


@pytest.mark.parametrize("name", ["bot.py:answer", "./bot.py:answer", "bot:answer"])
async def test_a_function_of_ones_own_is_a_bot(name: str) -> None:
    """By file or by module, looked up where the user stands."""
    rag = await shelves.connect(name, {}, {"chat": None, "cases": ()})

    assert rag(Query(text="いくら")).text.endswith(": いくら")


def test_a_judge_is_made_of_the_files_of_its_module(tmp_path: Path) -> None:
    """A function, one with arguments filled in, an object; what is built in or installed has none."""
    (tmp_path / "_bot.toml").write_text("", encoding="utf-8")
    answer, desk = user_object("bot.py:answer"), user_object("bot.py:desk")
    files = [tmp_path / "bot.py", tmp_path / "_bot.toml"]

    for judge in (answer, partial(partial(answer), "x"), desk):
        assert shelves.judge_files(judge) == files
    assert shelves.judge_files(len) == shelves.judge_files(pytest.raises) == []
    contains = shelves.judge_files(load_judge("contains"))  # type: ignore[arg-type]
    assert contains[0] == shelves.JUDGES / "contains.py"


def test_a_file_of_a_shelf_says_in_its_first_line_what_it_is(tmp_path: Path) -> None:
    """That of its docstring; nothing where it has none."""
    path = tmp_path / "mine.py"
    for text, said in (('"""One {line}.\n\nMore."""\nx = """y"""', "One {line}."), ("x = 1", "")):
        path.write_text(text, encoding="utf-8")
        assert str(shelves.summary_line(path)) == said


def test_a_name_of_a_judge_is_the_one_in_scores() -> None:
    """Of a file or a function of the user's, and of an article."""
    names = ("checks.py:strict", "./strict.toml", "strict.toml", "em", "turn", "path.em")

    assert [shelves.judge_name(name) for name in names] == [
        "strict", "strict", "strict", "exact_match", "turn", "path.em",
    ]  # fmt: skip


async def test_an_object_is_asked_by_what_it_can(tmp_path: Path) -> None:
    """What can be called is called, though it can be invoked as well; else it is invoked."""
    code = (
        "class Chain:\n    def invoke(self, question):\n        return 'invoked'\n"
        "class Both(Chain):\n    def __call__(self, question):\n        return 'called'\n"
        "chain, both = Chain(), Both()\n"
    )
    (tmp_path / "objects.py").write_text(code, encoding="utf-8")
    for name, said in (("chain", "invoked"), ("both", "called")):
        answer = (await shelves.connect(f"objects.py:{name}", {}, {}))(Query(text="?"))
        assert (await answer if isawaitable(answer) else answer).text == said


async def test_a_bots_module_is_loaded_once() -> None:
    """Checking and connecting run the file's code one time: it may take minutes and gigabytes."""
    shelves.connector("bot.py:answer")
    first = await shelves.connect("bot.py:answer", {}, {})
    second = await shelves.connect("./bot.py:answer", {}, {})
    first(Query(text="a"))

    assert second(Query(text="b")).text == "2: b"


async def test_a_connector_may_be_async_and_gets_what_it_names(tmp_path: Path) -> None:
    """What a run offers (chat, cases) goes by name to a connector that asks for it."""
    code = "async def connect(*args, cases, tone='kind'):\n    return lambda query: f'{tone} {cases}'\n"
    (tmp_path / "slow.py").write_text(code, encoding="utf-8")
    rag = await shelves.connect("slow.py:connect", {}, {"chat": None, "cases": (1, 2)})

    assert rag(Query(text="?")) == "kind (1, 2)"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (
            "bot.py:connect",
            {},
            "adapter bot.py:connect needs --set tone=...  Its settings: tone, warm, top, path, ",
        ),
        ("bot.py:connect", {"tone": "x", "top": "many"}, "--set top=many: must be a whole number"),
        (
            "bot.py:connect",
            {"tone": "x", "colour": "red"},
            "unknown --set of adapter bot.py:connect: 'colour'",
        ),
        ("bot.py:answer", {"colour": "red"}, "unknown --set of adapter bot.py:answer: 'colour'"),
        ("http", {}, "adapter http needs --set"),
        ("demo", {"top": "0"}, "at least one passage is needed"),
    ],
)
async def test_wrong_settings_are_one_line(name: str, given: dict[str, str], message: str) -> None:
    """What is missing, unknown or not convertible is named before anything is asked."""
    with pytest.raises(InputError) as met:
        await shelves.connect(name, given, {"chat": None, "cases": ()})
    assert message in str(met.value)


@pytest.mark.parametrize(("name", "ends"), [
    ("demo", "Install what this program needs once more. Your own bot: --adapter bot.py:answer."),
    ("http", "Install what this program needs once more."),
])  # fmt: skip
@pytest.mark.parametrize("late", [False, True])
async def test_a_package_that_an_adapter_lacks_is_one_line(
    name: str, ends: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is imported, or only when it connects; a mistake of the program itself surfaces."""
    load = shelf_module

    def lacks(missing: str) -> None:
        def fail(*_args: object, **_settings: object) -> ModuleType:
            raise ImportError(f"No module\nnamed {missing}", name=missing)

        def module(shelf: str, adapter: str) -> ModuleType:
            if adapter != name:
                return load(shelf, adapter)
            late_module = ModuleType(name)
            late_module.connect = fail  # type: ignore[attr-defined]
            return late_module if late else fail()

        monkeypatch.setattr(shelves, "shelf_module", module)

    lacks("faiss.core")
    with pytest.raises(InputError) as met:
        await shelves.connect(name, {}, {})
    assert str(met.value).startswith(
        f"adapter {name}: a package that it needs cannot be imported (No module named"
    )
    assert str(met.value).endswith(ends)
    lacks("simulator.core")
    with pytest.raises(ImportError):
        await shelves.connect(name, {}, {})


async def test_a_connector_that_gives_no_bot_is_refused(tmp_path: Path) -> None:
    """None in place of a bot would fail every turn."""
    (tmp_path / "half.py").write_text("def connect():\n    pass\n", encoding="utf-8")

    with pytest.raises(
        InputError, match=r"what adapter half\.py:connect connects to is NoneType, not something"
    ):
        await shelves.connect("half.py:connect", {}, {})


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('no index\\nbuilt')", "ValueError: no index built ("),
        ("import faiss_of_mine", "ModuleNotFoundError: No module named 'faiss_of_mine' ("),
        ("def answer(:", "SyntaxError: invalid syntax (broken.py, line 1)."),
        ("raise SystemExit(3)", "SystemExit: 3 ("),
    ],
)
def test_a_module_that_does_not_load_is_one_line(tmp_path: Path, code: str, message: str) -> None:
    """With the error and the user's own file and line, and it can be mended and loaded again."""
    path = tmp_path / "broken.py"
    path.write_text(code, encoding="utf-8")
    with pytest.raises(InputError) as met:
        user_object("broken.py:answer")
    path.write_text("def answer(question): return '!'", encoding="utf-8")

    assert str(met.value).startswith(f"broken.py:answer: cannot be imported: {message}")
    assert "line 1)" in str(met.value)
    assert "\n" not in str(met.value)
    assert user_object("broken.py:answer")("?") == "!"


@pytest.mark.parametrize(
    ("raised", "expected", "message"),
    [
        (
            "ValueError('no server')",
            InputError,
            "adapter far.py:connect: it cannot connect: ValueError: no server (",
        ),
        ("BotFailure('unreachable', 'no route')", BotFailure, "no route"),
        ("InputError('mend the template')", InputError, "mend the template"),
    ],
)
async def test_a_bot_that_cannot_connect_is_one_line(
    tmp_path: Path, raised: str, expected: type[Exception], message: str
) -> None:
    """What a user's own connector raises is told with its line; typed errors speak for themselves."""
    code = f"from simulator import InputError, BotFailure\ndef connect():\n    raise {raised}\n"
    (tmp_path / "far.py").write_text(code, encoding="utf-8")

    with pytest.raises(expected) as met:
        await shelves.connect("far.py:connect", {}, {})
    assert message in str(met.value)
