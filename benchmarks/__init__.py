"""What is fast and what is right; each figure is reprinted by one command."""

import ast
import os
import sys
from pathlib import Path

# The folder of public label sets and corpora, which are not part of this checkout.
DATA = Path(os.environ.get("REHEARSAL_BENCH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def _explained() -> str | None:
    """What `python -m benchmarks.NAME --help` asks about; None where the benchmark has options, and says it.

    Asked before it is imported: most have no options, and would run.
    """
    typed = sys.orig_argv
    if "-m" not in typed or {"-h", "--help"}.isdisjoint(typed):
        return None
    name = typed[typed.index("-m") + 1].removeprefix(__name__).strip(".") or "__main__"
    file = Path(__file__).with_name(f"{name}.py")
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return None if "ArgumentParser" in text or "Readings" in text else ast.get_docstring(ast.parse(text))


if explained := _explained():
    print(explained)
    sys.exit()
