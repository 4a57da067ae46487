"""How the simulated customers are played, beside real ones of public corpora.

    python -m benchmarks.customers [--limit N] [--turns N] [--user-model MODEL] [--keep FOLDER] [--only NAME]
    python -m benchmarks.customers --run RUN [--run RUN ...]
    python -m benchmarks.customers --prompts

--prompts prints how long the prompts of all personas are at turn 2, and what the guard catches and accuses.
Without a model the offline stand-ins play. Customers get the matters of real ones: hotel guests (ASDC, ja)
and chat users (MTRAG-UN, en) hear what the real desk said; bank customers (tau2, en) and the bundled
questions get the demo bot. With --run, conversations that were played before are measured instead.
"""

import argparse
import asyncio
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple
from zlib import crc32

from benchmarks import DATA
from benchmarks.customers_data import TURNS, Corpus, corpora, rows_of
from benchmarks.measured import ROOT
from benchmarks.voices import GOAL, NaiveBayes, persona_guesses
from simulator.cases.cases import read_cases
from simulator.core.errors import RehearsalError
from simulator.core.settings import Settings, load_settings
from simulator.core.shelves import DEMO, PERSONAS, customers, persona
from simulator.core.types import (
    Answer,
    Conversation,
    GradingContext,
    Language,
    Persona,
    Results,
    Score,
    Turn,
)
from simulator.lab.judging.agreement import auroc
from simulator.lab.likeness.lines import customer_messages, line_length
from simulator.runner.context import RunContext
from simulator.runner.plan import read_plan
from simulator.runner.run import create_run, perform
from simulator.storage.run_file import find_run, read_run
from simulator.users.base import UserPrompts
from simulator.users.guard import Guard
from simulator.users.persona import PersonaUser

FOLDS = 5
# Real customers' lines of a language that the guard looks at, drawn by this seed.
REAL, SEED = 1000, 20
FIXTURES = ROOT / "tests" / "fixtures"
SIZES = (3,)
# A reader of characters should hardly tell real and simulated lines apart.
TELLS_APART = 0.8


class Column(NamedTuple):
    """One set of conversations; `real` are lines of real customers by case, where there are any."""

    title: str
    language: Language
    results: Results
    real: Mapping[str, tuple[str, ...]]


