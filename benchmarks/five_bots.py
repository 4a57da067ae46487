"""`make bench-bots`: what a run says of five bots whose faults are known, turn by turn.

    python -m benchmarks.five_bots [--judge-model NAME] [--part a|b] [--lang ja|en] [--record FILE]

One refuses everything, one invents, one is right but rude, one omits a condition, one is right on the first
turn only. five_bots.toml has their answers to four questions in two turns; the customer is scripted, so that
only the judge is asked: one call for each turn, and one for the cause of each red answer, as in a run. Every
faulty turn should be red, its cause the planted one, and nothing certain that is false. Without --judge-model
the grades of a file are counted, by default five_bots.json. Each is in the file as soon as it is there; what
is in it is not asked for again.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.causes import asked, by_fault, share
from benchmarks.records import read_record, write_record
from simulator.core.concurrency import for_each
from simulator.core.settings import Settings, load_settings
from simulator.core.templates import fingerprint, read_toml
from simulator.core.types import (
    Answer,
    Case,
    Conversation,
    Ended,
    GradingContext,
    Language,
    Passage,
    RedRules,
    Results,
    Run,
    Score,
    Turn,
)
from simulator.grading.cause import NEAREST, CauseMaterial, JudgedCause
from simulator.results.articles import Shelf
from simulator.results.asking import open_answers
from simulator.results.causes import red_answers, root_causes
from simulator.results.summary import summarise
from simulator.runner.context import RunContext
from tests.sample_runs import decide

HERE = Path(__file__).parent
RECORDED = HERE / "five_bots.json"
LANGUAGES: tuple[Language, ...] = ("ja", "en")
# The causes that name the fault of each bot.
BOTS: Mapping[str, frozenset[str]] = {
    "refuses": frozenset({"should_answer"}),
    "invents": frozenset({"invented"}),
    "rude": frozenset({"tone"}),
    "omits": frozenset({"ignored"}),
    "first_only": frozenset({"lost_thread", "loops"}),
}
JUDGES = ("turn", "relevance", "groundedness", "similarity", "fluency")
TARGET = 0.8
# Conversation and turn of a graded answer.
Place = tuple[str, int]


class Planted(NamedTuple):
    """A conversation of a bot; `causes` are the right ones of each turn, empty where it has no fault."""

    bot: str
    conversation: Conversation
    shelf: Shelf
    causes: tuple[frozenset[str], frozenset[str]]


def planted(language: Language, part: str | None = None) -> list[Planted]:
    """All conversations of a language; a part is two of the four questions."""
    rows = [row for row in read_toml(HERE / "five_bots.toml")["question"] if row["language"] == language]
    halves = {"a": (1, 2), "b": (3, 4), None: (1, 2, 3, 4)}
    return [
        _planted(row, bot, f"{language}-{at}")
        for at, row in enumerate(rows, 1)
        if at in halves[part]
        for bot in BOTS
    ]


def _planted(row: dict[str, Any], bot: str, name: str) -> Planted:
    passages = tuple(Passage(id=f"{name}-{at}", text=text) for at, text in enumerate(row["passages"], 1))
    both = row["first"], row["second"]
    answerable = row.get("answerable", True)
    case = Case(
        id=name,
        question=both[0]["question"],
        language=row["language"],
        script=(both[1]["question"],),
        references=tuple((each["reference"],) if each["reference"] else () for each in both),
        passages=(passages[0].id,) if answerable else (),
        answerable=answerable,
    )
    said = [each[bot] if bot != "first_only" else both[0]["right"] for each in both]
    turns = tuple(
        Turn(
            index=at,
            user=each["question"],
            answer=Answer(text=text, passages=passages, shows_passages=True),
        )
        for at, (each, text) in enumerate(zip(both, said, strict=True), 1)
    )
    conversation = Conversation(
        id=f"calm/{bot}-{name}#1", case=case, persona="calm", turns=turns, ended=Ended.TURN_LIMIT
    )
    return Planted(bot, conversation, Shelf(passages), (_of_first(bot, answerable=answerable), BOTS[bot]))


def _of_first(bot: str, *, answerable: bool) -> frozenset[str]:
    """The right causes of a first turn; where there is no answer, to refuse is right."""
    if bot == "first_only":
        return frozenset()
    if answerable:
        return BOTS[bot]
    return {"invents": frozenset({"should_refuse"}), "rude": BOTS["rude"]}.get(bot, frozenset())


def contexts(conversation: Conversation) -> list[GradingContext]:
    """What a judge sees of each turn."""
    return [
        GradingContext(
            conversation=conversation.id,
            case=conversation.case,
            persona="calm",
            turn=turn,
            earlier=conversation.turns[:at],
        )
        for at, turn in enumerate(conversation.turns)
    ]


def prompt_hash(settings: Settings) -> str:
    """Stands for all requests that grade."""
    grading = RunContext(settings).grading
    every = [c for language in LANGUAGES for each in planted(language) for c in contexts(each.conversation)]
    prompts = [grading.frame.prompt(each, grading.rubrics, alone=False) for each in every]
    return fingerprint(*(json.dumps(prompt, ensure_ascii=False) for prompt in prompts))


async def grade_answers(
    every: Sequence[Planted], settings: Settings, done: Collection[Place], keep: Callable[[list[Score]], None]
) -> None:
    """Has the endpoint's model grade the answers that are not `done`; `keep` gets the scores of each."""
    context = RunContext(settings)

    async def grade(seen: GradingContext) -> None:
        keep(await context.panel.grade(seen))

    try:
        all_turns = [seen for each in every for seen in contexts(each.conversation)]
        left = [seen for seen in all_turns if (seen.conversation, seen.turn.index) not in done]
        await for_each(left, grade, settings.calls)
    finally:
        await context.close(None)


