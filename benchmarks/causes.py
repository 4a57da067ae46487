"""`make bench-causes`: whether the cause of a red turn is found, on turns whose cause their writers planted.

    python -m benchmarks.causes [FOLDER] [--wrong] [--model MODEL]

cause_rows/*/LANGUAGE-*.toml are support desks with their articles and turns, each with one planted fault or
sound. Rules were made with `build`, and with what went wrong on `held`. `fresh` only measures, and whoever
makes rules does not read it: its sound answers are worded as differently as careful writers could. The
stand-ins grade all first, as an offline run does: that shows which sound turns are red, and why. Then the
faults are graded as a model would, with the row's own reason and one grade for all, and the sound turns pass:
that shows which causes are found, by rules and, with --model, by a model as well.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.messages import shown
from simulator.core.roles import GRADING, endpoints
from simulator.core.settings import Settings, load_settings
from simulator.core.templates import read_toml
from simulator.core.types import (
    Answer,
    Case,
    Conversation,
    Ended,
    Failure,
    GradingContext,
    Language,
    Message,
    Passage,
    RedRules,
    Results,
    Run,
    Score,
)
from simulator.core.types import Turn as Exchange
from simulator.diagnosis.asking import At, CauseJudge, judge_causes, open_turns
from simulator.diagnosis.evidence import JudgedCause, RootCause
from simulator.diagnosis.root_cause import root_causes, turn_evidence
from simulator.grading.judge import Panel
from simulator.models.by_role import Models
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.summary import summarise

ROWS = Path(__file__).with_name("cause_rows")
# What readers said in the model's place, who saw its requests alone.
RECORDED = ROWS / "verdicts.json"
OFFLINE = "graded by the stand-ins, as offline"
LANGUAGES: tuple[Language, ...] = ("ja", "en")
SOUND = "sound"
# Labels of the rows that the program calls otherwise.
CALLED = {"derived_ignored": "ignored"}
JUDGES = Settings().judges
# The grades of a model for every planted fault, and for every sound turn: of five.
FAULTY, FINE = 2.0, 5.0
# A model's verdicts by conversation.
Verdicts = Mapping[str, JudgedCause]


class Row(NamedTuple):
    """A turn with its planted cause, or `sound`, and the articles of its desk."""

    desk: str
    cause: str
    conversation: Conversation
    articles: tuple[Passage, ...]
    reason: str
    why: str


class Finding(NamedTuple):
    """A row with what was found: the red turn, None where it is not red, and its cause."""

    row: Row
    red: RedTurn | None
    root_cause: RootCause | None

    @property
    def is_right(self) -> bool:
        """Whether the cause is the planted one."""
        return self.root_cause is not None and self.root_cause.cause == self.row.cause


def rows(folder: Path, language: Language) -> list[Row]:
    """All turns of all desks of a language."""
    return [row for path in sorted(folder.glob(f"{language}-*.toml")) for row in desk_rows(path)]


def desk_rows(path: Path) -> Iterator[Row]:
    """The turns of one desk."""
    tables: Any = read_toml(path)
    language = tables["language"]
    articles = tuple(
        Passage(id=each["id"], text=f"# {each['title']}\n\n{each['text'].strip()}")
        for each in tables["article"]
    )
    texts = {passage.id: passage for passage in articles}
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
        yield Row(path.stem, cause, conversation, articles, turn.get("reason", ""), turn.get("why", ""))


def _lines(earlier: Sequence[Sequence[str]]) -> Iterator[Message]:
    for customer, bot in earlier:
        yield Message(role="user", content=customer)
        yield Message(role="assistant", content=bot)


def _answer(text: str, passages: tuple[Passage, ...]) -> Answer:

    error = None if text.strip() else Failure(kind="empty", message="empty")
    return Answer(text=text, passages=passages, error=error)


async def counted(every: Sequence[Row]) -> dict[str, list[Score]]:
    """The stand-ins' grades of each row, by conversation."""
    settings = Settings(judges=JUDGES, offline=True, cache="off")
    roles = dict.fromkeys(("user", "judge", "embed", "demo"))
    panel: Panel = RunContext(settings, roles, (), Ledger({}, None)).panel  # type: ignore[arg-type]
    return {row.conversation.id: await panel.grade(context_of(row.conversation)) for row in every}


def context_of(conversation: Conversation) -> GradingContext:
    [turn] = conversation.turns
    return GradingContext(
        conversation=conversation.id, case=conversation.case, persona=conversation.persona, turn=turn
    )


