"""Calls of others' code that took too long: nobody waits for them, nor does the end of the program."""

import os
import sys
import threading

from simulator.core.messages import _, say

# Threads of such calls.
GIVEN_UP: list[threading.Thread] = []


def leave_behind(code: int) -> None:
    """Ends the process with this exit code if calls that nobody waits for still go on; else nothing.

    A pool of threads that such a call has begun would hold up the end of the program until it is done.
    """
    if n := sum(thread.is_alive() for thread in GIVEN_UP):
        say(_("{n} calls of your code took too long and still go on; the program ends without them.", n=n))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
