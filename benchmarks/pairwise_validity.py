"""How the judge of `compare` agrees with people's preferences: public sets of pairs, beside trivial scorers.

Part of `python -m benchmarks.validity`; any folder with files called pairwise_* of the same shape will do:
question, contexts, reference, answer_a, answer_b and human_preference (a, b or tie for each annotator, or
numbers below and above 0), with the part of the set in meta.subset.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.trivial import answer_length, rouge_l, token_precision
from simulator.cases.rows import read_rows
from simulator.core import shelves
from simulator.core.roles import JUDGE_TEMPERATURE, endpoints
from simulator.core.settings import Settings
from simulator.core.types import Answer, Case, ChatMessage, GradingContext, Passage, Turn
from simulator.lab.compare.comparison import PairwiseFigures, compared
from simulator.lab.compare.grade import (
    Pair,
    PairModelJudge,
    PairOutcome,
    PairPrompt,
    TurnPairs,
    Verdict,
    judge_pairs,
)
from simulator.models.by_role import Models
from simulator.models.limiter import GRADING
from simulator.models.pricing import Ledger
from simulator.results.intervals import interval_of_mean

# The dimension that counts where people judged several.
OVERALL = "overall"
# Parts of a set are shown when the smallest has so many pairs.
ENOUGH = 15
# Parts whose worse answers were made to look better; the literature gives the mean over them.
ADVERSARIAL = "adv_"
ORDER: dict[Verdict, int] = {"a": -1, "tie": 0, "b": 1}

Row = Mapping[str, Any]


class Preferred(NamedTuple):
    """A pair as it is put before a judge, and which answer most people preferred (-1 a, 0 neither, 1 b)."""

    pair: Pair
    sign: int
    group: str
    part: str
    published: Mapping[str, int]


class Scored(NamedTuple):
    """The verdicts of a scorer on the pairs, in their order."""

    name: str
    signs: Sequence[int]


def pair_files(data: Path, names: Sequence[str]) -> list[Path]:
    """The files of pairs under a folder, of sets whose name has one of `names` in it."""
    files = sorted(path for path in data.rglob("pairwise_*") if ".json" in path.name)
    return [path for path in files if not names or any(name in path.name for name in names)]


def read_pairs(path: Path) -> list[Preferred]:
    """The pairs of a file."""
    return [_preferred(dict(row.values)) for row in read_rows(path, lambda values: "answer_a" in values)]


def _preferred(row: Row) -> Preferred:
    preference = row["human_preference"]
    votes = preference[OVERALL] if isinstance(preference, Mapping) else preference
    contexts = (_context(row, row["answer_a"]), _context(row, row["answer_b"]))
    published = {
        name: _vote(score) for name, score in (row.get("published_scores") or {}).items() if score is not None
    }
    part = str((row.get("meta") or {}).get("subset") or "")
    return Preferred(
        Pair("a", "b", *contexts), _sign(sum(map(_vote, votes))), str(row["group"]), part, published
    )


def _context(row: Row, answer: str) -> GradingContext:
    """An answer that the file also gives as the reference is not used as one."""
    reference = row.get("reference")
    references = [reference] if reference and reference not in (row["answer_a"], row["answer_b"]) else []
    case = Case(
        id=row["id"],
        question=row["question"] or "-",
        language=row["language"],
        history=tuple(ChatMessage(**message) for message in row.get("history") or ()),
        references=tuple(references),
    )
    contexts = row.get("contexts") or ()
    passages = tuple(Passage(id=str(at), text=text) for at, text in enumerate(contexts, 1))
    turn = Turn(
        index=1,
        user=case.question,
        answer=Answer(text=answer, passages=passages, shows_passages=bool(contexts)),
    )
    return GradingContext(conversation=row["id"], case=case, persona="-", turn=turn)


def _vote(vote: Any) -> int:
    """-1, 0 or 1 of one annotator's word or number, or of two scores."""
    if isinstance(vote, list):
        return _sign(vote[1] - vote[0])
    return {"a": -1, "b": 1, "tie": 0}[vote] if isinstance(vote, str) else _sign(vote)


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def scorers(pairs: Sequence[Preferred]) -> list[Scored]:
    """Trivial ones, and published verdicts where all pairs have them."""
    contexts = [(pair.pair.one, pair.pair.other) for pair in pairs]
    lot = random.Random(42)
    rows = [
        Scored("trivial longer", _signs(contexts, lambda e: answer_length(e.turn.answer.text))),
        Scored("trivial random", [lot.choice((-1, 1)) for _ in pairs]),
    ]
    if any(one.references for one, _ in contexts):
        rows.append(Scored("trivial ROUGE-L (reference)", _signs(contexts, _rouge)))
    if any(one.turn.answer.passages for one, _ in contexts):
        rows.append(Scored("trivial words in contexts", _signs(contexts, _precision)))
    names = dict.fromkeys(name for pair in pairs for name in pair.published)
    whole = [name for name in names if all(name in pair.published for pair in pairs)]
    return rows + [Scored(f"published {name}", [pair.published[name] for pair in pairs]) for name in whole]


def _signs(
    pairs: Iterable[tuple[GradingContext, GradingContext]], score: Callable[[GradingContext], float]
) -> list[int]:
    return [_sign(score(other) - score(one)) for one, other in pairs]


