"""`make bench-conversation`: whether the judge of whole conversations sees what goes wrong between turns.

    python -m benchmarks.conversation_validity [--judge-model NAME] [--part a|b] [--lang LANG] [--record FILE]

benchmarks/conversations.toml has dialogues, each once with a planted fault and once sound. The judge gets
the transcript alone. Without an endpoint the verdicts in benchmarks/conversation_verdicts.json are counted,
which readers gave in the model's place. Of a dialogue each reader saw one version: they are in two parts.
"""

import random
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from benchmarks.readings import Failed, Readings
from simulator.core.replies import LapseKind, Request, settled_share
from simulator.core.templates import LANGUAGES, fingerprint
from simulator.core.types import (
    CONVERSATION,
    LAPSES_IGNORED,
    Answer,
    Case,
    Conversation,
    Ended,
    GradingContext,
    RedRules,
    Score,
    Turn,
)
from simulator.results.red import red_marks
from simulator.runner.context import RunContext
from simulator.runner.conversation import conversation_context

HERE = Path(__file__).parent
RECORDED = HERE / "conversation_verdicts.json"
# The judge's kind of a planted fault; what is only unresolved shows in the requests.
LISTS = {kind.removesuffix("s"): kind for kind in get_args(LapseKind)}
KINDS = (*LISTS, "unresolved")
Verdicts = Mapping[str, Mapping[str, Any]]


class Dialogue(NamedTuple):
    """A conversation with what was planted in it: a kind of fault at a turn, or nothing."""

    id: str
    kind: str
    at: int
    faulty: bool
    conversation: Conversation

    @property
    def name(self) -> str:
        """The name of its verdict."""
        return f"{self.id}/{'faulty' if self.faulty else 'sound'}"


def dialogues(path: Path = HERE / "conversations.toml") -> list[Dialogue]:
    """All dialogues, each in both versions."""
    found = []
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["dialogue"]:
        for faulty in (True, False):
            lines = [*row["start"], *(row["faulty"] if faulty else row["sound"])]
            turns = tuple(
                Turn(index=at, user=line, answer=Answer(text=answer))
                for at, (line, answer) in enumerate(lines, 1)
            )
            held = Conversation(
                id=row["id"],
                case=Case(id=row["id"], question=turns[0].user, language=row["language"]),
                persona="calm",
                turns=turns,
                ended=Ended.TURN_LIMIT,
                closing=row.get("closing", ""),
            )
            found.append(Dialogue(row["id"], row["kind"], row["at"], faulty, held))
    return found