def run_of(own: Sequence[Planted], scores: Sequence[Score]) -> Results:
    """These conversations as a run."""
    ids = {each.conversation.id for each in own}
    return Results(
        run=Run(
            id="bots",
            created=datetime(2026, 1, 1, tzinfo=UTC),
            settings={"turns": 2, "judges": list(JUDGES), "offline": False},
            status="finished",
        ),
        planned=len(own),
        conversations=tuple(each.conversation for each in own),
        scores=tuple(score for score in scores if score.conversation in ids),
    )


def shelf_of(own: Sequence[Planted]) -> Shelf:
    """The articles of all questions."""
    return Shelf({p.id: p for each in own for p in each.shelf.passages}.values())


def red_materials(every: Sequence[Planted], scores: Sequence[Score]) -> list[CauseMaterial]:
    """What the model is asked about the red answers, as after a run of each bot."""
    found: list[CauseMaterial] = []
    for bot in BOTS:
        own = [each for each in every if each.bot == bot]
        results = run_of(own, scores)
        summary = summarise(results, rules=RedRules(), judges=JUDGES, seed=1)
        found += [answer.material(NEAREST) for answer in open_answers(results, summary, shelf_of(own))]
    return found


class Counts(NamedTuple):
    """Faulty turns, the red ones and those named rightly; sound turns, the red ones; certain and false."""

    faulty: int
    red: int
    right: int
    sound: int
    sound_red: int
    false: int


