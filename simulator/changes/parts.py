"""The difference by kind of customer and by tag: where a change helped, and where it hurt."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import fsum

from simulator.changes.differences import FEWEST_CASES, FEWEST_PAIRS, interval_of
from simulator.changes.pairs import Pairs, by_customer, is_guarded, means_by_judge
from simulator.changes.turned import reds
from simulator.core.types import Value

SHOWN_TAGS = 5

# Whether a case and a persona belong to a part.
Belongs = Callable[[str, str], bool]


class Part(Value):
    """The pairs of one persona, or with one tag: too many to test, so only shown."""

    name: str
    pairs: int
    difference: float
    interval: tuple[float, float] | None
    turned_red: int
    turned_green: int


def by_persona(pairs: Pairs, seed: int) -> tuple[Part, ...]:
    """One part per persona, in order of appearance."""
    personas = dict.fromkeys(persona for _, persona, _ in pairs.both)
    return _parts(pairs, {name: partial(_is_by, name) for name in personas}, seed)


def by_tag(pairs: Pairs, seed: int) -> tuple[Part, ...]:
    """The tags with most pairs; the marks of guarded cases are none."""
    tags = {key[0]: _plain_tags(pairs.later[key].case.tags) for key in pairs.both}
    every = Counter(tag for key in pairs.both for tag in tags[key[0]])
    shown = [tag for tag, _ in every.most_common(SHOWN_TAGS)]
    return _parts(pairs, {tag: partial(_has, tags, tag) for tag in shown}, seed)


def _is_by(name: str, _: str, persona: str) -> bool:
    return persona == name


def _has(tags: Mapping[str, Sequence[str]], tag: str, case: str, _: str) -> bool:
    return tag in tags.get(case, ())


def _plain_tags(tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for tag in tags if not is_guarded((tag,))))


def _parts(pairs: Pairs, groups: Mapping[str, Belongs], seed: int) -> tuple[Part, ...]:
    primary = pairs.after.summary.primary
    before, after = (means_by_judge(side).get(primary, {}) for side in (pairs.before, pairs.after))
    one, other = by_customer(pairs.earlier, before), by_customer(pairs.later, after)
    by = {key: other[key] - one[key] for key in sorted(one.keys() & other.keys())}
    found = (_part(name, belongs, by, pairs, seed) for name, belongs in groups.items())
    return tuple(part for part in found if part.pairs)


def _part(name: str, belongs: Belongs, by: Mapping[tuple[str, str], float], pairs: Pairs, seed: int) -> Part:
    inside = {key: value for key, value in by.items() if belongs(*key)}
    cases = [case for case, _ in inside]
    enough = len(inside) >= FEWEST_PAIRS and len(set(cases)) >= FEWEST_CASES
    colours = reds([t for t in pairs.turns if belongs(t.later.case.id, t.later.persona)])
    return Part(
        name=name,
        pairs=len(inside),
        difference=fsum(inside.values()) / len(inside) if inside else 0.0,
        interval=interval_of(list(inside.values()), cases, seed) if enough else None,
        turned_red=colours.turned_red,
        turned_green=colours.turned_green,
    )
