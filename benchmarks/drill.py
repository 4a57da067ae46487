"""What an update of the articles does to the bundled bot: one price changed, one article withdrawn.

The bot is rehearsed before the update, then three times after it, with the same customers' lines: with its
index made anew, with an index of which the withdrawn article was forgotten, and with the old index. What
`diff` says of each is shown. Nothing is set up, no model is asked; all of it lies in the folder runs/drill.

    make drill                  in the language of the terminal (LANGUAGE=en)
"""

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from simulator.cli.app import main as run
from simulator.core.messages import language_of
from simulator.core.shelves import DEMO
from simulator.core.types import Language

FOLDER = Path("runs") / "drill"
# One price in an article, and an article that goes.
PRICED, OLD, NEW, WITHDRAWN = "01-fibre-plans.md", "4,180", "4,480", "12-late-payment.md"
EXIT: dict[Language, str] = {"en": "exit code {code}", "ja": "終了コード{code}"}
TOLD: dict[Language, tuple[str, ...]] = {
    "en": (
        "The articles change: Apartment 1 Giga costs 4,480 yen instead of 4,180, and “If your payment is"
        " late” is withdrawn. The test questions are still those of before.",
        "The index was made anew",
        "The withdrawn article was forgotten in the index",
        "The index was never made anew",
    ),
    "ja": (
        "記事を更新します。マンション1ギガは月額4,180円から4,480円になり、"
        "「お支払いが遅れた場合」は取り下げます。テスト質問は更新前のままです。",
        "検索用の索引を作り直したボット",
        "取り下げた記事を索引から消し忘れたボット",
        "索引を作り直していないボット",
    ),
}


def play(language: Language, folder: Path) -> Iterator[tuple[str, int]]:
    """What is told and printed, with the exit codes of `diff` (0 for what is only told)."""
    shutil.rmtree(folder, ignore_errors=True)
    before, after, forgotten = (folder.resolve() / name for name in ("before", "after", "forgotten"))
    for articles in (before, after, forgotten):
        shutil.copytree(DEMO / "knowledge" / language, articles / language)
    for articles in (after, forgotten):
        path = articles / language / PRICED
        path.write_text(path.read_text(encoding="utf-8").replace(OLD, NEW), encoding="utf-8")
    (after / language / WITHDRAWN).unlink()
    told = TOLD[language]
    yield told[0], 0
    runs = folder / "runs"
    asked = ("--cases", str(DEMO / "cases" / f"{language}.csv"), "--persona", "calm", "--turns", "1")
    first = _rehearsed(runs, *asked, "--knowledge", str(before), "--set", f"knowledge={before}")
    for said, index in zip(told[1:], (after, forgotten, before), strict=True):
        later = _rehearsed(
            runs, "--replay", str(runs / first), "--knowledge", str(after), "--set", f"knowledge={index}"
        )
        code, printed = _printed("diff", str(runs / first), str(runs / later), "--runs", str(runs))
        yield f"\n=== {said} ===\n{printed}", code


def _rehearsed(runs: Path, *words: str) -> str:
    """The id of a new run with these options."""
    earlier = set(runs.iterdir()) if runs.is_dir() else set[Path]()
    code, said = _printed(*words, "--adapter", "demo", "--offline", "--runs", str(runs))
    if code:
        raise RuntimeError(said)
    (made,) = set(runs.iterdir()) - earlier
    return made.name


def _printed(*words: str) -> tuple[int, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = run(list(words))
    return code, printed.getvalue()


def main() -> int:
    """Prints the drill."""
    language = language_of(os.environ)
    for printed, code in play(language, FOLDER):
        print(printed)
        if code:
            print(EXIT[language].format(code=code))
    return 0


if __name__ == "__main__":
    sys.exit(main())
