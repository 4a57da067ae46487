"""A comparison as one page: the same parts as on the console, with a bar for every two runs."""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from simulator.core.translations import plain
from simulator.pairwise.sections import Shown, say_in, sections
from simulator.report.html import part, policy

FOLDER = Path(__file__).parent
# The length of a whole bar.
WIDTH = 600.0


class Bar(NamedTuple):
    """The verdicts of two runs side by side: what it says, and the three lengths."""

    title: str
    left: float
    ties: float
    right: float


def render(shown: Shown) -> str:
    """The page; it carries its style, needs no network and runs no script."""
    head, *rest = sections(shown)
    style = f"{part('report.css')}\n{(FOLDER / 'compare.css').read_text(encoding='utf-8').strip()}"
    return _template().render(
        language=shown.language,
        policy=policy(style, ""),
        style=Markup(style),  # noqa: S704 - a file of ours
        head=head,
        sections=rest,
        bars=_bars(shown),
    )


def _bars(shown: Shown) -> list[Bar]:
    say, letters, found = say_in(shown.language), shown.letters, []
    for duel in shown.compared.duels:
        counts = (duel.wins_a, duel.ties, duel.wins_b)
        if not (whole := sum(counts)):
            continue
        a, b = letters[duel.a], letters[duel.b]
        names = (say("wins_of", letter=a), say("ties"), say("wins_of", letter=b))
        title = " / ".join(f"{name} {count:,}" for name, count in zip(names, counts, strict=True))
        found.append(Bar(title, *(WIDTH * count / whole for count in counts)))
    return found


@lru_cache(maxsize=1)
def _template() -> Template:
    env = Environment(
        loader=FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return env.get_template("compare.html.j2")


def _clean(value: Any) -> Any:
    """What every expression of the page passes through: text loses its control codes."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value