def part_of(every: Sequence[Dialogue], part: str) -> list[Dialogue]:
    """Half of the dialogues in an order drawn by lot: of every one, a reader sees one version."""
    chosen = [each for at, each in enumerate(every) if (at // 2 + at) % 2 == "ab".index(part)]
    return random.Random(part).sample(chosen, len(chosen))


async def judge(context: RunContext, dialogue: Dialogue) -> dict[str, Any] | Failed:
    """What the judge's model finds in a dialogue, or why it says nothing."""
    seen = conversation_context(dialogue.conversation)
    assert isinstance(seen, GradingContext)  # noqa: S101 - all of them are complete
    [score] = await context.panel.grade(seen)
    return dict(score.detail) if score.state == "scored" else Failed(f"{score.state}, {score.reason}")


def prompt_hash(context: RunContext) -> str:
    """A hash of the rubric in both languages, so that verdicts of an earlier prompt are known as such."""
    frame, [[rubric]] = context.grading.frame, context.grading.conversation_rubrics
    return fingerprint(*(frame.task(language, [rubric], alone=True) for language in LANGUAGES))


def has_finding(verdict: Mapping[str, Any]) -> bool:
    """Whether the judge names a fault between turns, or a request that was not settled."""
    unsettled = any(request["state"] == "not" for request in verdict["requests"])
    return unsettled or is_red(verdict) or bool(verdict["lapses"])


def settled(verdict: Mapping[str, Any]) -> float:
    """The share of the requests that were settled, as the program counts it."""
    return settled_share([Request.model_validate(request) for request in verdict["requests"]])


def is_red(verdict: Mapping[str, Any]) -> bool:
    """Whether the conversation is red by the usual rules."""
    value = settled(verdict)
    known: dict[str, Any] = {"state": "scored", "value": value, "raw": value, "scale": (0, 1)}
    whole = Score(judge=CONVERSATION, turn=99, detail=dict(verdict), **known)
    return bool(red_marks([whole], RedRules()))


def names_plant(each: Dialogue, verdict: Mapping[str, Any]) -> bool:
    """Whether the judge names the planted kind, at a turn of it; a loop may be named by a later round."""
    if each.kind == "unresolved":
        return any(request["state"] != "resolved" for request in verdict["requests"])
    lapses = [lapse for lapse in verdict["lapses"] if lapse["kind"] == LISTS[each.kind]]
    return any(each.at in (lapse["earlier"], lapse["turn"]) or lapse["turn"] > each.at for lapse in lapses)


def lines(every: Sequence[Dialogue], verdicts: Verdicts) -> Iterator[str]:
    """The figures: by language and kind, then together."""
    graded = [(each, verdicts[each.name]) for each in every if each.name in verdicts]
    faulty, sound = ([pair for pair in graded if pair[0].faulty is wanted] for wanted in (True, False))
    yield f"{'':24}{'n':>4}{'found':>7}{'kind and turn':>15}{'red':>5}{'resolved':>10}"
    for language in ("ja", "en"):
        for kind in KINDS:
            own = [
                pair
                for pair in faulty
                if pair[0].kind == kind and pair[0].conversation.case.language == language
            ]
            yield _row(f"{language} {kind}", own)
    for name, own in (("all with a fault", faulty), ("all sound", sound)):
        yield _row(name, own)
    for language in ("ja", "en", ""):
        hits, wrong = (
            sum(
                has_finding(verdict)
                for each, verdict in own
                if language in {"", each.conversation.case.language}
            )
            for own in (faulty, sound)
        )
        planted = sum(language in {"", each.conversation.case.language} for each, _verdict in faulty)
        precision = hits / (hits + wrong) if hits + wrong else 0.0
        recall = hits / planted if planted else 0.0
        found = f"recall {recall:.2f} ({hits} of {planted}), precision {precision:.2f} ({wrong} wrong)"
        yield f"{language or 'both':6} {found}"
    dropped, ignored = (
        sum(int(verdict.get(key, 0)) for _each, verdict in graded) for key in ("dropped", LAPSES_IGNORED)
    )
    yield (
        f"{len(graded)} of {len(every)} graded; {dropped} items dropped for a turn or kind that there is not,"
        f" or as doubles; {ignored} ignored for their quotation"
    )


def _row(name: str, own: Sequence[tuple[Dialogue, Mapping[str, Any]]]) -> str:
    counts = [
        sum(has_finding(verdict) for _each, verdict in own),
        sum(each.faulty and names_plant(each, verdict) for each, verdict in own),
        sum(is_red(verdict) for _each, verdict in own),
    ]
    mean = sum(settled(verdict) for _each, verdict in own) / max(1, len(own))
    return f"{name:24}{len(own):>4}{counts[0]:>7}{counts[1]:>15}{counts[2]:>5}{mean:>10.2f}"


BENCH = Readings(
    module="conversation_validity",
    title="judge of whole conversations",
    recorded=RECORDED,
    judges=[CONVERSATION],
    name=lambda dialogue: dialogue.name,
    prompt=prompt_hash,
    judge=judge,
    lines=lines,
    half=part_of,
)


def main(arguments: Sequence[str] = ()) -> None:
    """Asks the model if there is one, else counts the recorded verdicts."""
    options = BENCH.parser().parse_args(arguments)
    every = [each for each in dialogues() if options.lang in (None, each.conversation.case.language)]
    print(f"{len(every) // 2} dialogues, each with a planted fault and sound")
    BENCH.run(every, options, BENCH.settings(options))


if __name__ == "__main__":
    main(sys.argv[1:])