def line(
    bot: str, own: Sequence[Planted], scores: Sequence[Score], verdicts: Mapping[str, JudgedCause]
) -> Counts:
    """Prints what a run of this bot says, and counts it."""
    results = run_of(own, scores)
    summary = summarise(results, rules=RedRules(), judges=JUDGES, seed=1)
    shelf = shelf_of(own)
    causes = root_causes(results, summary, shelf, by_fault(red_answers(results, summary, shelf), verdicts))
    wanted = {(each.conversation.id, at): right for each in own for at, right in enumerate(each.causes, 1)}
    faulty = [key for key, right in wanted.items() if right]
    red = [key for key in faulty if key in causes]
    right = [key for key in red if causes[key].cause in wanted[key]]
    sound_red = [key for key in causes if not wanted[key]]
    false = [key for key, cause in causes.items() if cause.sure and cause.cause not in wanted[key]]
    passed = "met" if decide(summary, TARGET).passed else "missed"
    score = "-" if summary.scores.score is None else f"{100 * summary.scores.score:.0f}"
    print(
        f"  {bot:11}{score:>4}  target {100 * TARGET:.0f} {passed:7} red {share(len(red), len(faulty)):16}"
        f" causes right {share(len(right), len(faulty))}"
    )
    for key in [*faulty, *sound_red]:
        if key not in right:
            how = f"{causes[key].cause} ({causes[key].standing})" if key in causes else "not red"
            print(f"    {key[0]} turn {key[1]}: {'/'.join(sorted(wanted[key])) or 'sound'} -> {how}")
    sound = len(wanted) - len(faulty)
    return Counts(len(faulty), len(red), len(right), sound, len(sound_red), len(false))


def main(arguments: Sequence[str] = ()) -> None:
    """Prints what the program makes of the grades."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.five_bots")
    parser.add_argument("--judge-model", help="model that grades, and names causes")
    parser.add_argument("--part", choices=("a", "b"), help="only two of the four questions")
    parser.add_argument("--lang", choices=LANGUAGES, help="only this language")
    parser.add_argument("--record", type=Path, help="add grades and causes to this file")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for a reply")
    options = parser.parse_args(arguments)
    settings = load_settings(
        {
            "judges": list(JUDGES),
            "judge_model": options.judge_model,
            "timeout": options.timeout,
            "cache": "off",
        }
    )
    languages = [each for each in LANGUAGES if options.lang in (None, each)]
    file = options.record or RECORDED
    digits = prompt_hash(settings)
    # Grades of an earlier prompt are counted, but none is kept beside those of this one.
    kept = read_record(file, digits if options.judge_model else "")
    scores = {(s.conversation, s.turn, s.judge): s for s in map(Score.model_validate, kept.get("scores", []))}
    verdicts = {key: JudgedCause.model_validate(each) for key, each in kept.get("causes", {}).items()}
    if options.judge_model:
        every = [each for language in languages for each in planted(language, options.part)]

        def save() -> None:
            if options.record:
                rows = [score.model_dump(mode="json", exclude_defaults=True) for score in scores.values()]
                said = {key: each.model_dump(mode="json") for key, each in verdicts.items()}
                write_record(file, {"prompt": digits, "scores": rows, "causes": said})

        def keep_scores(graded: list[Score]) -> None:
            scores.update({(each.conversation, each.turn, each.judge): each for each in graded})
            save()

        def keep_cause(key: str, verdict: JudgedCause) -> None:
            verdicts[key] = verdict
            save()

        done = {each[:2] for each, score in scores.items() if each[2] == "turn" and score.state == "scored"}
        asyncio.run(grade_answers(every, settings, done, keep_scores))
        materials = red_materials(every, list(scores.values()))
        asyncio.run(asked(materials, settings, verdicts, keep_cause))
    elif not scores:
        print("bots: skipped, nobody has graded their answers yet (--judge-model NAME --record FILE)")
    elif kept["prompt"] != digits:
        print("these grades are of an EARLIER prompt")
    for language in languages:
        every = planted(language, options.part)
        graded_ids = {conversation for conversation, _turn, _judge in scores}
        every = [each for each in every if each.conversation.id in graded_ids]
        if not every:
            continue
        print(f"{language}: {2 * len(every)} turns of {len(BOTS)} bots")
        found = [
            line(bot, [each for each in every if each.bot == bot], list(scores.values()), verdicts)
            for bot in BOTS
        ]
        faulty, red, right, sound, sound_red, false = map(sum, zip(*found, strict=True))
        print(
            f"  faulty turns red {share(red, faulty)} (to be all), causes right {share(right, faulty)}"
            f" (to reach 85 %), sound turns red {share(sound_red, sound)},"
            f" certain and false {false} (has to be 0)"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
