"""Code of the user's own is loaded where it stands, and never in the place of the program's."""

import subprocess
import sys
from pathlib import Path

import pytest

from simulator.core.errors import InputError
from simulator.core.loading import describe_error, module_of_file, other_python, source_files, user_object

pytestmark = pytest.mark.usefixtures("apart")

BOT = "async def answer(question):\n    return '月額4,180円です。'\n"
BROKEN = "raise RuntimeError('this is not the shelf')\n"


def written(path: Path, text: str) -> Path:
    """A file with this text, and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_files_of_one_name_are_modules_of_their_own(tmp_path: Path) -> None:
    """Each stays findable by its module's name, which pickling and dataclasses rely on."""
    first = module_of_file(written(tmp_path / "a" / "checks.py", "WHERE = 'a'"))
    second = module_of_file(written(tmp_path / "b" / "checks.py", "WHERE = 'b'"))

    assert (first.WHERE, second.WHERE) == ("a", "b")
    assert sys.modules[first.__name__] is first
    assert sys.modules[second.__name__] is second
    assert module_of_file(tmp_path / "a" / ".." / "a" / "checks.py") is first


def test_a_module_is_made_of_what_it_imports_nearby(tmp_path: Path) -> None:
    """Its own texts and helpers, theirs, and modules in folders beside it; nothing else that lies there."""
    imports = "import json\nimport helper\nfrom lib import deep\nfrom lib.more import x\n"
    written(tmp_path / "checks.py", imports)
    written(tmp_path / "_checks.toml", "")
    written(tmp_path / "helper.py", "import checks\n")
    written(tmp_path / "lib" / "deep.py", "from . import nothing\n")
    written(tmp_path / "lib" / "more.py", "x = 1\n")
    written(tmp_path / "other.py", "")

    found = {path.relative_to(tmp_path.resolve()).as_posix() for path in source_files(tmp_path / "checks.py")}
    assert found == {"checks.py", "_checks.toml", "helper.py", "lib/deep.py", "lib/more.py"}


def test_an_error_is_told_with_the_users_own_line(tmp_path: Path) -> None:
    """The innermost of their frames, by its path from here; one without any, or without words, is short."""
    written(tmp_path / "far" / "deep.py", "import json\n\ndef fails():\n    json.loads('')\n")
    code = "import sys\nsys.path.append('far')\nimport deep\n\ndef answer(question):\n    deep.fails()\n"
    written(tmp_path / "bot.py", code)
    with pytest.raises(ValueError, match="Expecting") as met:
        user_object("bot.py:answer")("?")

    assert str(describe_error(met.value)) == (
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0) (far/deep.py, line 4)."
    )
    assert str(describe_error(ValueError("x\n" * 400))) == f"{('ValueError: ' + 'x ' * 400)[:300].rstrip()}."
    assert [str(describe_error(error)) for error in (ValueError(), KeyError("a"))] == [
        "ValueError.",
        "KeyError: 'a'.",
    ]


def test_a_bot_of_another_environment_is_told_which_python_runs_it(tmp_path: Path) -> None:
    """The one beside its file, or up to two folders above it; else how such a path looks."""
    bot = written(tmp_path / "a" / "b" / "c" / "bot.py", "import faiss_of_mine\n")
    usual = "If your bot has its own environment, name the Python of that: --set python={}."
    found = {}
    for folder, place in ((tmp_path, "venv/bin/python"), (tmp_path / "a", ".venv/bin/python")):
        found[folder] = str(other_python(str(bot)))
        written(folder / place, "")
    beside = written(bot.with_name("venv") / "Scripts" / "python.exe", "")

    assert found == dict.fromkeys((tmp_path, tmp_path / "a"), usual.format("../bot/.venv/bin/python"))
    assert str(other_python(str(bot))) == usual.format("a/b/c/venv/Scripts/python.exe")
    beside.unlink()
    assert str(other_python(str(bot))) == usual.format("a/.venv/bin/python")
    assert str(other_python("bot")) == usual.format("venv/bin/python")
    with pytest.raises(InputError, match=r"name the Python of that: --set python=a/\.venv/bin/python"):
        user_object("a/b/c/bot.py:answer", is_bot=True)
    with pytest.raises(InputError) as met:
        user_object("a/b/c/bot.py:answer")
    assert "--set python" not in str(met.value)


def test_a_file_of_a_package_is_loaded_as_part_of_it(tmp_path: Path) -> None:
    """Where it imports relatively; without an __init__.py its folder is the package."""
    written(tmp_path / "shop" / "__init__.py", "")
    written(tmp_path / "shop" / "desk" / "__init__.py", "")
    written(tmp_path / "shop" / "prices.py", "FEE = 550\n")
    bot = written(tmp_path / "shop" / "desk" / "bot.py", "from ..prices import FEE\n")
    plain = written(tmp_path / "loose" / "bot.py", "from .prices import FEE\n")
    written(tmp_path / "loose" / "prices.py", "FEE = 330\n")

    assert (module_of_file(bot).FEE, module_of_file(bot).__name__) == (550, "shop.desk.bot")
    assert (module_of_file(plain).FEE, module_of_file(plain).__name__) == (330, "loose.bot")
    wrong = written(tmp_path / "wrong.py", "raise ImportError('nothing of the kind')\n")
    with pytest.raises(ImportError, match="nothing of the kind"):
        module_of_file(wrong)
    with pytest.raises(InputError, match=r"none\.py: no such file\. Check its name and folder\."):
        module_of_file(Path("none.py"))


def test_a_users_folder_hides_no_shelf(tmp_path: Path, root: Path) -> None:
    """Files that are called like the program's shelves are the user's own business."""
    written(tmp_path / "bot.py", BOT)
    written(tmp_path / "checks.py", "def calm(exhibit):\n    return 4, '落ち着いた文面'\n")
    for name in ("judges/__init__.py", "rag_adapters.py", "simulator.py"):
        written(tmp_path / name, BROKEN)
    ended = subprocess.run(
        [
            sys.executable, str(root / "run.py"), "--offline", "--persona", "calm", "--limit", "1",
            "--turns", "1", "--adapter", "bot.py:answer",
            "--judges", "checks.py:calm,cosine,contains,exact_match",
        ],
        cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip

    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    assert "not the shelf" not in ended.stdout + ended.stderr
