"""How closely customers resemble real ones: offline ones, or those of a run, and people beside other people.

    python -m benchmarks.likeness [--run RUN ...]       also the last part of `make bench-simulator`
    python -m benchmarks.likeness --user-model MODEL    with a model as the customer
    python -m benchmarks.likeness --write               makes simulator/lab/likeness/likeness.json again

What is played has ordinary customers (`MIX`) and a bot that asks back, answers in part,
answers (and asks whether there is anything else), or declines.
With the public sets beside the checkout all of them are the reference, without them what is shipped.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from benchmarks.customers import performed
from benchmarks.customers_data import rows_of
from benchmarks.lexical_validity import DATA
from simulator.cases.cases import read_cases
from simulator.core.errors import RehearsalError
from simulator.core.settings import Settings, load_settings
from simulator.core.shelves import DEMO, customer_names, persona
from simulator.core.types import Case, Conversation, Language
from simulator.lab.likeness.figures import (
    FILE,
    SEED,
    Likeness,
    Reference,
    ceilings,
    drawn,
    likeness,
    mean_like,
    reference_of,
    shipped_reference,
)
from simulator.results.customers import customer_messages
from simulator.results.lines import People, people_of
from simulator.storage.run_file import find_run, read_run
from simulator.text.segments import sentences

# How many of twenty customers each ordinary persona is.
MIX = {"calm": 5, "regular": 5, "beginner": 4, "hurried": 2, "verbose": 1, "sceptical": 1, "elderly": 2}
TURNS, REPEATS, SHIPPED = 6, 6, 600
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


class Source(NamedTuple):
    """A set of real customers: file below the data folder, what stands beside its figures, what it lacks."""

    name: str
    language: Language
    file: str
    domain: str
    licence: str
    source: str
    is_shipped: bool = True
    lacks: tuple[str, ...] = ()


SOURCES = (
    Source("ASDC", "ja", "asdc/user_goals_asdc_ja_dev.jsonl.gz", "hotel search", "CC BY 4.0",
           "Accommodation Search Dialog Corpus, Megagon Labs, github.com/megagonlabs/asdc"),
    Source("JMultiWOZ", "ja", "humans/jmultiwoz_ja_dev.jsonl.gz", "travel desk", "CC BY-SA 4.0",
           "Ohashi, Hirai, Iizuka, Higashinaka 2024, github.com/nu-dialogue/jmultiwoz", is_shipped=False),
    Source("STAR", "en", "humans/star_en_dev.jsonl.gz", "bank, hotel, doctor, rides", "MIT",
           "Mosig, Mehri, Kober 2020, github.com/RasaHQ/STAR, (c) 2020 Rasa Technologies GmbH"),
    Source("MultiDoGO", "en", "humans/multidogo_en_dev.jsonl.gz",
           "airline, finance, insurance, media, software", "CDLA-Permissive-1.0",
           "Peskov et al. 2019, github.com/awslabs/multi-domain-goal-oriented-dialogues-dataset",
           lacks=("question_mark", "exclaims", "commas", "sentences", "digits", "softens")),
)  # fmt: skip


def talks_of(source: Source) -> list[list[str]]:
    """What each customer of a set said, line by line."""
    return [
        [turn.get("text") or turn["content"] for turn in row["turns"] if turn["role"] in ("customer", "user")]
        for row in rows_of(DATA / source.file)
    ]


@cache
def references(language: Language) -> tuple[Reference, dict[str, People]]:
    """All sets of a language that are there, together and by name; what is shipped where not all are."""
    sources = [each for each in SOURCES if each.language == language]
    if not all((DATA / source.file).is_file() for source in sources):
        return shipped_reference(language), {}
    people = {source.name: people_of(talks_of(source), language, source.lacks) for source in sources}
    return reference_of(", ".join(people), tuple(people.values())), people


def write() -> None:
    """Features of whole conversations of every set that may be passed on, and figures of all."""
    random, languages = np.random.default_rng(SEED), {}
    for language in ("ja", "en"):
        whole, people = references(language)
        sets = []
        for source in (each for each in SOURCES if each.language == language and each.is_shipped):
            chosen = drawn(people[source.name], SHIPPED, random)
            numbers = np.unique(chosen.talks, return_inverse=True)[1]
            rows = [
                [
                    int(number),
                    *(int(value) if value == int(value) else round(float(value), 2) for value in row),
                ]
                for number, row in zip(numbers, chosen.rows, strict=True)
            ]
            told = {name: getattr(source, name) for name in ("name", "domain", "licence", "source", "lacks")}
            figures = {name: round(value, 4) for name, value in chosen.figures.items()}
            sets.append(told | {"figures": figures, "rows": rows})
        known = {n: round(value, 2) for n, value in whole.ceilings.items()}
        languages[language] = {"ceilings": known, "sets": sets}
    FILE.write_text(json.dumps(languages, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


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
    names = customer_names() if everybody else [name for name, n in MIX.items() for _each in range(n)]
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


def measured(lines: Iterable[Sequence[str]], language: Language) -> Likeness:
    """The customers who said these lines, beside the reference of their language."""
    return likeness(people_of(lines, language), references(language)[0], language)


def table(title: str, found: Likeness) -> str:
    """The figure, and every share beside the reference's."""
    number = "too few lines" if found.composite is None else f"{found.composite:.1f}"
    ends = "" if found.interval is None else f" ({found.interval[0]:.1f} to {found.interval[1]:.1f})"
    head = f"\n{title}, {found.language}: likeness {number}{ends}, n {found.n} of {found.lines} lines"
    shares = [
        f"  {name:20}{a:8.2f}{'-' if b is None else f'{b:.2f}':>10}" for name, (a, b) in found.shares.items()
    ]
    return "\n".join([head, f"  {'':20}{'ours':>8}{'people':>10}   {found.reference}", *shares])


