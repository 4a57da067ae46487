"""`make bench-causes`: whether the cause of a red answer is named rightly, on faults that writers planted.

    python -m benchmarks.causes [--judge-model NAME] [--part a|b] [--lang ja|en] [--record FILE]

cause_rows/*/LANGUAGE-*.toml are support desks with their articles and turns, each with one planted fault or
sound. First what ids alone prove, on all of them: what is called certain has to be right. Then what a judge's
model names, on some faults of each language, as many of one cause as of another, drawn by a seed from `held`
and `fresh`: the prompt was written without these. It gets the requests of a run, which hold no label; the
judge's reason is written by hand, and says what is wrong with the answer and not why. Without --judge-model
the verdicts of a file are counted, by default cause_rows/verdicts.json. Each is in the file as soon as it is
there; what is in it is not asked for again.
"""

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.records import read_record, write_record
from simulator.core.concurrency import for_each
from simulator.core.roles import JUDGE_TEMPERATURE, endpoints
from simulator.core.settings import Settings, load_settings
from simulator.core.templates import read_toml
from simulator.core.types import (
    Answer,
    Case,
    ChatMessage,
    Conversation,
    Ended,
    Failure,
    GradingContext,
    Language,
    Passage,
    RedRules,
    Results,
    Run,
    Score,
)
from simulator.core.types import Turn as Exchange
from simulator.grading.cause import NEAREST, CauseJudge, CauseMaterial, JudgedCause, context_key
from simulator.models.by_role import Models
from simulator.models.limiter import GRADING
from simulator.models.pricing import Ledger
from simulator.results.articles import Shelf
from simulator.results.asking import open_answers
from simulator.results.causes import RedAnswer, RootCause, red_answers, root_causes
from simulator.results.figures import Summary
from simulator.results.summary import summarise

ROWS = Path(__file__).with_name("cause_rows")
RECORDED = ROWS / "verdicts.json"
LANGUAGES: tuple[Language, ...] = ("ja", "en")
SOUND = "sound"
# Labels of the rows that the program calls otherwise.
CALLED = {"derived_ignored": "ignored"}
JUDGES = Settings().judges
# Of each cause and language so many rows are drawn, by this seed, from these folders.
EACH, SEED, UNSEEN = 3, 7, ("held", "fresh")
# What causes named rightly are to reach: as much as word rules did, which are gone.
TARGET = 0.82
Verdicts = Mapping[str, JudgedCause]


class Row(NamedTuple):
    """A turn with its planted cause, or `sound`, and the articles of its desk."""

    desk: str
    cause: str
    conversation: Conversation
    shelf: Shelf
    reason: str


class Finding(NamedTuple):
    """A planted fault with the cause that was found."""

    row: Row
    root_cause: RootCause

    @property
    def is_right(self) -> bool:
        """Whether the cause is the planted one."""
        return self.root_cause.cause == self.row.cause

    @property
    def is_false(self) -> bool:
        """Whether it is called certain and is not so.

        An article that the customer's words kept away did not come, which is all that ids say.
        """
        planted = "retrieval" if self.row.cause == "spelling" else self.row.cause
        return self.root_cause.sure and self.root_cause.cause != planted


def rows(folder: Path, language: Language) -> list[Row]:
    """All turns of all desks of a language."""
    return [row for path in sorted(folder.glob(f"{language}-*.toml")) for row in desk_rows(path)]


def desk_rows(path: Path) -> Iterator[Row]:
    """The turns of one desk."""
    tables: Any = read_toml(path)
    language = tables["language"]
    texts = {
        each["id"]: Passage(id=each["id"], text=f"# {each['title']}\n\n{each['text'].strip()}")
        for each in tables["article"]
    }
    shelf = Shelf(texts.values())
    for turn in tables["turn"]:
        pieces = turn.get("passages", {})
        retrieved = tuple(
            texts[article].model_copy(update={"text": pieces[article]} if article in pieces else {})
            for article in turn["retrieved"]
        )
        case = Case(
            id=turn["id"],
            question=turn["question"],
            language=language,
            history=tuple(_lines(turn.get("earlier", ()))),
            references=((turn["reference"],),) if turn["reference"] else (),
            passages=tuple(turn["needed"]),
            answerable=turn["answerable"],
        )
        exchange = Exchange(index=1, user=case.question, answer=_answer(turn["answer"], retrieved))
        conversation = Conversation(
            id=f"calm/{path.stem}/{case.id}#1", case=case, persona="calm", turns=(exchange,),
            ended=Ended.TURN_LIMIT,
        )  # fmt: skip
        cause = CALLED.get(turn["cause"], turn["cause"])
        yield Row(path.stem, cause, conversation, shelf, turn.get("reason", ""))


