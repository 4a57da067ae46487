"""`make bench-judges`: what the judges say of answers whose fault was planted, and of sound ones.

    python -m benchmarks.judged_rows [--record NAME [--small | --answers]] [--judge-model MODEL]

Twenty rows in each language of the desks in cause_rows/held, half of them sound. Every judge is held against
what the planted cause means for it: an invention has no support in the passages, a rude answer can still be
relevant, and a cause that says nothing about a judge is left out. With --answers it is twenty answers of
detector_rows/held instead, without question or passages: whether they evade, which answer_relevancy asks.
judged_rows.json has the verdicts of readers who saw the requests alone; with --record the usual endpoint is
asked, and NAME's verdicts are kept.
"""

import argparse
import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.causes import ROWS, SOUND, Row, context_of, rows
from benchmarks.detectors import labelled_lines
from simulator import plugins
from simulator.core.concurrency import for_each
from simulator.core.settings import Settings, load_settings
from simulator.core.shelves import form_path
from simulator.core.templates import fingerprint, read_toml
from simulator.core.types import Answer, Case, Conversation, Language, Turn
from simulator.lab.judging.agreement import quadratic_kappa
from simulator.results.articles import Shelf
from simulator.runner.context import RunContext

RECORDED = Path(__file__).with_name("judged_rows.json")
LANGUAGES: tuple[Language, ...] = ("ja", "en")
# The desks that the rows come from.
DESKS = ("desk2", "desk3", "desk4")
# Rows in a language, and how many of them are sound.
NUMBER, FINE = 20, 10
# From this raw grade (1 to 5) on a judge lets an answer pass.
PASSES = 3.5


class Expected(NamedTuple):
    """The planted causes to which a judge objects, and those about which it has nothing to say."""

    low: frozenset[str]
    high: frozenset[str]


_WRONG = frozenset(
    {"ignored", "invented", "should_refuse", "should_answer", "outdated", "lost_thread", "no_handover"}
)
_MISSING = frozenset({"knowledge", "retrieval", "spelling"})
EXPECTED = {
    "turn": Expected(_WRONG | _MISSING | {"tone"}, frozenset({SOUND})),
    "relevance": Expected(
        frozenset({"lost_thread", "no_handover", "should_answer"}), frozenset({SOUND, "tone", "outdated"})
    ),
    "groundedness": Expected(frozenset({"invented"}), frozenset({SOUND, "outdated", "should_answer"})),
    "claims": Expected(frozenset({"invented"}), frozenset({SOUND, "outdated", "should_answer"})),
    "similarity": Expected(_WRONG | _MISSING, frozenset({SOUND, "tone"})),
    "llm_similarity": Expected(_WRONG | _MISSING, frozenset({SOUND, "tone"})),
    "llm_correctness": Expected(_WRONG | _MISSING, frozenset({SOUND, "tone"})),
    "fluency": Expected(frozenset(), frozenset({SOUND, *_WRONG})),
    "context_recall": Expected(
        _MISSING | {"outdated"}, frozenset({"ignored", "invented", "tone", "should_answer"})
    ),
    "context_precision": Expected(_MISSING, frozenset({"ignored", "invented", "tone", "should_answer"})),
    # The kinds of answers in detector_rows.
    "answer_relevancy": Expected(frozenset({"D"}), frozenset({"A", "B"})),
}
plugins.offer()
EVASIVE = {read_toml(form_path("answer_relevancy"))[language]["evasive"] for language in LANGUAGES}
# How many of each kind of answer are asked about with --answers.
KINDS = {"H": 6, "B": 2, "D": 6, "A": 6}
# `tone` is that of the customer, of which the plants say nothing; it is asked with the others.
JUDGES = (
    "turn", "relevance", "groundedness", "claims", "similarity", "llm_similarity", "llm_correctness",
    "fluency", "tone", "context_recall", "context_precision",
)  # fmt: skip
# Those of `--judging small`.
SMALL = ("turn", "groundedness", "similarity")
ANSWERS = ("answer_relevancy",)
PLAYS = {"usual": JUDGES, "small": SMALL, "answers": ANSWERS}
Verdicts = Mapping[str, Mapping[str, Mapping[str, Any]]]


