"""`learn [RUN...]`: rules of the desk from people's labels, by which a judge grades from then on.

The work is in api/learning.py.
"""

from typing import Any

from simulator.api.learning import Learning
from simulator.cli.forecast import judged, spent_json
from simulator.cli.options import argument, option, takes
from simulator.cli.show import show_report
from simulator.cli.terminal import ExitCode
from simulator.core.messages import ngettext
from simulator.report.learning import learning_report


@takes(
    "judges", "judging", "guidelines", "judge_model", "offline", "seed", "sheet", "worksheet", "runs",
    "cache", "budget", "prices", "calls", "timeout", "dry_run", "json_output",
)  # fmt: skip
def command(
    flags: dict[str, Any],
    names: list[str] | None = argument("RUN...", "Runs that people labelled. Default: all of the folder."),
    source: str | None = option(
        "--from WHERE",
        "What people said, to be read first: as `review --from`, about RUN or the latest run. Or a file of "
        "labelled answers (question, answer, labels), as `review --export` writes it.",
    ),
) -> int:
    """Learn unwritten rules of the desk from people's labels, to grade by them.

    Half of the labelled questions are kept aside. From the others the judge's model proposes at most five
    rules; they are written to desk.toml only if they bring the judge nearer to people on the half that was
    kept aside. Read desk.toml: a rule that you delete does not come back. Exit code 1 where nothing helped.
    """
    learning = Learning(names or [], source, flags)
    rows = len(learning.rows) + len(learning.halves.held)
    about = ngettext("{n} labelled answer.", "{n} labelled answers.", n=len(learning.rows))
    model = learning.context.models()["judge"]
    learned = judged(learning.settings, learning.work, about, model, pieces=rows, most=learning.forecast())
    report = learning_report(learned, learning.language)
    figures = learned.as_json() | spent_json(learning.context.ledger)
    show_report(report, figures, as_json=learning.settings.json_output)
    return ExitCode.DONE if learned.why is None or learned.agrees else ExitCode.MISSED
