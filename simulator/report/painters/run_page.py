"""The page of a run: the blocks of its report, and between them what only this page has."""

from markupsafe import Markup

from simulator.report.painters.html import part, policy, template
from simulator.report.painters.page_values import RunPage

# So many questions with red turns begin unfolded, and so many passages are in sight.
OPEN_QUESTIONS, OPEN_PASSAGES = 3, 10


def run_page_html(page: RunPage) -> str:
    """The whole page as one string."""
    style, script = part("report.css"), part("report.js")
    # Sections without blocks, whose values are the page's own.
    filled = {"shelf": page.passages, "endings": page.endings}
    return template("run_page.html.j2").render(
        page=page,
        report=page.report,
        sections=[each for each in page.report.shown_in("page") if filled.get(each.key, True)],
        words=page.words,
        say=page.say,
        open_questions=OPEN_QUESTIONS,
        open_passages=OPEN_PASSAGES,
        style=Markup(style),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        policy=policy(style, script),
    )


def prepare() -> None:
    """Compiles the templates, so that drawing need not."""
    environment = template("run_page.html.j2").environment
    for name in ("page.html.j2", "blocks.html.j2", "run_page_parts.html.j2"):
        environment.get_template(name)