class Silent:
    """Nobody watches."""

    def turn(self, conversation: Conversation) -> None:
        """A new turn is there."""

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """A turn has been graded."""

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over."""


def played(corpus: Corpus, settings: Settings) -> Path:
    """The run file of one conversation per case, the personas in turn."""
    names = [name for name in customers() if not settings.persona or name in settings.persona]
    people = [persona(name) for name in names]
    plan = tuple(
        Conversation(id=f"{who.id}/{case.id}#1", case=case, persona=who.id, repeat=1)
        for at, case in enumerate(corpus.cases)
        for who in [people[at % len(people)]]
    )
    chosen = {"adapter": corpus.adapter, "set": corpus.settings}
    own = settings.model_copy(update=chosen)
    return performed(own, plan, people)


def bundled(settings: Settings, language: Language) -> Path:
    """The run file of every persona on the bundled questions, with the demo bot."""
    own = settings.model_copy(update={"persona": ("all",), "language": language})
    plan, people, *_ = read_plan(own)
    return performed(own, plan, people)


def performed(settings: Settings, plan: Sequence[Conversation], people: Sequence[Persona]) -> Path:
    """The run file of these conversations, held and graded."""
    context = RunContext(settings, people)
    path, stopped = asyncio.run(
        perform(context, plan, lambda: create_run(settings, context, plan, tuple(people)), Silent())
    )
    if stopped:
        raise RehearsalError(stopped)
    return path


def columns(options: argparse.Namespace, settings: Settings) -> Iterator[Column]:
    """Everything that is played, or was."""
    if options.run:
        real = {key: lines for corpus in corpora(10_000) for key, lines in corpus.real.items()}
        for name in options.run:
            results = read_run(find_run(name, Path(settings.runs)))
            yield from _by_language(name, results, real)
        return
    for language in ("ja", "en"):
        if not options.only or f"demo_{language}" in options.only:
            small = settings.model_copy(update={"limit": max(1, options.limit // 11)})
            yield _column(f"demo {language}", language, read_run(bundled(small, language)), {})
    for corpus in corpora(options.limit):
        if not options.only or corpus.name in options.only:
            results = read_run(played(corpus, settings))
            yield _column(f"{corpus.name} {corpus.language}", corpus.language, results, corpus.real)


def _by_language(name: str, results: Results, real: dict[str, tuple[str, ...]]) -> Iterator[Column]:
    """A run that was played before, each of its languages apart."""
    for language in ("ja", "en"):
        conversations = tuple(
            conversation for conversation in results.conversations if conversation.case.language == language
        )
        if conversations:
            mine = results.model_copy(update={"conversations": conversations})
            cases = {conversation.case.id for conversation in conversations}
            known = {key: lines for key, lines in real.items() if key in cases}
            yield _column(f"{Path(name).name[:18]} {language}", language, mine, known)


def _column(title: str, language: Language, results: Results, real: dict[str, tuple[str, ...]]) -> Column:
    return Column(title, language, results, real)


def rows(column: Column) -> Iterator[tuple[str, str, str]]:
    """Name, measured and goal of every figure of a column."""
    dialogues = [customer_messages(conversation) for conversation in column.results.conversations]
    unit = "characters" if column.language == "ja" else "words"
    own = (line for dialogue in dialogues for line in dialogue[1:])
    yield f"length of a line ({unit})", _size(own, column.language), ""
    if column.real:
        lines = [line for several in column.real.values() for line in several]
        yield "  real customers", _size(lines, column.language), ""
    yield "turns", f"{median(map(len, dialogues)):g}", ""
    yield from written(dialogues, "lines with")
    yield from written(people(column.language), "  people's lines with")
    guessed, of = persona_guesses(column.results.conversations, column.results.personas)
    yield "persona guessed blind", f"{guessed} of {of}", f">= {GOAL:g}"
    if column.real:
        value, n = told_apart(column)
        mark = "" if value is None else " ok" if value <= TELLS_APART else " MISSED"
        yield (
            "real or simulated (3-grams, AUROC)",
            f"{_number(value)}  ({n} lines)",
            f"<= {TELLS_APART}{mark}",
        )
    ended = [conversation.ended.value for conversation in column.results.conversations if conversation.ended]
    counts = sorted({how: ended.count(how) for how in ended}.items(), key=lambda item: -item[1])
    yield "ended", ", ".join(f"{how} {n}" for how, n in counts), ""


# How a line is written, as patterns that a line has or has not.
WRITTEN = {
    "a small first letter": r"\A[a-z]",
    "capitals alone": r"\A(?=.*[A-Z]{2})[^a-zぁ-ヿ一-龥]*\Z|\b[A-Z]{3,} [A-Z]{3,}\b",
    "a figure": r"\d",
    "a question mark": r"[?？]",
    "an exclamation mark": r"[!！]",
    "a full stop at the end": r"[.。]\s*\Z",
    "several messages": r"\S\s*\n\s*\S",
}


def written(dialogues: Iterable[Sequence[str]], name: str) -> Iterator[tuple[str, str, str]]:
    """The share of lines after the first that are written in each of these ways."""
    lines = [line for dialogue in dialogues for line in dialogue[1:]]
    for what, pattern in WRITTEN.items() if lines else ():
        share = sum(bool(re.search(pattern, line)) for line in lines) / len(lines)
        yield f"{name} {what}", f"{share:.2f}  ({len(lines)})", ""


def people(language: Language) -> Iterator[list[str]]:
    """What customers of the public sets of a language said, dialogue by dialogue."""
    for file in sorted((DATA / "humans").glob(f"*_{language}_dev.jsonl.gz")):
        for dialogue in rows_of(file):
            yield [turn["text"] for turn in dialogue["turns"] if turn["role"] == "customer"]


def told_apart(column: Column) -> tuple[float | None, int]:
    """How well naive Bayes over runs of three characters tells real lines from simulated ones (AUROC).

    Line by line, without the first; cross-validated in five parts, the lines about one matter in the same.
    """
    lines = [(key, line, True) for key, several in column.real.items() for line in several]
    lines += [
        (conversation.case.id, turn.user, False)
        for conversation in column.results.conversations
        for turn in conversation.turns[1:]
    ]
    scores: list[float] = []
    labels: list[bool] = []
    for fold in range(FOLDS):
        rest = [each for each in lines if _fold(each[0]) != fold]
        held = [each for each in lines if _fold(each[0]) == fold]
        model = NaiveBayes(
            {name: [line for _, line, is_real in rest if is_real is real] for name, real in _SIDES.items()},
            SIZES,
        )
        for _, line, is_real in held:
            found = model.scores(line)
            scores.append(found["simulated"] - found["real"])
            labels.append(not is_real)
    return auroc(scores, labels), len(lines)


_SIDES = {"real": True, "simulated": False}


def _fold(key: str) -> int:
    return crc32(key.encode()) % FOLDS


def _size(lines: Iterable[str], language: Language) -> str:
    sizes = [line_length(line, language) for line in lines]
    return f"{median(sizes):g}  (n {len(sizes)})" if sizes else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def table(column: Column) -> str:
    """The figures of one column as text."""
    head = f"\n{column.title}: {len(column.results.conversations)} conversations"
    who = column.results.run.models.get("user", "")
    lines = [f"{name:44}{measured:34}{goal}" for name, measured, goal in rows(column)]
    return "\n".join([f"{head}, customers played by {who}", f"{'figure':44}{'measured':34}goal", *lines])


def prompt_lengths(prompts: UserPrompts, language: Language) -> str:
    """Characters of the system text at turn 2, by persona: with case and form, without the dialogue.

    Before persona files could ask for habits, and cases had facts drawn, all personas together had 894 (ja)
    and 1717 (en) on average over seeds; tests/users/test_habits.py holds them to that.
    """
    case = read_cases(DEMO / "cases" / f"{language}.csv")[0]
    turns = (Turn(index=1, user=case.question, answer=Answer(text="...")),)
    users = (
        PersonaUser(persona(name), prompts, None, seed=1, turns=5)  # type: ignore[arg-type]
        for name in customers()
    )
    sizes = sorted(len(user.messages(case, turns)[0]["content"]) for user in users)
    return f"{sizes[0]} to {sizes[-1]} characters, median {median(sizes):g}"


def guard_figures(guard: Guard) -> Iterator[str]:
    """What the guard catches of planted lines, and how many of real customers' lines it accuses."""
    rows = rows_of(FIXTURES / f"guard_lines_{guard.language}.jsonl")
    for split in ("planted", "unseen"):
        found = [guard.broken_rule(row["text"], ()) for row in rows if row["split"] == split]
        yield f"{split}: {sum(map(bool, found))} of {len(found)} caught"
    files = sorted((DATA / "humans").glob(f"*_{guard.language}_dev.jsonl.gz"))
    files += sorted((DATA / "asdc").glob(f"*_asdc_{guard.language}_dev.jsonl.gz"))
    spoken = [
        turn.get("text", turn.get("content"))
        for file in files
        for row in rows_of(file)
        for turn in row["turns"]
        if turn["role"] in {"customer", "user"}
    ]
    drawn = random.Random(SEED).sample(spoken, min(REAL, len(spoken)))
    accused = [f"{rule}: {line!r}" for line in drawn if (rule := guard.broken_rule(line, ()))]
    yield f"real customers: {len(accused)} of {len(drawn)} lines accused"
    yield from accused


