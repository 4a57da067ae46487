"""What a merged run says of itself, in words for every report."""

from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import told_in
from simulator.core.types import Language, Results
from simulator.runner.merge import joined_of

TEXT = Texts(Path(__file__).with_name("words.toml"))


def merged_note(results: Results, language: Language) -> tuple[str, bool]:
    """That the run was put together, and what is wrong with it: that is an alarm. Empty for any other run."""
    told = joined_of(results.notes)
    if told is None:
        return "", False
    said = [TEXT(language, "merged", n=str(len(told.runs)))]
    gone = told.missing if not told.planned or _has_open(results) else ()
    if gone:
        said.append(TEXT(language, "missing", shards=", ".join(gone)))
    if told.differences:
        listed = TEXT(language, "stop").join(told_in(language, each) for each in told.differences)
        said.append(TEXT(language, "differences", differences=listed))
    return "".join(said) if language == "ja" else " ".join(said), len(said) > 1


def _has_open(results: Results) -> bool:
    return any(talk.ended is None for talk in results.conversations)
