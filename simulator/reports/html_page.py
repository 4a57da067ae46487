"""The page's template, style and script, and the policy that allows these and nothing else."""

from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from simulator.core.translations import goal, plain, points

FOLDER = Path(__file__).parent


def shade(value: float | None, against: float | None = None) -> str:
    """The class of a mean's colour, from reddest (0) to greenest (5); figures that read the same share it."""
    if value is None:
        return "none"
    shown = float(points(value, against=against))
    return str(min(5, max(0, int(shown // 10) - 4)))


def page() -> Template:
    """The template of a run's report, ready to render."""
    return template("report.html.j2")


def prepare() -> None:
    """Compiles the template and its parts, so that rendering need not."""
    environment = page().environment
    for name in environment.list_templates(filter_func=lambda name: name.startswith("report")):
        if name.endswith(".j2"):
            environment.get_template(name)


@lru_cache(maxsize=2)
def template(name: str) -> Template:
    """A template of this folder, ready to render."""
    env = Environment(
        loader=FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"points": points, "goal": goal, "shade": shade}
    return env.get_template(name)


@lru_cache(maxsize=2)
def part(name: str) -> str:
    """Style or script, as inlined."""
    return (FOLDER / name).read_text(encoding="utf-8").strip()


def policy(style: str, script: str) -> str:
    """A content security policy that allows exactly this style and this script, and no network."""
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _clean(value: Any) -> Any:
    """What every expression of the page passes through: text loses its control codes."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value