def judged(every: Sequence[Row]) -> dict[str, list[Score]]:
    """The grades that a model might give: the same for every fault, with the reason of the row."""
    return {row.conversation.id: [_grade(row)] for row in every}


def _grade(row: Row) -> Score:
    raw = FINE if row.cause == SOUND else FAULTY
    return Score(
        judge="turn", conversation=row.conversation.id, turn=1, state="scored", value=raw / 5, raw=raw,
        scale=(0, 5), reason=row.reason, rubric="rows",
    )  # fmt: skip


def run_of(every: Sequence[Row], scores: Mapping[str, Sequence[Score]], *, named: bool) -> Results:
    """A run with these rows as its conversations; unless `named`, their cases do not name their articles."""
    conversations = tuple(row.conversation if named else _unnamed(row.conversation) for row in every)
    settings = {"turns": 1, "judges": list(JUDGES), "offline": True, "adapter": "rows"}
    return Results(
        run=Run(id="planted", created=datetime(2026, 1, 1, tzinfo=UTC), settings=settings, status="finished"),
        planned=len(conversations),
        conversations=conversations,
        scores=tuple(score for row in every for score in scores[row.conversation.id]),
    )


def _unnamed(conversation: Conversation) -> Conversation:
    return conversation.model_copy(update={"case": conversation.case.model_copy(update={"passages": ()})})


async def asked(every: Sequence[Row], model_name: str, timeout: float) -> Verdicts:
    """What the judge's model says of each planted fault whose cause no rule proves, by conversation."""
    settings = load_settings({"judge_model": model_name, "judge_temperature": 0.0, "timeout": timeout})
    models = Models(endpoints(settings), settings, Ledger.of(settings))
    model = models.role("judge", temperature=0.0, priority=GRADING)
    if model is None:
        raise SystemExit("no endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL")
    found, judge = dict[At, JudgedCause](), CauseJudge(model, settings.seed)
    try:
        for own in by_desk(every):
            results = run_of(own, judged(own), named=True)
            summary = summary_of(results)
            looks = list(turn_evidence(results, summary, articles=own[0].articles))
            by_rule = root_causes(results, summary, articles=own[0].articles)
            verdicts, _spent = await judge_causes(judge, open_turns(looks, by_rule, {}), settings.calls)
            found |= verdicts
    finally:
        await models.close()
    return {conversation: verdict for (conversation, _turn), verdict in found.items()}


def named_by(every: Sequence[Row], verdicts: Verdicts) -> list[Finding]:
    """The planted faults with the causes that rules prove, or else these verdicts name."""
    findings = []
    for own in by_desk(every):
        results = run_of(own, judged(own), named=True)
        summary = summary_of(results)
        at = {(red.conversation, red.turn): verdicts.get(red.conversation) for red in summary.reddest}
        known = {key: verdict for key, verdict in at.items() if verdict}
        causes = root_causes(results, summary, articles=own[0].articles, judged=known)
        findings += paired(own, summary, causes)
    return findings


