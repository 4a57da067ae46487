"""What a run needs only at its end is read while it waits for its first answers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

# Seconds: by then the first questions are on their way.
FIRST_ANSWERS = 0.12


@contextmanager
def reading_meanwhile(*, offline: bool) -> Iterator[None]:
    """Imports on a thread what paints the reports, after the models' client; nothing in a shorter run."""
    timer = threading.Timer(FIRST_ANSWERS, _read, [offline])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _read(offline: bool) -> None:
    if not offline:
        import_module("openai")
    import_module("simulator.commands.publish")
    import_module("simulator.reports.html")
    import_module("simulator.reports.html_page").prepare()
    import_module("simulator.reports.console")
