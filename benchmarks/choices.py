"""`make bench-choices`: multiple choice on public sets, answered by always taking the longest choice.

The questions of JMMLU (Japanese, CC BY-SA 4.0) and MMLU (English, MIT) go through the bundled prompt, a run
and its report like any data set. The bot is no model: it names the longest choice that its prompt has, so
that the accuracy is known beforehand (about .28 and .29; guessing reaches .25). The sets are not part of this
program: without them a sentence says where to put them.
"""

import contextlib
import io
import json
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import DATA
from simulator import Query
from simulator.cli.app import main as program

SETS = {"jmmlu": "mc_jmmlu_dev.jsonl.gz", "mmlu": "mc_mmlu_dev.jsonl.gz"}
_CHOICE = re.compile(r"^([A-Z])\) ", re.MULTILINE)
_STATES = {"ja": "最も長い選択肢を選びます。\n\n答え: {}", "en": "I take the longest choice.\n\nAnswer: {}"}


def longest(query: Query) -> str:
    """Names the longest choice of the prompt, in the form that it asks for."""
    _, *parts = _CHOICE.split(query.text[query.text.rindex("\n\nA) ") :])
    choices = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    return _STATES[query.language].format(max(choices, key=lambda letter: len(choices[letter])))


def main() -> None:
    """Prints accuracy, error and subjects of each set."""
    for name, file in SETS.items():
        path = DATA / name / file
        if not path.is_file():
            print(f"{name}: not there; put {file} into {path.parent} (or set REHEARSAL_BENCH_DATA).")
            continue
        began = time.perf_counter()
        figures = evaluated(path)
        print(
            f"\n{name}: {figures['n']:,} questions, always the longest choice, by way of prompts/choose.toml"
        )
        print(table(figures))
        print(f"{time.perf_counter() - began:.0f} s")


def evaluated(path: Path, *options: str) -> dict[str, Any]:
    """What `evaluate --json` says of the choices."""
    bot = ["--prompt", "choose", "--adapter", f"{Path(__file__).resolve()}:longest"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            program(["evaluate", str(path), *bot, "--json", "--runs", folder, *options])
    figures: dict[str, Any] = json.loads(out.getvalue())["choices"]
    return figures


def table(figures: dict[str, Any]) -> str:
    """The whole set, then its subjects in the order of the file."""
    head = [f"{'':<42}{'accuracy':>9}{'stderr':>8}{'n':>7}{'not extracted':>15}", row("all", figures)]
    subjects = [row(f"  {name}", subject) for name, subject in figures["subjects"].items()]
    letters = "  ".join(f"{each} {n}" for each, n in figures["chosen"].items())
    totals = (
        f"chance {figures['chance']:.3f}, longest choice {figures['longest_choice']:.3f}; chosen: {letters}"
    )
    return "\n".join([*head, *subjects, totals])


def row(name: str, each: dict[str, Any]) -> str:
    """One line of the table."""
    error = "-" if each["stderr"] is None else f"{each['stderr']:.3f}"
    return f"{name:<42}{each['accuracy']:>9.3f}{error:>8}{each['n']:>7,}{each['not_extracted']:>15}"


if __name__ == "__main__":
    main()
