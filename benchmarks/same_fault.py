"""`make bench-same-fault`: whether a judge says rightly that an answer has the fault of another one.

    python -m benchmarks.same_fault [--part a|b] [--lang ja|en] [--record FILE] [--show]

42 pairs a language (same_fault_rows/): the same fault in other words, the same answer of which an objection
is wrong ("the judge is wrong", said of the first), the same words with another figure, another fault of the
same question, and one fault more. Each pair is one real prompt. Without an endpoint the verdicts in
benchmarks/same_fault_verdicts.json are counted, which readers gave in the model's place.
"""

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.readings import Failed, Readings
from simulator.core.roles import JUDGE_TEMPERATURE
from simulator.core.templates import LANGUAGES, fingerprint
from simulator.core.types import TURN, Language
from simulator.grading.same_fault import FaultyAnswer, SameFaultJudge, SameFaultPrompt
from simulator.models.limiter import GRADING
from simulator.runner.context import RunContext

HERE = Path(__file__).parent
ROWS = HERE / "same_fault_rows"
KINDS = ("paraphrase", "dispute", "figure", "other", "more")
SEED = 20261129


class Pair(NamedTuple):
    """Two answers to a question with the objection to the second, and whether the first has that fault."""

    language: Language
    kind: str
    same: bool
    first: FaultyAnswer
    second: FaultyAnswer

    @property
    def name(self) -> str:
        """The name of its verdict."""
        return fingerprint(self.language, self.second.line, self.first.answer, self.second.answer)


def pairs(language: Language) -> list[Pair]:
    """All of a language, in an order drawn by lot."""
    read = []
    for block in (ROWS / f"{language}.txt").read_text(encoding="utf-8").split("\n\n"):
        head, *lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        said = {line[0]: line[2:] for line in lines}
        first, second = (FaultyAnswer(said["q"], said[number], said["o"]) for number in "12")
        read.append(Pair(language, head[2:], head[0] == "+", first, second))
    return random.Random(SEED).sample(read, len(read))


async def judge(context: RunContext, pair: Pair) -> bool | Failed:
    """What the judge's model says of a pair."""
    model = context.model_factory.role("judge", temperature=JUDGE_TEMPERATURE, priority=GRADING)
    assert model is not None  # noqa: S101 - only asked where there is one
    said = await SameFaultJudge(model, SEED)(pair.first, pair.second, pair.language)
    return Failed("no verdict") if said is None else said


def lines(every: Sequence[Pair], verdicts: Mapping[str, Any]) -> Iterator[str]:
    """The figures: the share that was judged rightly, by language and kind."""
    yield f"{'':10}{'pairs':>6}{'right':>7}" + "".join(f"{kind:>12}" for kind in KINDS)
    for language in dict.fromkeys(pair.language for pair in every):
        own = [pair for pair in every if pair.language == language and pair.name in verdicts]
        right = [pair for pair in own if verdicts[pair.name] is pair.same]
        share = len(right) / len(own) if own else 0.0
        counts = (tuple(sum(pair.kind == kind for pair in part) for part in (right, own)) for kind in KINDS)
        yield f"{language:10}{len(own):6}{share:7.3f}" + "".join(f"{f'{n}/{of}':>12}" for n, of in counts)
    yield f"{sum(pair.name in verdicts for pair in every)} of {len(every)} pairs judged"


def mistakes(every: Sequence[Pair], verdicts: Mapping[str, Any]) -> Iterator[str]:
    """The pairs of which the judge says the opposite."""
    for pair in every:
        if pair.name in verdicts and verdicts[pair.name] is not pair.same:
            texts = pair.second.line, pair.first.answer, pair.second.answer, pair.second.objection
            yield f"    {pair.kind}, said {verdicts[pair.name]}: {' || '.join(texts)}"


BENCH = Readings(
    module="same_fault",
    title="judge of equal faults",
    recorded=HERE / "same_fault_verdicts.json",
    judges=[TURN],
    name=lambda pair: pair.name,
    prompt=lambda _context: SameFaultPrompt().fingerprint(),
    judge=judge,
    lines=lines,
    mistakes=mistakes,
)


def main(arguments: Sequence[str] = ()) -> None:
    """Asks the model if there is one, else counts the recorded verdicts."""
    options = BENCH.parser().parse_args(arguments)
    every = [pair for language in LANGUAGES if options.lang in (None, language) for pair in pairs(language)]
    BENCH.run(every, options, BENCH.settings(options))


if __name__ == "__main__":
    main(sys.argv[1:])
