"""How far a replay said the earlier lines, and how the bot did before and after they no longer fitted."""

from simulator.core.document import Cell, Section, Table, count_cell, figures_section, points
from simulator.core.messages import Message, _, ngettext
from simulator.core.types import Results
from simulator.stats.figures import Summary, rounded
from simulator.users.scripted import DIVERGED


def section(results: Results, summary: Summary) -> Section | None:
    """Turns and score of both parts; None where every line still fitted."""
    parts: dict[str, list[tuple[str, int]]] = {"followed": [], "after": []}
    diverged = 0
    for conversation in results.conversations:
        first = next((turn.index for turn in conversation.turns if turn.diverged), None)
        diverged += first is not None or conversation.reason.startswith(DIVERGED[conversation.case.language])
        for turn in conversation.turns:
            part = "after" if first is not None and turn.index >= first else "followed"
            parts[part].append((conversation.id, turn.index))
    if not diverged:
        return None
    grades = {
        (score.conversation, score.turn): score.value
        for score in results.scores.of_judge(summary.primary, "scored")
    }
    scores = {}
    for part, turns in parts.items():
        known = [value for turn in turns if (value := grades.get(turn)) is not None]
        scores[part] = sum(known) / len(known) if known else None
    names: dict[str, Message] = {
        "followed": _("earlier lines said again"),
        "after": _("from the first line that no longer fitted"),
    }
    rows = [
        [Cell(text=name), count_cell(len(parts[key])), Cell(text=points(scores[key]), number=scores[key])]
        for key, name in names.items()
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
            "followed": len(parts["followed"]),
            "diverged": diverged,
            "score_followed": rounded(scores["followed"]),
            "score_after": rounded(scores["after"]),
        },
    )
