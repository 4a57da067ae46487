"""`open RUN`: the page of a run to work on, in the browser of this machine, until Ctrl-C.

Which requests are answered, and whose, stands in `web/server.py`. Without a run it begins with the list of
runs.
"""

import asyncio
import contextlib
import sys
import webbrowser
from typing import Any

from simulator.cli.options import argument, option, takes
from simulator.cli.terminal import ExitCode, say
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import load_settings
from simulator.storage.run_file import find_run
from simulator.web.server import BLIND, Pages


@takes("runs")
def command(
    flags: dict[str, Any],
    run: str = argument("[RUN]", "A run: id, start of an id, latest, or path. Without one, all of them.", ""),
    *,
    blind: bool = option("--blind", "Open the answers for blind grading, without scores."),
    no_browser: bool = option("--no-browser", "Print the address, and open no browser."),
) -> int:
    """Open runs in the browser, to review answers, compare runs and decide, by mouse or keys.

    What is written is saved in the run at once, as the same words that a sheet or workbook has. Only the
    browser on this machine can open it. Ctrl-C ends it.
    """
    runs = load_settings(flags).runs
    if run:
        folder = find_run(run, runs).parent
        runs, run = folder.parent, folder.name
    elif blind:
        raise InputError(_("--blind goes with a run: rehearsal open latest --blind"))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(Pages(runs), run, BLIND if blind else "", browser=not no_browser))
    return ExitCode.DONE


async def _serve(pages: Pages, run: str, page: str, *, browser: bool) -> None:
    async with pages:
        sys.stdout.write(f"{pages.address(run, page)}\n")
        sys.stdout.flush()
        say(_("Ctrl-C ends it."))
        if browser and not await asyncio.to_thread(webbrowser.open, pages.address(run, page, once=True)):
            say(_("No browser was found; open the address above yourself."))
        await asyncio.Event().wait()
