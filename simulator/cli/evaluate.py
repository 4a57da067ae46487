"""`evaluate`: single-turn data sets, each row asked once; a rehearsal whose user is scripted."""

from typing import Annotated, Any

import typer

from simulator.cli.options import OF_DIALOGUES, takes_row_settings
from simulator.core.settings import Settings, load

Cases = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CASES",
        help="The rows: CSV, JSONL, YAML, Excel (also .gz), or sheet:KEY; or a matrix (TOML). Not needed "
        "with --resume.",
        show_default=False,
    ),
]


Link = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Of a chain (TOML), only this link; `chain` is the whole.",
        rich_help_panel="Rows",
        show_default=False,
    ),
]


@takes_row_settings
def command(flags: dict[str, Any], cases: Cases = None, link: Link = None) -> int:
    """Evaluate a data set: each row is asked once, answers are graded, a report is written.

    Without --judges, those that fit the form of the data grade: its labels, choices or references.
    Several data sets, several --prompt and several --set model=... are a matrix, compared in one table.
    """
    files, prompts = cases or [], flags["prompt"] or []
    if link is not None or any(name.endswith(".toml") for name in files):
        from simulator.cli.matrix import chain_given, run_chain

        if chain := chain_given(files, link):
            return run_chain(chain, flags, of_rows, link)
    one = flags | {"prompt": prompts[0] if len(prompts) == 1 else None}
    if _may_be_matrix(files, prompts, flags):
        from simulator.cli.matrix import matrix_given, run_matrix

        if matrix := matrix_given(files, prompts, one):
            return run_matrix(matrix, one, of_rows)
    from simulator.cli.simulate import hold

    return hold(of_rows(load(one | {"cases": files[0] if files else None})))


def _may_be_matrix(files: list[str], prompts: list[str], flags: dict[str, Any]) -> bool:
    """Whether it is worth a closer look."""
    keys = [pair.partition("=")[0] for pair in flags["set"] or ()]
    several = max(len(files), len(prompts)) > 1 or len(keys) > len(set(keys))
    return several or bool(flags["resume"]) or any(name.endswith(".toml") for name in files)


def of_rows(settings: Settings) -> Settings:
    """The settings of a single-turn data set; what rehearsal.toml says about customers is not for it."""
    asked = {name: Settings.model_fields[name].get_default() for name in OF_DIALOGUES - {"cases"}}
    rows = settings.model_copy(update={**asked, "protocol": "single_turn", "turns": 1})
    if rows.scoring is None:
        return rows
    from simulator.grading.panel import contest_settings

    return contest_settings(rows)