def among_people(language: Language) -> str:
    """LIKE of each set with the others and of its halves, and the ceilings that follow."""
    reference, people = references(language)
    parts = [
        f"{name} with the others {mean_like(desk, [b for b in reference.sets if b is not desk], 250):.1f},"
        f" in halves {ceilings([desk])[min(ceilings([desk]))]:.1f}"
        for name, desk in people.items()
    ]
    tops = ", ".join(f"{n}: {value:.1f}" for n, value in reference.ceilings.items())
    return f"\npeople, {language}: {'; '.join(parts) or 'as shipped'}; mean LIKE by lines a side {tops}"


def main(arguments: Iterable[str] | None = None) -> int:
    """One table for each language."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.likeness")
    parser.add_argument("--run", action="append", default=[], help="a run that was played before")
    parser.add_argument("--write", action="store_true", help="make the shipped reference again")
    parser.add_argument("--keep", help="a folder in which the runs stay")
    parser.add_argument("--user-model", help="plays the customers in the place of the offline ones")
    parser.add_argument("--everybody", action="store_true", help="every persona as often as any other")
    parser.add_argument("--conversations", type=int, help="at most so many in each language")
    parser.add_argument("--language", choices=("ja", "en"), help="this one alone")
    options, started = (
        parser.parse_args(arguments if arguments is None else list(arguments)),
        time.perf_counter(),
    )
    if options.write:
        write()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            # No model judges: what customers say does not depend on it.
            flags = {"runs": options.keep or ("runs" if options.run else folder), "judges": ("rouge_l",)}
            more = {"offline": not options.user_model, "cache": "off", "concurrency": 64, "calls": 64}
            if options.user_model:
                more |= {"user_model": options.user_model, "timeout": 1800}
            settings = load_settings(flags | more)
            languages: tuple[Language, ...] = (options.language,) if options.language else ("ja", "en")
            for language in languages:
                print(among_people(language))
                runs = [find_run(name, Path(settings.runs)) for name in options.run]
                everybody = options.everybody
                for path in runs or [played(settings, language, options.conversations, everybody)]:
                    held = (c for c in read_run(path).conversations if c.case.language == language)
                    lines = [customer_messages(c) for c in held if c.turns]
                    if lines:
                        print(
                            table(
                                path.parent.name if runs else options.user_model or "offline",
                                measured(lines, language),
                            ),
                            flush=True,
                        )
        except RehearsalError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    print(f"\n{time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
