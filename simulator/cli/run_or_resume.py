"""What `simulate` and `evaluate` do: a run, its reports, and the exit code of its gate."""

from collections.abc import Callable, Mapping
from typing import Any

from simulator.api.make import make
from simulator.api.run import FinishedRun, Interrupted
from simulator.cli.terminal import ExitCode, print_json, say_stopped
from simulator.core.messages import _
from simulator.core.settings import Protocol, Settings, given_flags
from simulator.runner.context import AHEAD
from simulator.runner.estimate import Forecast


def _reports() -> tuple[Callable[[Settings], None], Callable[[FinishedRun], int]]:
    """What checks where reports go, and what writes them; the first question does not wait for these."""
    from simulator.cli.publish import REPORTS

    return REPORTS


AHEAD.append(_reports)


def run_or_resume(settings: Settings, protocol: Protocol, flags: Mapping[str, Any]) -> int:
    """Makes a run, or finishes one with --resume, and writes its reports; returns the exit code."""
    if settings.to:
        check, _publish = _reports()
        check(settings)
    try:
        done = make(settings, protocol, given_flags(flags))
    except Interrupted as ended:
        say_stopped(ended.path, _("interrupted"))
        return ExitCode.INCOMPLETE
    if isinstance(done, Forecast):
        from simulator.cli.forecast import show_forecast  # what prints, which comes with the reports else

        show_forecast(done, as_json=settings.json_output)
        return ExitCode.DONE
    if done.is_empty:
        if settings.json_output:
            print_json({"run": done.path.parent.name, "store": str(done.path), "turns": 0})
        return ExitCode.DONE
    _check, publish = _reports()
    return publish(done)
