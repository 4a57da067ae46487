"""How closely customers resemble real ones: offline ones, those of a run, people, and assistant prose.

    python -m benchmarks.likeness [--run RUN ...]       also the last part of `make bench-simulator`
    python -m benchmarks.likeness --user-model MODEL    with a model as the customer
    python -m benchmarks.likeness --final               people and prose of the set that is opened once
    python -m benchmarks.likeness --write               makes simulator/lab/likeness/likeness.json again

What is played has ordinary customers (`MIX`) and a bot that asks back, answers in part, answers (and asks
whether there is anything else), or declines. benchmarks/likeness_people.py says which people the reference
is made of, and which it is tried on; without the public sets their rows are left out.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.customers import performed
from benchmarks.likeness_people import SETS, Part, Talk, is_there, ladder, talks
from simulator.cases.cases import read_cases
from simulator.core.errors import RehearsalError
from simulator.core.settings import Settings, load_settings
from simulator.core.shelves import DEMO, customers, persona
from simulator.core.types import Case, Conversation, Language
from simulator.lab.likeness.figures import (
    FILE,
    Likeness,
    likeness,
    reference_of,
    shipped_reference,
    shipped_tables,
)
from simulator.lab.likeness.lines import People, customer_messages, people_of
from simulator.storage.run_file import find_run, read_run
from simulator.text.segments import sentences

# How many of twenty customers each ordinary persona is.
MIX = {"calm": 5, "regular": 5, "beginner": 4, "hurried": 2, "verbose": 1, "sceptical": 1, "elderly": 2}
TURNS, REPEATS = 6, 6
ASKED = {
    "ja": (
        "恐れ入りますが、ご契約のプランはお分かりになりますか？",
        "もう少し詳しくお聞かせいただけますか？",
        "ご本人さまのことでよろしいでしょうか？",
        "今すぐお調べしてもよろしいですか？",
        "詳しい内容をメールでお送りしましょうか？",
    ),
    "en": (
        "Could you tell me which plan you are on?",
        "Could you tell me a little more about it?",
        "Is this for yourself or for somebody else?",
        "Would you like me to look that up for you now?",
        "Shall I send you the details by e-mail?",
    ),
}
MORE = {"ja": "ほかにご不明な点はございますか？", "en": " Is there anything else I can help you with?"}
DECLINED = {
    "ja": "申し訳ございませんが、こちらでは分かりかねます。",
    "en": "I am sorry, I do not have any information about that.",
}


LANGUAGES: tuple[Language, ...] = ("ja", "en")
SKIPPED = ": left out, for the public sets are not in ../shared/data"
# Desks of fewer lines say too little of their own.
LEAST = 30
# What the measure before this one gave the same rows of the final set: it stopped at 100.
BEFORE: Mapping[Language, Mapping[str, int]] = {
    "ja": {
        "same desks": 100,
        "another desk: JMultiWOZ taxi": 100,
        "half prose of a desk": 100,
        "half prose of a model": 96,
        "all prose of a desk": 3,
        "all prose of a model": 5,
    },
    "en": {
        "same desks": 100,
        "another desk: MultiDoGO insurance": 100,
        "another desk: STAR bank": 100,
        "half prose of a desk": 94,
        "half prose of a model": 80,
        "all prose of a desk": 4,
        "all prose of a model": 2,
    },
}


def reference_figures(sets: Sequence[People]) -> dict[str, tuple[float, float]]:
    """The lowest and highest of each share of these sets."""
    return {
        name: (min(values), max(values))
        for name in sets[0].figures
        if (values := [people.figures[name] for people in sets if name in people.figures])
    }


def of_set(name: str, language: Language, part: Part) -> dict[str, list[Talk]]:
    """What the customers of one set said, by desk."""
    return {desk: spoken for desk, spoken in talks(language, part).items() if desk.split()[0] == name}


def table_of(language: Language, without: str = "") -> dict[str, Any]:
    """Mean features by desk, the covariance within desks, the figures of sets; `without` one of them."""
    desks: dict[str, People] = {}
    within, figures = [], []
    sets = [each for each in SETS if each.language == language and each.name != without]
    for people_set in sets:
        spoken = of_set(people_set.name, language, "build")
        people = {desk: people_of(lines, language) for desk, lines in sorted(spoken.items())}
        figures.append(people_of([talk for lines in spoken.values() for talk in lines], language))
        large = {desk: each for desk, each in people.items() if len(each.rows) >= LEAST}
        apart = np.vstack([each.rows - each.rows.mean(axis=0) for each in large.values()])
        within.append(apart.T @ apart / len(apart))
        desks |= large
    shown = ("name", "domain", "licence", "source")
    return {
        "sets": [{key: getattr(each, key) for key in shown} for each in sets],
        "desks": {desk: _short(each.rows.mean(axis=0)) for desk, each in desks.items()},
        "within": [_short(row) for row in np.mean(within, axis=0)],
        "figures": {name: _short(ends) for name, ends in reference_figures(figures).items()},
        "scale": {},
    }


def _short(values: Iterable[float]) -> list[float]:
    return [round(float(value), 4) for value in values]


def write(part: Part) -> None:
    """Makes what is shipped again, with what people and prose of this part reach beside it."""
    tables = {language: table_of(language) for language in LANGUAGES}
    for _step in ("reference", "scale"):
        FILE.write_text(
            json.dumps(tables, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
        )
        shipped_reference.cache_clear()
        shipped_tables.cache_clear()
        for language in LANGUAGES:
            reached: dict[str, list[float]] = {}
            for name, lines in ladder(language, part).items():
                reached.setdefault(name.split()[0], []).append(measured(lines, language).composite or 0)
            tables[language]["scale"] = {
                "other": round(mean(reached["another"]), 1),
                "half": round(mean(reached["half"]), 1),
                "all": round(mean(reached["all"]), 1),
            }


@cache
def _cases(language: Language) -> dict[str, Case]:
    return {case.id: case for case in read_cases(DEMO / "cases" / f"{language}.csv")}


def desk(question: str, history: list[dict[str, str]], case: str, language: str) -> str:
    """What the bot says: by the case and the turn it answers, in whole or in part, asks back, or declines."""
    at = len(history) // 2
    kind = (crc32(case.encode()) // 7 + 3 * at) % 10
    references = _cases("ja" if language == "ja" else "en")[case].references
    known = [text for row in references for text in row]
    if kind == 9 or not known:
        return DECLINED[language]
    if kind in (0, 3, 6) and at < 3:
        return ASKED[language][(crc32(case.encode()) + at) % len(ASKED[language])]
    text = known[0]
    if kind in (4, 8):
        return text + MORE[language]
    return text if kind in (1, 7) else sentences(text)[0]


def played(settings: Settings, language: Language, conversations: int | None, everybody: bool) -> Path:
    """The run of ordinary customers, or of all personas, on the bundled questions with `desk`."""
    names = [*customers()] if everybody else [name for name, n in MIX.items() for _each in range(n)]
    people = {name: persona(name) for name in names}
    cases = [case for _repeat in range(REPEATS) for case in _cases(language).values()]
    plan = [
        Conversation(
            id=f"{who}/{case.id}#{at}", case=case, persona=who, repeat=1 + at // len(_cases(language))
        )
        for at, case in enumerate(cases)
        for who in [names[(7 * at) % len(names)]]
    ]
    own = settings.model_copy(update={"adapter": "benchmarks.likeness:desk", "set": {}, "turns": TURNS})
    return performed(own, plan[:conversations], list(people.values()))


def measured(lines: Iterable[Sequence[str]], language: Language, without: str = "") -> Likeness:
    """The customers who said these lines, beside the reference of their language, or that without a set."""
    tables = shipped_tables() | ({language: table_of(language, without)} if without else {})
    return likeness(people_of(lines, language), reference_of(tables, language), language)


def row(name: str, figure: Likeness, before: int | None = None) -> str:
    """A line of the table: what was said before, the figure, its interval, and how much there was to see."""
    value, ends = "undecided", ""
    if figure.composite is not None and figure.interval is not None:
        value, ends = f"{figure.composite:.0f}", f"{figure.interval[0]:.0f} to {figure.interval[1]:.0f}"
    size = f"{figure.conversations} conversations, {figure.lines} lines"
    return f"  {name:36}{before or '':>8}{value:>11}   {ends:10} {size}".rstrip()


def shares(figure: Likeness) -> str:
    """Every share beside the lowest and highest of the reference's sets."""
    lines = [f"  {'':28}{'ours':>8}   people ({figure.reference})"]
    for name, (value, ends) in figure.shares.items():
        lines.append(f"  {name:28}{value:8.2f}   " + (f"{ends[0]:.2f} to {ends[1]:.2f}" if ends else "-"))
    return "\n".join(lines)