def _lines(earlier: Sequence[Sequence[str]]) -> Iterator[ChatMessage]:
    for customer, bot in earlier:
        yield ChatMessage(role="user", content=customer)
        yield ChatMessage(role="assistant", content=bot)


def _answer(text: str, passages: tuple[Passage, ...]) -> Answer:
    error = None if text.strip() else Failure(kind="empty", message="empty")
    return Answer(text=text, passages=passages, shows_passages=True, error=error)


def context_of(conversation: Conversation) -> GradingContext:
    """What a judge sees of its one turn."""
    [turn] = conversation.turns
    return GradingContext(
        conversation=conversation.id, case=conversation.case, persona=conversation.persona, turn=turn
    )


def faults(language: Language, folders: Iterable[str] = ("build", *UNSEEN)) -> list[Row]:
    """The planted faults of a language."""
    every = [row for folder in folders for row in rows(ROWS / folder, language)]
    return [row for row in every if row.cause != SOUND]


def drawn(language: Language, part: str | None = None) -> list[Row]:
    """The faults that a model is asked about, in an order that tells nothing; a part is one half of them."""
    generator = random.Random(f"{SEED}{language}")
    every = faults(language, UNSEEN)
    chosen: list[Row] = []
    for cause in sorted({row.cause for row in every}):
        own = [row for row in every if row.cause == cause]
        chosen += generator.sample(own, min(EACH, len(own)))
    halves = {"a": chosen[::2], "b": chosen[1::2]}
    own_half = halves[part] if part else chosen
    return generator.sample(own_half, len(own_half))


def run_of(own: Sequence[Row]) -> tuple[Results, Summary]:
    """A run with these rows as its conversations, every turn of which is red, and its figures."""
    scores = [
        Score(
            judge="turn", conversation=row.conversation.id, turn=1, state="scored", value=0.4, raw=2.0,
            scale=(0, 5), reason=row.reason, rubric="rows",
        )
        for row in own
    ]  # fmt: skip
    settings = {"turns": 1, "judges": list(JUDGES), "adapter": "rows"}
    results = Results(
        run=Run(id="planted", created=datetime(2026, 1, 1, tzinfo=UTC), settings=settings, status="finished"),
        planned=len(own),
        conversations=tuple(row.conversation for row in own),
        scores=tuple(scores),
    )
    return results, summarise(results, rules=RedRules(), judges=JUDGES, seed=1)


