"""Whether a bot got better from one run to the next: paired figures, what turned red, and a verdict."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.changes.comparability import Caution, Changed, cautions, changed, is_replayed, other_rubrics
from simulator.changes.differences import Difference, Pair, Verdict, differences
from simulator.changes.pairs import Pairs, Side, by_customer, means_by_judge
from simulator.changes.parts import Part, by_persona, by_tag
from simulator.changes.turned import Broken, Reds, TurnChange, broken, reds, turned, unchecked
from simulator.core.types import Value
from simulator.storage.runs import replay_of


class Held(Value):
    """One of the two runs as a whole, paired or not."""

    run: str
    replay_of: str | None
    score: float | None
    red: int
    turns: int
    conversations: int
    offline: bool = False


class Beside(Value):
    """A third run of the new version: as a replay where the second is free, free where that is a replay."""

    run: str
    replay: bool
    score: float | None
    difference: Difference | None


class Changes(Value):
    """Everything that two runs say about "did it get better?"; scores and differences are 0..1.

    `regression`: the score fell beyond its interval, or another judge did (after correction) while more cases
    turned red than green, or a case that must not break did. Runs whose deciding judge used another rubric
    are not comparable; then only the latter counts.
    """

    before: Held
    after: Held
    primary: str
    verdict: Verdict
    regression: bool
    judges: tuple[Difference, ...]
    paired: int
    replayed: bool
    same_lines: int
    lines: int
    reds: Reds
    turned_red: tuple[TurnChange, ...]
    turned_green: tuple[TurnChange, ...]
    broken: tuple[Broken, ...]
    guarded: int
    unchecked: tuple[str, ...]
    personas: tuple[Part, ...]
    tags: tuple[Part, ...]
    cautions: tuple[Caution, ...]
    changed: tuple[Changed, ...]
    beside: Beside | None = None

    @property
    def score(self) -> Difference | None:
        """The row of the judge that decides."""
        return next((row for row in self.judges if row.judge == self.primary), None)

    @property
    def fallen(self) -> tuple[str, ...]:
        """The judges beside the deciding one whose grades fell, whether that is a regression or not."""
        return tuple(row.judge for row in self.judges if row.verdict == "worse" and row.judge != self.primary)


def changes(before: Side, after: Side, *, seed: int) -> Changes:
    """The run `after` held against `before`; both summaries by the same red rules."""
    pairs = Pairs(before, after)
    primary = after.summary.primary
    rows = _judges(pairs, primary, seed)
    verdict: Verdict = next((row.verdict for row in rows if row.judge == primary), "not_comparable")
    colours, fallen = reds(pairs.turns), broken(pairs)
    same, lines = pairs.lines
    return Changes(
        before=_held(before),
        after=_held(after),
        primary=primary,
        verdict=verdict,
        regression=bool(fallen) or is_worse(rows, verdict, redder=colours.redder),
        judges=rows,
        paired=len(pairs.both),
        replayed=is_replayed(before.results.run, after.results.run),
        same_lines=same,
        lines=lines,
        reds=colours,
        turned_red=turned(pairs, red=True),
        turned_green=turned(pairs, red=False),
        broken=fallen,
        guarded=len(pairs.guarded),
        unchecked=unchecked(pairs),
        personas=by_persona(pairs, seed),
        tags=by_tag(pairs, seed),
        cautions=cautions(pairs),
        changed=changed(before.results.run, after.results.run),
    )


def is_worse(rows: Sequence[Difference], verdict: Verdict, *, redder: bool) -> bool:
    """Whether the grades show a regression; `verdict` is that of the deciding judge.

    A bot that learns to say "I don't know" loses in relevance, and one that becomes brief in similarity. So
    another judge that fell counts only where it cost something: where more cases turned red than green.
    """
    if verdict in ("worse", "not_comparable"):
        return verdict == "worse"
    return redder and any(row.verdict == "worse" for row in rows)


def _held(side: Side) -> Held:
    run, summary = side.results.run, side.summary
    return Held(
        run=run.id,
        replay_of=replay_of(run),
        score=summary.score,
        red=summary.red,
        turns=summary.turns,
        conversations=summary.graded,
        offline=summary.offline,
    )


def _judges(pairs: Pairs, primary: str, seed: int) -> tuple[Difference, ...]:
    """One row per judge that graded both runs, the deciding one first."""
    before, after = (means_by_judge(side) for side in (pairs.before, pairs.after))
    names = [name for name in pairs.after.summary.judges if name in before and name in after]
    names.sort(key=lambda name: name != primary)
    found = {
        name: _paired(by_customer(pairs.earlier, before[name]), by_customer(pairs.later, after[name]))
        for name in names
    }
    apart = frozenset(other_rubrics(pairs.before.summary, pairs.after.summary))
    return differences(found, primary=primary, seed=seed, apart=apart)


def _paired(before: Mapping[tuple[str, str], float], after: Mapping[tuple[str, str], float]) -> list[Pair]:
    """Case, before and after of everyone whom both runs have, in a fixed order."""
    return [(key[0], before[key], after[key]) for key in sorted(before.keys() & after.keys())]


def as_json(changes: Changes) -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals; judges by name."""
    shown = changes.model_dump(mode="json")
    shown["judges"] = {row.pop("judge"): row for row in shown["judges"]}
    found: dict[str, Any] = _rounded(shown)
    return found


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value
