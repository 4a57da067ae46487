"""`diff RUN LATER`: did the bot get better? Two runs are compared by question, without any call of a model.

Writes side-by-side.html beside the later run, shows the comparison, and ends with 1 on a regression. It is
worked out in `results/comparison.py` and worded in `report/comparison.py`; the verdict does not depend on
whether the page could be written, or on whether anybody reads what is printed.
"""

from typing import Any

from simulator.api.comparison import difference
from simulator.cli.options import argument, option, takes
from simulator.cli.show import show_report, write_for_user
from simulator.cli.terminal import ExitCode, unread_output_allowed
from simulator.core.errors import RunFileError
from simulator.core.messages import _, say
from simulator.core.settings import load_settings
from simulator.core.writing import write_atomically
from simulator.report.painters import html
from simulator.report.painters.markdown import markdown as as_markdown


@takes("runs", "json_output", "verbose")
def command(
    flags: dict[str, Any],
    before: str = argument(
        "RUN", "The earlier run: id, start of an id, or path; else the last that can be compared.", ""
    ),
    after: str = argument("LATER", "The later run.", "latest"),
    *,
    markdown: str | None = option("--markdown FILE", "Write the comparison as Markdown, for a pull request."),
) -> int:
    """Say whether the bot got better from RUN to a later run, and what broke; exit code 1 on a regression.

    Conversations about the same question with the same customer are paired; a question whose reference answer
    or marks were changed since counts on neither side. It is a regression if the score fell beyond its
    interval; if more questions came to need review than ceased to, beyond chance; or if a question tagged
    must-not-break (壊さない, 必須) needs review now and did not in RUN. Too few data are reported, and are no
    regression. If a run was cut short, or a must-not-break question has no grade, the result is unknown: exit
    code 3, unless it is worse already. If the deciding judge used another rubric, the scores are not
    compared: grade RUN again first; must-not-break still counts.

    With --knowledge in both runs it also says which articles were changed, which questions moved with them,
    and which answers are still of before: an index that was not rebuilt, and answers with the old facts that
    the retrieved texts prove, are a regression, too.
    """
    settings = load_settings(flags)
    compared = difference(before or "latest", after, settings.runs)
    try:
        write_atomically(compared.path, html.page(compared.report))
    except RunFileError as error:  # the folder of the later run may be read-only
        say(error.message)
        compared = compared.without_page()
    if markdown:
        write_for_user(markdown, as_markdown(compared.report))
    unread = _("Not read to the end: the verdict is in the exit code.")
    if page := compared.page:
        unread = _("Not read to the end: the verdict is in the exit code and on the page {page}.", page=page)
    with unread_output_allowed(unread):
        show_report(compared.report, compared.as_json(), as_json=settings.json_output, view=settings.view)
    if compared.compared.regression:
        return ExitCode.MISSED
    return ExitCode.INCOMPLETE if compared.compared.cannot_tell else ExitCode.DONE