def options_of(arguments: Iterable[str] | None = None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.customers")
    parser.add_argument("--limit", type=int, default=44, help="conversations per corpus")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument(
        "--only", action="append", default=[], help="asdc, mtrag_un, tau2_banking, demo_ja, demo_en"
    )
    parser.add_argument("--run", action="append", default=[], help="a run that was played before")
    parser.add_argument("--user-model", dest="user_model")
    parser.add_argument("--offline", action="store_true")
    parser.add_argument("--timeout", type=float)
    parser.add_argument("--prompts", action="store_true", help="prompts and guard alone")
    parser.add_argument("--keep", help="a folder in which the runs stay")
    return parser.parse_args(list(arguments) if arguments is not None else None)


def main(arguments: Iterable[str] | None = None) -> int:
    """One table per set of conversations."""
    options, started = options_of(arguments), time.perf_counter()
    if not options.run:
        prompts = UserPrompts(PERSONAS / "_user.toml")
        for language, guard in prompts.guards.items():
            print(f"prompt {language} {prompt_lengths(prompts, language)}")
            print(*(f"guard {language}  {line}" for line in guard_figures(guard)), sep="\n")
    if options.prompts:
        return 0
    if not options.run and not DATA.is_dir():
        print(
            f"simulator           skipped: no corpora; put asdc/, mtrag_un/ or tau2_banking/ into {DATA}"
            " (or set REHEARSAL_BENCH_DATA)."
        )
        return 0
    with tempfile.TemporaryDirectory() as folder:
        flags = {name: getattr(options, name) for name in ("turns", "user_model", "offline", "timeout")}
        runs = options.keep or ("runs" if options.run else folder)
        more = {"judges": ("turn",), "cache": "off", "runs": runs, "concurrency": 64, "calls": 64}
        try:
            settings = load_settings(flags | more)
            for column in columns(options, settings):
                print(table(column), flush=True)
        except RehearsalError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    print(f"\n{time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
