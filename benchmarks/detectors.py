"""`make bench-detectors`: how often what is detected without a model is right, on labelled rows.

The rows of detector_rows/ were written before the phrases were read, but for those of `build` that say
otherwise: `build` may be looked at to better the phrases, `held` is for measuring alone. With `--before REF`
an older version of the program is asked as well. benchmarks/responses.py measures the judge of turns instead.
"""

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from simulator import GradingContext
from simulator.core.types import Answer, Case, Language, Passage, Turn
from simulator.lab.judging.facts import facts
from simulator.lab.judging.language_match import language_match
from simulator.text.phrases import hands_over, turns_away
from simulator.text.typography import nfkc

ROOT = Path(__file__).parents[1]
ROWS = Path(__file__).with_name("detector_rows")
LANGUAGES: tuple[Language, ...] = ("ja", "en")
# What a line's first letter in acts.*.txt and refusals.*.txt says: whether it refuses, and whether it hands
# over (None: open).
ACTS: dict[str, tuple[bool, bool | None]] = {
    "D": (True, False),
    "H": (True, True),
    "E": (True, None),
    "B": (False, True),
    "A": (False, False),
    "C": (False, None),
    "Q": (False, False),
}
ASKED = {
    "en": "How can I do this? Please tell me what I have to know.",
    "ja": "どうすればよいでしょうか。教えてください。",
    "sv": "Hur kan jag göra det? Vad måste jag veta om detta?",
    "fr": "Comment puis-je le faire ? Dites-moi ce que je dois savoir.",
}


class Verdict(NamedTuple):
    """What a detector said of one labelled thing; None: it left it open."""

    truth: bool
    said: bool | None
    text: str


def main() -> None:
    """Prints precision and recall by detector and language; with --show, what went wrong."""
    parser = argparse.ArgumentParser(prog="bench-detectors", description=__doc__)
    parser.add_argument("--half", choices=("build", "held"), default="held")
    parser.add_argument("--show", action="store_true", help="print the rows that went wrong")
    parser.add_argument("--before", metavar="REF", help="ask this version of the program first")
    options = parser.parse_args()
    if options.before:
        print(f"before ({options.before})")
        _run_before(options.before, ["--half", options.half])
        print("now")
    print(f"{'':18}{'rows':>6}{'precision':>11}{'recall':>8}{'open':>6}")
    for name, verdicts in measured(options.half):
        print(line(name, verdicts))
        if options.show:
            for verdict in verdicts:
                if verdict.said not in (verdict.truth, None):
                    print(f"    {'missed' if verdict.truth else 'false'}: {verdict.text}")


def measured(half: str) -> Iterator[tuple[str, list[Verdict]]]:
    """Each detector with what it said of the rows of this half."""
    for language in LANGUAGES:
        rows = list(_lines(half, f"facts.{language}.txt"))
        yield f"facts {language}", [verdict for row in rows for verdict in _facts(row, language)]
        labelled = [(*ACTS[row[0]], row[2:]) for row in labelled_lines(half, language)]
        yield (
            f"refusals {language}",
            [Verdict(truth, turns_away(text, language), text) for truth, _, text in labelled],
        )
        yield (
            f"handover {language}",
            [
                Verdict(truth, hands_over(text, language), text)
                for _, truth, text in labelled
                if truth is not None
            ],
        )
    yield "other language", [_is_other(row) for row in _lines(half, "language.txt")]


def line(name: str, verdicts: list[Verdict]) -> str:
    """A detector in a line; what it leaves open is neither right nor wrong, and counted beside."""
    told = [verdict for verdict in verdicts if verdict.said is not None]
    hits = sum(each.truth and bool(each.said) for each in told)
    said, true = sum(bool(each.said) for each in told), sum(each.truth for each in told)
    shares = f"{hits / said if said else 0:11.3f}{hits / true if true else 0:8.3f}"
    return f"{name:18}{len(verdicts):6}{shares}{len(verdicts) - len(told):6}"


def labelled_lines(half: str, language: Language) -> list[str]:
    """The rows of answers with what they do as first letter."""
    kinds = ("acts", "refusals", "plain") if half == "build" else ("acts",)
    names = [f"{kind}.{language}.txt" for kind in kinds]
    return [row for name in names for row in _lines(half, name)]


def _lines(half: str, name: str) -> Iterable[str]:
    text = (ROWS / half / name).read_text(encoding="utf-8")
    return (row for row in text.splitlines() if row and not row.startswith("#"))


def _facts(row: str, language: Language) -> Iterator[Verdict]:
    """Each detail that is not in the passage, and each that was called so, be it or be it not."""
    passage, marked = row.split(" || ")
    pieces = marked.replace("»", "«").split("«")
    answer = "".join(pieces)
    score = facts(_context(answer, language, passages=(Passage(id="p", text=passage),)))
    details: Any = score.detail.get("facts", [])
    called = [str(detail["text"]) for detail in details if not detail["found"]]
    for wrong in map(nfkc, pieces[1::2]):
        hit = [text for text in called if text in wrong or wrong in text]
        yield Verdict(truth=True, said=bool(hit), text=f"{wrong} | {passage}")
        called = [text for text in called if text not in hit]
    for text in called or ([] if len(pieces) > 1 else [""]):
        yield Verdict(truth=False, said=bool(text), text=f"{text} | {passage} | {answer}")


def _is_other(row: str) -> Verdict:
    wanted, given, text = row.split(" ", 2)
    language: Language = "ja" if wanted == "ja" else "en"
    score = language_match(_context(text, language, user=ASKED[wanted]))
    return Verdict(given != wanted, None if score.value is None else score.value < 1, row)


def _context(
    answer: str, language: Language, *, user: str = "", passages: tuple[Passage, ...] = ()
) -> GradingContext:
    case = Case(id="row", question=user or "?", language=language, handover="required")
    turn = Turn(index=1, user=user or "?", answer=Answer(text=answer, passages=passages, shows_passages=True))
    return GradingContext(conversation="row", case=case, persona="plain", turn=turn)


def _run_before(ref: str, arguments: list[str]) -> None:
    """The same rows with this program's code as it was."""
    command = ("git", "archive", ref, "simulator", "judges", "prompts")
    archive = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(folder, filter="data")
        own = Path(folder, "benchmarks")
        own.mkdir()
        own.joinpath("__init__.py").touch()
        own.joinpath("detectors.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
        own.joinpath("detector_rows").symlink_to(ROWS)
        again = (sys.executable, "-m", "benchmarks.detectors", *arguments)
        subprocess.run(again, cwd=folder, check=True)


if __name__ == "__main__":
    main()
