"""Code of the user's own is loaded where it stands, and never in the place of the program's."""

import subprocess
import sys
from pathlib import Path

import pytest

from simulator.core.loading import module_of_file, source_files

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
