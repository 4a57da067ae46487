"""A report as one page that needs nothing else: no network and no server.

Everything that a bot, a model or a customer wrote is untrusted: it is escaped, its control codes are removed,
and the page's policy allows no script and no style but the page's own.
"""

from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from simulator.core.document import Report
from simulator.core.translations import points, safe_text, target_points
from simulator.report.painters import charts

_FOLDER = Path(__file__).parent


def page(report: Report) -> str:
    """The page of a report, without a script."""
    style = part("report.css")
    return template("page.html.j2").render(
        report=report,
        sections=list(report.shown_in("page")),
        style=Markup(style),  # noqa: S704 - ours
        policy=policy(style, script=""),
    )


@lru_cache(maxsize=8)
def template(name: str) -> Template:
    """A template of this folder, ready to render; blocks are drawn by the macros of blocks.html.j2."""
    env = Environment(
        loader=FileSystemLoader(_FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"points": points, "goal": target_points, "shade": shade, "kind": _kind}
    env.globals |= {"charts": charts}
    return env.get_template(name)


@lru_cache(maxsize=2)
def part(name: str) -> str:
    """A style or script of this folder, as it is inlined."""
    return (_FOLDER / name).read_text(encoding="utf-8").strip()


def policy(style: str, script: str) -> str:
    """A content security policy that allows exactly this style and this script, and no network."""
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def shade(value: float | None, against: float | None = None) -> str:
    """The class of a mean's colour, from reddest (0) to greenest (5); figures that read the same share it."""
    if value is None:
        return "none"
    figure = float(points(value, against=against))
    return str(min(5, max(0, int(figure // 10) - 4)))


def _kind(block: object) -> str:
    """The class of a block: which macro draws it."""
    return type(block).__name__


def _clean(value: Any) -> Any:
    """Every expression of the page passes through here: text loses its control codes."""
    return safe_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value