def by_desk(every: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows of each desk, which share its knowledge."""
    for desk in dict.fromkeys(row.desk for row in every):
        yield [row for row in every if row.desk == desk]


def named(every: Sequence[Row], verdicts: Verdicts) -> list[Finding]:
    """The rows with the causes that ids prove, or these verdicts name."""
    findings = []
    for own in by_desk(every):
        results, summary = run_of(own)
        rows_by_id = {row.conversation.id: row for row in own}
        shelf = own[0].shelf
        causes = root_causes(
            results, summary, shelf, by_fault(red_answers(results, summary, shelf), verdicts)
        )
        findings += [Finding(rows_by_id[id_], cause) for (id_, _turn), cause in causes.items()]
    return findings


def by_fault(answers: Iterable[RedAnswer], verdicts: Verdicts) -> dict[str, JudgedCause]:
    """Recorded verdicts, which are kept by what was asked, under the faults of a run."""
    keys = ((answer.fault, context_key(answer.context)) for answer in answers)
    return {fault: verdicts[key] for fault, key in keys if key in verdicts}


def requests(every: Sequence[Row]) -> list[CauseMaterial]:
    """What a model is asked about, in the order of the rows."""
    asked = {
        answer.red.conversation: answer.material(NEAREST)
        for own in by_desk(every)
        for answer in open_answers(*run_of(own), own[0].shelf)
    }
    return [asked[row.conversation.id] for row in every if row.conversation.id in asked]


async def asked(
    materials: Sequence[CauseMaterial],
    settings: Settings,
    known: Verdicts,
    keep: Callable[[str, JudgedCause], None],
) -> None:
    """Asks the judge's model about what is not `known` of this prompt and model, by the answers' keys."""
    models = Models(endpoints(settings), settings, Ledger.of(settings))
    model = models.role("judge", temperature=JUDGE_TEMPERATURE, priority=GRADING)
    if model is None:
        raise SystemExit("no endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL")
    judge = CauseJudge(model, settings.seed)

    async def ask(material: CauseMaterial) -> None:
        key = context_key(material.context)
        if key not in known or known[key].rubric != judge.rubric:
            keep(key, await judge(material))

    try:
        await for_each(materials, ask, settings.calls)
    finally:
        await models.close()


def share(n: int, of: int) -> str:
    """As 12/40 (30 %)."""
    return f"{n}/{of}" + (f" ({100 * n / of:.0f} %)" if of else "")


def lines(findings: Sequence[Finding]) -> Iterator[str]:
    """What is named rightly, by cause and in all; and what is called certain."""
    right, false = [f for f in findings if f.is_right], [f for f in findings if f.is_false]
    sure = [f for f in findings if f.root_cause.sure]
    total = Counter(f.row.cause for f in findings)
    each = Counter(f.row.cause for f in right)
    yield f"  causes right {share(len(right), len(findings))}, to reach {TARGET:.0%}; not named:" + (
        f" {sum(f.root_cause.standing == 'open' for f in findings)}"
    )
    yield "  " + ", ".join(f"{cause} {each[cause]}/{n}" for cause, n in sorted(total.items()))
    yield f"  called certain {len(sure)}, certain and false {len(false)} (has to be 0)"
    for finding in findings:
        if not finding.is_right or finding.is_false:
            how = f"{finding.root_cause.cause} ({finding.root_cause.standing})"
            yield f"    {finding.row.conversation.id}: planted {finding.row.cause}, named {how}"


def certain_lines(language: Language) -> Iterator[str]:
    """What ids alone prove of all planted faults."""
    findings = named(faults(language), {})
    sure = [f for f in findings if f.root_cause.sure]
    false = [f for f in sure if f.is_false]
    yield (
        f"  by ids alone: certain {share(len(sure), len(findings))},"
        f" certain and false {len(false)} (has to be 0)"
    )
    yield from (f"    {f.row.conversation.id}: {f.row.cause} -> {f.root_cause.cause}" for f in false)


def main(arguments: Sequence[str] = ()) -> None:
    """Prints the figures of both languages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.causes")
    parser.add_argument("--judge-model", help="ask this model of the usual endpoint")
    parser.add_argument("--part", choices=("a", "b"), help="only this half of the rows")
    parser.add_argument("--lang", choices=LANGUAGES, help="only this language")
    parser.add_argument("--record", type=Path, help="add the verdicts to this file, and count what is in it")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for a reply")
    options = parser.parse_args(arguments)
    languages = [each for each in LANGUAGES if options.lang in (None, each)]
    file = options.record or RECORDED
    kept = recorded(file)
    if options.judge_model:
        settings = load_settings(
            {"judge_model": options.judge_model, "timeout": options.timeout, "cache": "off"}
        )
        materials = [each for language in languages for each in requests(drawn(language, options.part))]

        def keep(key: str, verdict: JudgedCause) -> None:
            if verdict.cause or key not in kept:
                kept[key] = verdict
            if options.record:
                write_record(file, {name: each.model_dump(mode="json") for name, each in kept.items()})

        asyncio.run(asked(materials, settings, kept, keep))
    for language in languages:
        every = drawn(language, options.part)
        print(
            f"{language}: {len(every)} planted faults that no prompt was written with, of"
            f" {len(faults(language))}"
        )
        print("\n".join(certain_lines(language)))
        keys = {context_key(each.context) for each in requests(every)}
        if not keys & kept.keys():
            print("  by a model: skipped, nobody has answered yet (--judge-model NAME --record FILE)")
            continue
        print(f"  by a model, {share(len(keys & kept.keys()), len(keys))} of the questions answered:")
        print("\n".join(lines([f for f in named(every, kept) if _is_known(f, kept)])))


def _is_known(finding: Finding, kept: Verdicts) -> bool:
    """Whether it was asked about and answered, or needs no answer."""
    [answer] = red_answers(*run_of([finding.row]), finding.row.shelf)
    return context_key(answer.context) in kept or not answer.is_open


def recorded(file: Path) -> dict[str, JudgedCause]:
    """The verdicts that are kept."""
    return {key: JudgedCause.model_validate(verdict) for key, verdict in read_record(file).items()}


if __name__ == "__main__":
    main(sys.argv[1:])
