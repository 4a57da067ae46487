"""What the texts of a report say."""

from simulator.core.document import Text
from simulator.core.messages import Language, shown


def said(text: Text, language: Language = "en", wording: str = "") -> str:
    """A text as its reader sees it; `wording` is "rows" in reports on single-turn rows."""
    return shown(text, language, wording)