def sampled(language: Language) -> list[Row]:
    """The rows of a language: sound ones, and faulty ones in turn of their causes; the same every time."""
    lot, by_cause = random.Random(language), defaultdict[str, list[Row]](list)
    for row in rows(ROWS / "held", language):
        if row.desk.endswith(DESKS):
            # One kind to the judges of a turn, of whom these rows are asked about.
            by_cause["lost_thread" if row.cause == "no_handover" else row.cause].append(row)
    for own in by_cause.values():
        lot.shuffle(own)
    sound = by_cause.pop(SOUND)[:FINE]
    faulty: list[Row] = []
    while len(faulty) < NUMBER - FINE:
        faulty += [own.pop() for _cause, own in sorted(by_cause.items()) if own]
    chosen = [*sound, *faulty[: NUMBER - FINE]]
    return lot.sample(chosen, len(chosen))


def answered(language: Language) -> list[Row]:
    """Answers that hand over, decline or answer; nothing else is known of their conversations."""
    lot, found = random.Random(language), list[Row]()
    lines = labelled_lines("held", language)
    for kind, count in KINDS.items():
        for line in lot.sample([each for each in lines if each[0] == kind], count):
            name = f"{language}/{fingerprint(line)[:8]}"
            case = Case(id=name, question="-", language=language)
            turn = Turn(index=1, user="-", answer=Answer(text=line[2:]))
            talk = Conversation(id=name, case=case, persona="-", turns=(turn,))
            found.append(Row("answers", kind, talk, Shelf(()), ""))
    return lot.sample(found, len(found))


def rows_of(play: str, languages: Sequence[Language]) -> list[Row]:
    """The rows that this play is about."""
    own = answered if play == "answers" else sampled
    return [row for language in languages for row in own(language)]


def settings_of(play: str, **more: Any) -> Settings:
    """One call for all judges of a row, as most runs ask, or a short one for each judge of small models."""
    judging = {"judging": "small"} if play == "small" else {}
    return load_settings({"judges": list(PLAYS[play]), **judging, **more})


async def verdicts_of(settings: Settings, asked: Sequence[Row]) -> dict[str, Any]:
    """What each judge says of each row, by the row's id."""
    context = RunContext(settings)

    async def grade(row: Row) -> tuple[str, dict[str, Any]]:
        scores = await context.panel.grade(context_of(row.conversation))
        found = {
            score.judge: {
                "state": score.state,
                "raw": score.raw,
                "value": score.value,
                "reason": score.reason,
            }
            for score in scores
        }
        return row.conversation.id, found

    try:
        return dict(await for_each(asked, grade, settings.calls))
    finally:
        await context.close(None)


def prompt_hash(play: str) -> str:
    """Stands for all requests."""
    settings, is_small = settings_of(play), play == "small"
    grading = RunContext(settings).grading
    groups = [[rubric] for rubric in grading.rubrics] if is_small else [grading.rubrics]
    prompts = (
        grading.frame.prompt(context_of(row.conversation), group, alone=is_small)
        for row in rows_of(play, LANGUAGES)
        for group in groups
    )
    return fingerprint(*(json.dumps(prompt, ensure_ascii=False) for prompt in prompts))


def passes(verdict: Mapping[str, Any], judge: str = "") -> bool | None:
    """Whether a judge lets the answer pass; None where it skipped or failed."""
    if verdict["state"] != "scored":
        return None
    if judge == "answer_relevancy":  # which question it would answer is a matter of embeddings
        return verdict["reason"] not in EVASIVE
    return bool(verdict["value"] * 5 >= PASSES)


