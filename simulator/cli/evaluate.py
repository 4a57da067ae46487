"""`evaluate`: single-turn data sets, whose rows are asked once each; also a matrix of them.

Whether it is a matrix is seen from the command line: two files, two --prompt, or one setting given twice
(`--set model=a --set model=b`), or a TOML file. A single run never loads what matrices need.
"""

from typing import Any

from simulator import plugins
from simulator.cli.options import argument, takes_settings
from simulator.core.settings import load_settings


@takes_settings(
    "single_turn",
    without=frozenset({"cases"}),
    repeated=frozenset({"prompt"}),
    defaults={"judges": "those that fit the data"},
)
def command(
    flags: dict[str, Any],
    cases: list[str] | None = argument(
        "CASES",
        "The rows: CSV, JSONL, Excel (also .gz), or sheet:KEY; several make a matrix."
        " Not needed with --resume.",
    ),
) -> int:
    """Evaluate a data set: each row is asked once, answers are graded, a report is written.

    Without --judges, the judges are chosen to fit the data: its labels, choices or references. Several
    data sets, several --prompt or several --set model=... make a matrix: all of them, compared in one table.
    """
    files, prompts = cases or [], flags["prompt"] or []
    single = flags | {"prompt": prompts[0] if len(prompts) == 1 else None}
    keys = [pair.partition("=")[0] for pair in flags["set"] or ()]
    several = max(len(files), len(prompts)) > 1 or len(keys) > len(set(keys))
    if several or flags["resume"] or any(name.endswith(".toml") for name in files):
        code = plugins.evaluated(files, prompts, single, is_several=several)
        if code is not None:
            return code
    from simulator.cli.run_or_resume import run_or_resume  # the whole engine: a page of help does without

    settings = load_settings(single | {"cases": files[0] if files else None})
    return run_or_resume(settings, "single_turn", flags)