def print_people(language: Language, part: Part) -> None:
    """The rows of real people and of assistant prose."""
    print(f"\n{language}, people: {part} set" + ("" if is_there() else SKIPPED))
    print(f"  {'':36}{'before':>8}{'likeness':>11}   95 %")
    if not is_there():
        return
    for name, lines in ladder(language, part).items():
        before = BEFORE[language].get(name) if part == "final" else None
        print(row(name, measured(lines, language), before), flush=True)
    # How far the figure carries: people of a set of which the reference has nothing at all.
    for each in SETS if part == "develop" else ():
        if spoken := list(chain(*of_set(each.name, language, part).values())):
            print(row(f"reference without {each.name}", measured(spoken, language, each.name)), flush=True)


def main(arguments: Iterable[str] | None = None) -> int:
    """One table for each language."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.likeness")
    parser.add_argument("--run", action="append", default=[], help="a run that was played before")
    parser.add_argument("--final", action="store_true", help="people and prose of the final set")
    parser.add_argument("--write", action="store_true", help="make the shipped reference again")
    parser.add_argument("--keep", help="a folder in which the runs stay")
    parser.add_argument("--user-model", help="plays the customers in the place of the offline ones")
    parser.add_argument("--everybody", action="store_true", help="every persona as often as any other")
    parser.add_argument("--conversations", type=int, help="at most so many in each language")
    parser.add_argument("--language", choices=LANGUAGES, help="this one alone")
    options = parser.parse_args(arguments if arguments is None else list(arguments))
    started = time.perf_counter()
    part: Part = "final" if options.final else "develop"
    if options.write and not is_there():
        print(f"--write{SKIPPED}", file=sys.stderr)
        return 2
    if options.write:
        write(part)
    with tempfile.TemporaryDirectory() as folder:
        try:
            # No model judges: what customers say does not depend on it.
            flags = {"runs": options.keep or ("runs" if options.run else folder), "judges": ("rouge_l",)}
            more = {"offline": not options.user_model, "cache": "off", "concurrency": 64, "calls": 64}
            if options.user_model:
                more |= {"user_model": options.user_model, "timeout": 1800}
            settings = load_settings(flags | more)
            for language in (options.language,) if options.language else LANGUAGES:
                print_people(language, part)
                runs = [find_run(name, Path(settings.runs)) for name in options.run]
                for path in runs or [played(settings, language, options.conversations, options.everybody)]:
                    held = (c for c in read_run(path).conversations if c.case.language == language)
                    if lines := [customer_messages(c) for c in held if c.turns]:
                        figure = measured(lines, language)
                        name = path.parent.name if runs else options.user_model or "offline"
                        print(row(f"ours: {name}", figure), shares(figure), sep="\n", flush=True)
        except RehearsalError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    print(f"\n{time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