def lines(asked: Sequence[Row], verdicts: Verdicts) -> Iterator[str]:
    """A line for each judge: faults it saw, sound ones it let pass, and the rows it judged otherwise."""
    for judge, expected in EXPECTED.items():
        counts, differences, open_rows = {True: [0, 0], False: [0, 0]}, [], 0
        for row in asked:
            verdict = verdicts.get(row.conversation.id, {}).get(judge)
            if verdict is None or row.cause not in expected.low | expected.high:
                continue
            passed, right = passes(verdict, judge), row.cause in expected.high
            if passed is None:
                open_rows += 1
                continue
            counts[right][0] += passed is right
            counts[right][1] += 1
            if passed is not right:
                differences.append(f"{row.conversation.id} ({row.cause})")
        (seen, faults), (fine, sound) = counts[False], counts[True]
        if not faults + sound + open_rows:
            continue
        found = f"{seen:>4} of {faults:>2} faults{fine:>5} of {sound:>2} passed{open_rows:>4} skipped"
        yield f"  {judge:18}{found}"
        yield from (f"      {difference}" for difference in differences)


def agreement(one: Verdicts, other: Verdicts) -> Iterator[str]:
    """How far two readers agree on the rows that both judged."""
    for judge in EXPECTED:
        pairs = [
            (round(5 * mine[judge]["value"]), round(5 * yours[judge]["value"]))
            for row, mine in one.items()
            if (yours := other.get(row, {}))
            and judge in mine
            and judge in yours
            and passes(mine[judge]) is not None
            and passes(yours[judge]) is not None
        ]
        if pairs:
            kappa = quadratic_kappa(*zip(*pairs, strict=True))
            near = sum(abs(mine - yours) <= 1 for mine, yours in pairs)
            told = "-" if kappa is None else f"{kappa:.2f}"
            yield f"  {judge:18}{len(pairs):>4} rows, within one grade {near:>3}, kappa {told}"


def main() -> None:
    """Prints the figures of every reader, then how far two of them agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", metavar="NAME", help="ask the endpoint, and keep its verdicts")
    parser.add_argument("--language", choices=LANGUAGES, help="only the rows of one language")
    parser.add_argument("--small", dest="play", action="store_const", const="small", default="usual",
                        help="what --judging small asks")  # fmt: skip
    parser.add_argument("--answers", dest="play", action="store_const", const="answers",
                        help="what answer_relevancy asks")  # fmt: skip
    parser.add_argument("--judge-model", help="model that grades")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for a reply")
    arguments = parser.parse_args()
    languages = [arguments.language] if arguments.language else LANGUAGES
    kept = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.is_file() else {}
    if arguments.record:
        settings = settings_of(arguments.play, judge_model=arguments.judge_model, timeout=arguments.timeout)
        digits, before = prompt_hash(arguments.play), kept.get(arguments.record, {})
        verdicts = before.get("verdicts", {}) if before.get("prompt") == digits else {}
        verdicts |= asyncio.run(verdicts_of(settings, rows_of(arguments.play, languages)))
        kept[arguments.record] = {"prompt": digits, "play": arguments.play, "verdicts": verdicts}
        RECORDED.write_text(json.dumps(kept, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    for reader, reading in kept.items():
        play = reading["play"]
        edited = "" if reading["prompt"] == prompt_hash(play) else ", of an EARLIER prompt"
        for language in languages:
            own = rows_of(play, [language])
            if any(row.conversation.id in reading["verdicts"] for row in own):
                print(f"{reader}, {language}{'' if play == 'usual' else f', {play}'}{edited}")
                print("\n".join(lines(own, reading["verdicts"])))
    readers = list(kept)
    for at, one in enumerate(readers):
        for other in readers[at + 1 :]:
            print(f"{one} and {other}")
            print("\n".join(agreement(kept[one]["verdicts"], kept[other]["verdicts"])))
    if not kept:
        print("judges              skipped: nobody has answered the requests yet (--record NAME)")


if __name__ == "__main__":
    main()