def by_desk(every: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows of each desk, which share its knowledge."""
    for desk in dict.fromkeys(row.desk for row in every):
        yield [row for row in every if row.desk == desk]


def paired(own: Sequence[Row], summary: Summary, causes: Iterable[RootCause]) -> list[Finding]:
    """Each row with the red turn and the cause that belong to it."""
    red = {each.conversation: each for each in summary.reddest}
    by_id = {cause.conversation: cause for cause in causes}
    return [Finding(row, red.get(row.conversation.id), by_id.get(row.conversation.id)) for row in own]


def found(
    every: Sequence[Row], scores: Mapping[str, Sequence[Score]], *, named: bool = True
) -> list[Finding]:
    """The rows with what makes them red, and its cause; desk by desk, each with its own knowledge."""
    findings = []
    for own in by_desk(every):
        results = run_of(own, scores, named=named)
        summary = summary_of(results)
        findings += paired(own, summary, root_causes(results, summary, articles=own[0].articles))
    return findings


def summary_of(results: Results) -> Summary:
    """The figures by the usual rules."""
    return summarise(results, rules=RedRules(), judges=JUDGES, seed=1)


def lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Accuracy, that of the certain ones, and the confusion of the red faults."""
    faults = [each for each in findings if each.row.cause != SOUND and each.root_cause]
    right, sure = (
        sum(each.is_right for each in faults),
        [f for f in faults if f.root_cause and f.root_cause.sure],
    )
    certain = sum(each.is_right for each in sure)
    unclear = sum(each.root_cause is not None and each.root_cause.cause == "unclear" for each in faults)
    yield (
        f"  causes right {share(right, len(faults))}; certain ones {share(certain, len(sure))};"
        f" left unclear {unclear}"
    )


def confusion(findings: Sequence[Finding]) -> Iterator[str]:
    """Planted (rows) by found (columns)."""
    pairs: Counter[tuple[str, str]] = Counter(
        (each.row.cause, each.root_cause.cause)
        for each in findings
        if each.root_cause and each.row.cause != SOUND
    )
    planted = list(dict.fromkeys(cause for cause, _found in sorted(pairs)))
    columns = list(dict.fromkeys([*planted, *(found for _cause, found in sorted(pairs))]))
    yield f"  {'planted/found':<15}" + "".join(f"{cause[:10]:>11}" for cause in columns)
    for cause in planted:
        yield f"  {cause:<15}" + "".join(f"{pairs[cause, column] or '.':>11}" for column in columns)


def share(n: int, of: int) -> str:
    """As 12/40 (30 %)."""
    return f"{n}/{of}" + (f" ({100 * n / of:.0f} %)" if of else "")


def red_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """How many faults and how many sound turns are red, and by which mark."""
    for name, own in (
        ("faults", [f for f in findings if f.row.cause != SOUND]),
        (SOUND, [f for f in findings if f.row.cause == SOUND]),
    ):
        red = [each.red for each in own if each.red]
        marks = Counter(f"{mark.kind} {mark.severity}" for each in red for mark in each.marks)
        by_mark = ", ".join(f"{mark} {n}" for mark, n in marks.most_common())
        yield f"  {name} red {share(len(red), len(own))}" + (f": {by_mark}" if by_mark else "")
    blamed = Counter(f.root_cause.cause for f in findings if f.row.cause == SOUND and f.root_cause)
    if blamed:
        yield "  causes named for sound turns: " + ", ".join(f"{c} {n}" for c, n in blamed.most_common())


def wrong_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Each wrong cause with its evidence, and each sound turn that is red."""
    for each in findings:
        if each.root_cause is None or each.is_right:
            continue
        cause = each.root_cause
        sure = " CERTAIN" if cause.sure else ""
        yield f"    {each.row.conversation.id}: {each.row.cause} -> {cause.cause}{sure}"
        yield f"      {shown(cause.evidence, each.row.conversation.case.language)}"
        if each.row.cause == SOUND and each.red:
            yield f"      {[(m.kind, m.severity, m.reason) for m in each.red.marks]}"


def main(arguments: Sequence[str] = ()) -> None:
    """Prints the figures of both languages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.causes")
    parser.add_argument(
        "folder",
        nargs="?",
        default="held",
        help="held, fresh (read by nobody who makes rules), build (rules were made with it), or a folder",
    )
    parser.add_argument("--wrong", action="store_true", help="show every wrong cause")
    parser.add_argument(
        "--model", help="ask this model of the usual endpoint for causes, and keep its verdicts"
    )
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for a reply")
    options = parser.parse_args(arguments)
    folder = Path(options.folder) if Path(options.folder).is_dir() else ROWS / options.folder
    kept = recorded()
    for language in LANGUAGES:
        every = rows(folder, language)
        if not every:
            continue
        if options.model:
            kept |= asyncio.run(asked(every, options.model, options.timeout))
            verdicts = {name: each.model_dump(mode="json") for name, each in sorted(kept.items())}
            RECORDED.write_text(json.dumps(verdicts, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{language}: {len(every)} turns, {sum(row.cause == SOUND for row in every)} of them sound")
        for title, findings in modes(every, kept):
            print(f" {title}")
            shown_lines = (
                *(red_lines(findings) if title == OFFLINE else ()),
                *lines(findings),
                *confusion(findings),
            )
            print("\n".join(shown_lines))
            if options.wrong:
                print("\n".join(wrong_lines(findings)))


def modes(every: Sequence[Row], kept: Verdicts) -> Iterator[tuple[str, list[Finding]]]:
    """The ways in which causes are looked for, and what each of them finds."""
    yield OFFLINE, found(every, asyncio.run(counted(every)))
    yield "every fault red, as a model would grade it", found(every, judged(every))
    unnamed = found(every, judged(every), named=False)
    yield "the same, where the cases do not name the articles they need", unnamed
    if any(row.conversation.id in kept for row in every):
        yield "named by a model where no rule proves a cause (as kept)", named_by(every, kept)


def recorded() -> dict[str, JudgedCause]:
    """The verdicts that are kept."""
    if not RECORDED.is_file():
        return {}
    stored = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {name: JudgedCause.model_validate(row) for name, row in stored.items()}


if __name__ == "__main__":
    main(sys.argv[1:])
