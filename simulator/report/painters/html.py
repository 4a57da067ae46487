"""A report as one page that needs nothing else: no network and no server.

Everything that a bot, a model or a customer wrote is untrusted. Three things stand in its way: Jinja escapes
every value (`autoescape`), `text` takes control codes and signs of direction out of every text on its way
into the page (`finalize`), and the page's Content-Security-Policy allows no network, and no script and no
style but those whose hashes it names. Only our own style and script are `Markup`.
"""

from base64 import b64encode
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any
from zlib import crc32

from jinja2 import BaseLoader, Environment, StrictUndefined, Template
from jinja2 import __version__ as jinja_version
from markupsafe import Markup

from simulator.core.document import Report, Section, points, target_points
from simulator.core.messages import Language, Message, _, ngettext, pgettext, safe_text, shown
from simulator.report.painters import charts

_FOLDER = Path(__file__).parent


def page(report: Report) -> str:
    """The page of a report, without a script."""
    return render("page.html.j2", report, list(report.shown_in("page"))).decode()


def render(name: str, report: Report, sections: list[Section], script: str = "", **values: object) -> bytes:
    """The page that a template of this folder draws; its policy allows our style and this script alone.

    `sections` are those to be shown, in their order; `values` are what the template names besides.

    In UTF-8, which takes half the memory of a string of Japanese.
    """
    style, script = _inlined("report.css"), script and _inlined(script)
    # Exactly this style and this script, and no network.
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    policy = (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    pieces = _template(name, report.language, report.wording).generate(
        report=report,
        sections=sections,
        style=Markup(style),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        policy=policy,
        **values,
    )
    return b"".join(piece.encode() for piece in pieces)


def drawn(name: str, report: Report, **values: object) -> str:
    """A piece of a page, as a template of this folder draws it; `values` are what it names."""
    return _template(name, report.language, report.wording).render(**values)


def served(page: bytes, script: str, style: str) -> bytes:
    """A page that `render` drew, with a script and a style of its server, which it may ask for more."""
    policy = page.replace(b"style-src ", b"style-src &#39;self&#39; ", 1)
    policy = policy.replace(b"script-src ", b"connect-src &#39;self&#39;; script-src &#39;self&#39; ", 1)
    ours = f'<link rel="stylesheet" href="{style}"><script src="{script}" defer></script></head>'
    return policy.replace(b"</head>", ours.encode(), 1)


@lru_cache(maxsize=16)
def _template(name: str, language: Language, wording: str = "") -> Template:
    """A template of this folder, ready to render in a language; blocks.html.j2 has macros for blocks."""

    def text(value: Any) -> Any:
        """Every expression of the page passes through here: messages are shown, text loses control codes."""
        if isinstance(value, Message):
            return in_language(value)
        return safe_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    @lru_cache(maxsize=512)
    def in_language(message: Message) -> str:
        """Labels stand at every answer."""
        return safe_text(shown(message, language, wording))

    env = Environment(
        loader=_Templates(),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The class of a block says which macro draws it.
    env.filters |= {
        "points": points,
        "goal": target_points,
        "shade": shade,
        "kind": lambda b: type(b).__name__,
    }
    env.globals |= {"charts": charts, "_": _, "ngettext": ngettext, "pgettext": pgettext}
    return env.get_template(name)


class _Templates(BaseLoader):
    """The templates of this folder, compiled once: for every start to do so takes as long as the page."""

    def load(
        self,
        environment: Environment,
        name: str,
        globals: MutableMapping[str, Any] | None = None,  # noqa: A002
    ) -> Template:
        """Its code, from the cache or compiled."""
        code = _TemplateFile(name, environment).get_code(name)
        return environment.template_class.from_code(environment, code, globals or {})  # type: ignore[arg-type]


class _TemplateFile(SourceFileLoader):
    """A template as Python treats a module: what it compiles to is kept in __pycache__ until it changes.

    Jinja's FileSystemBytecodeCache fails where that folder cannot be written, and would run what others may
    have put into any other one.
    """

    def __init__(self, name: str, environment: Environment) -> None:
        super().__init__(name, str(_FOLDER / name))
        self.environment = environment

    def source_to_code(self, data: Any, path: Any, **_unused: Any) -> CodeType:  # type: ignore[override]
        """The code that Jinja makes of a template."""
        return self.environment.compile(bytes(data).decode(), self.name, str(path))

    def path_stats(self, path: Any) -> Mapping[str, Any]:
        """Another version of Jinja, or of this module, compiles it anew."""
        made_by = crc32(f"{jinja_version} {Path(__file__).stat().st_mtime_ns}".encode())
        stats = super().path_stats(path)
        return {**stats, "mtime": int(stats["mtime"]) + made_by}


@lru_cache(maxsize=2)
def _inlined(name: str) -> str:
    """A style or script of this folder, as it is inlined."""
    return (_FOLDER / name).read_text(encoding="utf-8").strip()


def shade(value: float | None) -> str:
    """The class of a mean's colour, from reddest (0) to greenest (5); figures that read the same share it.

    Below 50 -> "0", 50 to 59 -> "1", ... 90 and above -> "5"; None -> "none", which has no colour. Half of
    the scale is one colour: whether a bot has 20 or 40 points makes no difference to what is to be done.
    """
    if value is None:
        return "none"
    figure = float(points(value))
    return str(min(5, max(0, int(figure // 10) - 4)))
