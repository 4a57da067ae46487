"""In which time zone a moment is told: this machine's, but in sheets, which a team shares, that of Japan."""

from datetime import datetime
from zoneinfo import ZoneInfo

# The same whoever paints the sheet, a colleague's laptop or a nightly job: else one worksheet mixes zones.
JST = ZoneInfo("Asia/Tokyo")


def local(moment: datetime) -> datetime:
    """The moment in the time zone of this machine (TZ), as terminals and pages tell it."""
    return moment.astimezone()
