"""What can go wrong with a cluster and is expected to."""

from simulator.core.errors import RehearsalError


class SchedulerLost(RehearsalError):
    """The scheduler is gone; what was reported is written, the rest is open."""

    def __init__(self, address: str) -> None:
        super().__init__(f"the scheduler at {address} is lost; any engine can finish the run.")


class WorkersLost(RehearsalError):
    """Nobody is left to hold a conversation, or one of them ends every process that holds it."""
