"""`make bench-bots`: what a run says of a bot that refuses everything, one that invents, and a repaired one.

    python -m benchmarks.three_bots [--record NAME] [--judge-model MODEL]

three_bots.toml has the questions and the answers, three_bots.json the grades of readers who saw the judges'
requests alone. With --record the usual endpoint grades instead, and its grades are kept under NAME. What is
printed comes of the grades as in any run: score, red answers, causes, and whether a target of 80 is met.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator.core.concurrency import for_each
from simulator.core.roles import endpoints
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
from simulator.diagnosis.root_cause import root_causes
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.stats.gate import decide
from simulator.stats.summary import summarise

HERE = Path(__file__).parent
RECORDED = HERE / "three_bots.json"
LANGUAGES: tuple[Language, ...] = ("ja", "en")
BOTS = ("refusing", "inventing", "repaired")
JUDGES = ("turn", "relevance", "groundedness", "similarity", "fluency")
TARGET = 0.8


def conversations(bot: str, language: Language) -> list[Conversation]:
    """Each question as a conversation of one turn."""
    rows = [row for row in read_toml(HERE / "three_bots.toml")["question"] if row["language"] == language]
    return [_conversation(row, bot, f"{language}-{at}") for at, row in enumerate(rows, 1)]


def _conversation(row: dict[str, Any], bot: str, name: str) -> Conversation:
    passages = tuple(Passage(id=f"{name}-{at}", text=text) for at, text in enumerate(row["passages"], 1))
    case = Case(
        id=name,
        question=row["question"],
        language=row["language"],
        references=((row["reference"],),) if row["reference"] else (),
        answerable=row["answerable"],
    )
    turn = Turn(
        index=1, user=case.question, answer=Answer(text=row[bot], passages=passages, shows_passages=True)
    )
    return Conversation(
        id=f"calm/{bot}/{name}#1", case=case, persona="calm", turns=(turn,), ended=Ended.TURN_LIMIT
    )


def _context(conversation: Conversation) -> GradingContext:
    [turn] = conversation.turns
    return GradingContext(conversation=conversation.id, case=conversation.case, persona="calm", turn=turn)


def every() -> list[Conversation]:
    """All that is graded."""
    return [each for bot in BOTS for language in LANGUAGES for each in conversations(bot, language)]


def prompt_hash(settings: Settings) -> str:
    """Stands for all requests."""
    grading = RunContext(settings, endpoints(settings), (), Ledger.of(settings)).grading
    prompts = [grading.frame.prompt(_context(each), grading.rubrics, alone=False) for each in every()]
    return fingerprint(*(json.dumps(prompt, ensure_ascii=False) for prompt in prompts))


async def scores_of(settings: Settings) -> list[Score]:
    """What the endpoint's model says of every answer."""
    context = RunContext(settings, endpoints(settings), (), Ledger.of(settings))

    async def grade(conversation: Conversation) -> list[Score]:
        return await context.panel.grade(_context(conversation))

    try:
        graded = await for_each(every(), grade, settings.calls)
    finally:
        await context.close(None)
    return [score for scores in graded for score in scores]


def line(bot: str, language: Language, scores: Sequence[Score]) -> str:
    """What a run of this bot would say."""
    held = conversations(bot, language)
    ids = {each.id for each in held}
    settings = {"turns": 1, "judges": list(JUDGES), "offline": False}
    run = Run(id="bots", created=datetime(2026, 1, 1, tzinfo=UTC), settings=settings, status="finished")
    own = tuple(score for score in scores if score.conversation in ids)
    results = Results(run=run, planned=len(held), conversations=tuple(held), scores=own)
    summary = summarise(results, rules=RedRules(), judges=JUDGES, seed=1)
    articles = tuple(passage for each in held for passage in each.turns[0].answer.passages)
    causes = Counter(each.cause for each in root_causes(results, summary, articles=articles))
    passed = "met" if decide(summary, TARGET, 0.05).passed else "missed"
    score = "-" if summary.score is None else f"{100 * summary.score:.0f}"
    found = ", ".join(f"{cause} {n}" for cause, n in causes.most_common()) or "-"
    return f"  {bot:10}{language:4}{score:>4}{summary.red:>4} of {summary.turns}   {passed:8}{found}"


def main() -> None:
    """Prints what the program makes of every reader's grades."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", metavar="NAME", help="ask the endpoint, and keep its grades")
    parser.add_argument("--judge-model", help="model that grades")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for a reply")
    arguments = parser.parse_args()
    settings = load_settings(
        {"judges": list(JUDGES), "judge_model": arguments.judge_model, "timeout": arguments.timeout}
    )
    digits = prompt_hash(settings)
    kept = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.is_file() else {}
    if arguments.record:
        rows = [
            score.model_dump(mode="json", exclude_defaults=True) for score in asyncio.run(scores_of(settings))
        ]
        kept[arguments.record] = {"prompt": digits, "scores": rows}
        RECORDED.write_text(json.dumps(kept, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    if not kept:
        print("bots                skipped: nobody has graded their answers yet (--record NAME)")
    for reader, reading in kept.items():
        edited = "" if reading["prompt"] == digits else ", of an EARLIER prompt"
        scores = [Score.model_validate(row) for row in reading["scores"]]
        print(f"{reader}{edited}\n  {'bot':14}score  red      target {100 * TARGET:.0f}  causes")
        for bot in BOTS:
            for language in LANGUAGES:
                print(line(bot, language, scores))


if __name__ == "__main__":
    main()
