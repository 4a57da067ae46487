"""How the bot did while a replay said the earlier lines, and after they no longer fitted."""

from simulator.core.document import Cell, Section, Table, figures_section, points
from simulator.core.messages import _, ngettext
from simulator.core.types import Results
from simulator.stats.figures import Summary, rounded
from simulator.users.scripted import DIVERGED


def section(results: Results, summary: Summary) -> Section | None:
    """Turns and score of both parts; None where every line still fitted."""
    diverged = 0
    followed, after = list[tuple[str, int]](), list[tuple[str, int]]()
    for conversation in results.conversations:
        first = next((turn.index for turn in conversation.turns if turn.diverged), None)
        diverged += first is not None or conversation.reason.startswith(DIVERGED[conversation.case.language])
        for turn in conversation.turns:
            part = followed if first is None or turn.index < first else after
            part.append((conversation.id, turn.index))
    if not diverged:
        return None
    grades = {
        (score.conversation, score.turn): score.value
        for score in results.scores.of_judge(summary.primary, "scored")
    }

    def mean(turns: list[tuple[str, int]]) -> float | None:
        known = [value for turn in turns if (value := grades.get(turn)) is not None]
        return sum(known) / len(known) if known else None

    rows = [
        (name, len(turns), Cell(text=points(mean(turns)), number=mean(turns)))
        for name, turns in (
            (_("earlier lines said again"), followed),
            (_("from the first line that no longer fitted"), after),
        )
    ]
    return figures_section(
        key="replay",
        title=_("Replay"),
        line=ngettext(
            "In {n} conversation the bot answered otherwise, so that the earlier lines no longer fitted.",
            "In {n} conversations the bot answered otherwise, so that the earlier lines no longer fitted.",
            n=diverged,
        ),
        tables=[Table.of("parts", (_("Part"), _("Turns"), _("Score")), rows, counts=2)],
        figures={
            "diverged": diverged,
            "followed": len(followed),
            "after": len(after),
            "score_followed": rounded(mean(followed)),
            "score_after": rounded(mean(after)),
        },
    )