def _rouge(context: GradingContext) -> float:
    return rouge_l(context.turn.answer.text, context.references)


def _precision(context: GradingContext) -> float:
    texts = [passage.text for passage in context.turn.answer.passages]
    return token_precision(context.turn.answer.text, texts, context.case.language)


def show(files: Sequence[Path], settings: Settings, ledger: Ledger, limit: int | None) -> None:
    """A table for each set of pairs."""
    for path in files:
        pairs = read_pairs(path)
        if limit is not None and limit < len(pairs):
            pairs = random.Random(settings.seed).sample(pairs, limit)
        _show_set(path, pairs, settings, ledger)


def _show_set(path: Path, pairs: Sequence[Preferred], settings: Settings, ledger: Ledger) -> None:
    decided = sum(pair.sign != 0 for pair in pairs)
    print(f"\n## {path.name} ({len(pairs):,} pairs, {decided:,} with a winner)")
    print(f"{'':36}{'n':>6}  {'accuracy':19}{'with ties':>10}{'ties':>7}{'longer won':>12}")
    outcomes = asyncio.run(_judged(pairs, settings, ledger))
    all_scorers = scorers(pairs)
    if outcomes:
        all_scorers.append(
            Scored(_judge_name(settings), [ORDER[outcome.verdict or "tie"] for outcome in outcomes])
        )
    for name, at in _parts(pairs).items():
        if name:
            print(f"{name}")
        for scored in all_scorers:
            print(_line(scored, at, pairs))
    _show_mean(pairs, all_scorers)
    _show_biases(compared(("a", "b"), outcomes, TurnPairs(()), settings.seed))


def _judge_name(settings: Settings) -> str:
    endpoint = endpoints(settings)["judge"]
    return f"> {endpoint.model}" if endpoint else ""


def _parts(pairs: Sequence[Preferred]) -> dict[str, list[int]]:
    """The rows of the whole set, and of each part where the parts are large enough."""
    parts: dict[str, list[int]] = {}
    for at, pair in enumerate(pairs):
        parts.setdefault(pair.part, []).append(at)
    whole = {"": list(range(len(pairs)))}
    shown = len(parts) > 1 and min(map(len, parts.values())) >= ENOUGH
    return whole | dict(sorted(parts.items())) if shown else whole


def _line(scored: Scored, at: Sequence[int], pairs: Sequence[Preferred]) -> str:
    """Accuracy where people have a winner (a tie counts half), and of all three verdicts on all pairs."""
    decided = [i for i in at if pairs[i].sign]
    points = [_points(scored.signs[i], pairs[i].sign) for i in decided]
    value = sum(points) / len(points) if points else 0.0
    bounds = interval_of_mean(points, [pairs[i].group for i in decided], seed=42) if points else None
    shown = f"{value:.3f}" + (f" [{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else "")
    exact = sum(scored.signs[i] == pairs[i].sign for i in at) / len(at)
    ties = sum(scored.signs[i] == 0 for i in at) / len(at)
    longer = [
        scored.signs[i] == _longer(pairs[i].pair) for i in at if scored.signs[i] and _longer(pairs[i].pair)
    ]
    won = f"{sum(longer) / len(longer):.0%}" if longer else "-"
    return f"{scored.name:36}{len(decided):>6}  {shown:19}{exact:>8.3f}{ties:>8.0%}{won:>12}"


def _points(verdict: int, truth: int) -> float:
    return 0.5 if verdict == 0 else float(verdict == truth)


def _longer(pair: Pair) -> int:
    one, other = map(answer_length, pair.answers)
    return _sign(other - one)


def _show_mean(pairs: Sequence[Preferred], all_scorers: Sequence[Scored]) -> None:
    """The mean accuracy over the adversarial parts, as the literature gives it."""
    parts = [at for name, at in _parts(pairs).items() if name.startswith(ADVERSARIAL)]
    if not parts:
        return
    print(f"{ADVERSARIAL}* (mean of {len(parts)} parts)")
    for scored in all_scorers:
        means = [
            sum(_points(scored.signs[i], pairs[i].sign) for i in at if pairs[i].sign)
            / sum(pairs[i].sign != 0 for i in at)
            for at in parts
        ]
        print(f"{scored.name:36}{sum(map(len, parts)):>6}  {sum(means) / len(means):.3f}")


def _show_biases(figures: PairwiseFigures) -> None:
    if figures.failed:
        print(f"{figures.failed} verdicts failed: {figures.problem}")
    if figures.position is not None:
        first = figures.position.first.value or 0.0
        disagreed = figures.position.disagreed.value or 0.0
        print(f"shown first and preferred: {first:.0%}; orders that disagree: {disagreed:.0%}")


async def _judged(pairs: Sequence[Preferred], settings: Settings, ledger: Ledger) -> list[PairOutcome]:
    """The verdicts of the model, none without one; a repeat is served by the response cache."""
    models = Models(endpoints(settings), settings, ledger)
    model = models.role("judge", temperature=JUDGE_TEMPERATURE, priority=GRADING)
    if model is None:
        return []
    prompt = PairPrompt(shelves.JUDGES / "_pairwise.toml", shelves.JUDGES / "_guidelines.toml")
    judge = PairModelJudge(prompt, model, settings.seed)
    try:
        return await judge_pairs([pair.pair for pair in pairs], judge, settings.calls, lambda _: None)
    finally:
        await models.close()
