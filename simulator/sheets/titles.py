"""Which worksheets and columns a run has, what they are called, and what is picked in them."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from simulator.core.messages import Message, _, pgettext

# The worksheets, by name, in the order of their tabs.
TABS: Mapping[str, Message] = {
    "summary": pgettext("a worksheet", "Summary"),
    "review": pgettext("a worksheet", "Review"),
    "fixes": pgettext("a worksheet", "Fixes"),
    "conversations": _("Conversations"),
    "blind": pgettext("a worksheet", "Blind"),
    "questions": pgettext("a worksheet", "Questions"),
    "history": pgettext("a worksheet", "History"),
    "technical": pgettext("a worksheet", "Technical"),
}

HELP: Mapping[str, Message] = {
    "summary": _("Fill in your decision, who approved it, when and why, in the row at the top."),
    "review": _("Start at the top. Columns with a blue heading are for your team to fill in."),
    "fixes": _(
        "What brings most comes first. A fix keeps its row from run to run; a row that still names an older"
        " run was not found again. Columns with a blue heading are for your team to fill in."
    ),
    "conversations": _(
        "Every conversation in full. Red cells are answers to look at; the judge's conclusion is in their"
        " note."
    ),
    "blind": _(
        "Grade the answers from 1 to 5 without looking at any score. With two reviewers you see how far"
        " people agree."
    ),
    "questions": _(
        "The questions of the next run: only rows that are in use and approved are asked. Add rows as you"
        " like."
    ),
    "history": _("One row for each run. Dates are in Japan's time."),
    "technical": _("What it takes to repeat the run."),
}


class ColumnKind(NamedTuple):
    """A column of whichever worksheets have it: `width` is in narrow characters.

    A column of the `team` is written when its row is made, and never again.
    """

    title: Message
    width: int = 16
    team: bool = False
    kind: Literal["text", "number", "date"] = "text"


# The columns by key. Those of turns have the number of the turn.
COLUMNS: Mapping[str, ColumnKind] = {
    "key": ColumnKind(pgettext("a column", "Key"), 8),
    "run": ColumnKind(pgettext("a column", "Run")),
    "config": ColumnKind(pgettext("a column", "Config"), 24),
    "user": ColumnKind(_("user{n}", n=""), 34),
    "assistant": ColumnKind(_("assistant{n}", n=""), 34),
    "check": ColumnKind(_("check{n}", n=""), 34),
    "severity": ColumnKind(pgettext("a column", "Severity"), 10),
    "persona": ColumnKind(pgettext("a column", "Customer"), 14),
    "question": ColumnKind(pgettext("a column", "Question"), 34),
    "earlier": ColumnKind(_("Before that"), 34),
    "answer": ColumnKind(pgettext("a column", "Answer"), 44),
    "passages": ColumnKind(pgettext("a column", "Passages"), 44),
    "scores": ColumnKind(pgettext("a column", "Scores"), 26),
    "reason": ColumnKind(pgettext("a column", "Reason"), 40),
    "judge_is": ColumnKind(pgettext("a column", "Is the judge right?"), team=True),
    "correct_answer": ColumnKind(pgettext("a column", "Right answer"), 34, team=True),
    "cause": ColumnKind(pgettext("a column", "Cause"), 14, team=True),
    "likely_cause": ColumnKind(pgettext("a column", "Likely cause"), 18),
    "rank": ColumnKind(pgettext("a column", "Rank"), 8, kind="number"),
    "what": ColumnKind(pgettext("a column", "What to do"), 52),
    "where": ColumnKind(pgettext("a column", "Where"), 24),
    "found_cause": ColumnKind(pgettext("a column", "Cause"), 14),
    "sure": ColumnKind(pgettext("a column", "Certainty"), 10),
    "gain": ColumnKind(pgettext("a column", "Gain"), 12, kind="number"),
    "customers": ColumnKind(pgettext("a column", "Kinds of customer"), 12, kind="number"),
    "memo": ColumnKind(pgettext("a column", "Notes"), 28, team=True),
    "comment": ColumnKind(pgettext("a column", "Comment"), 28, team=True),
    "assignee": ColumnKind(pgettext("a column", "Assignee"), 12, team=True),
    "checked": ColumnKind(pgettext("a column", "Checked on"), 12, team=True, kind="date"),
    "status": ColumnKind(pgettext("a column", "Status"), 14, team=True),
    "grade_1": ColumnKind(pgettext("a column", "Grade, reviewer 1"), 14, team=True),
    "comment_1": ColumnKind(pgettext("a column", "Comment, reviewer 1"), 28, team=True),
    "grade_2": ColumnKind(pgettext("a column", "Grade, reviewer 2"), 14, team=True),
    "comment_2": ColumnKind(pgettext("a column", "Comment, reviewer 2"), 28, team=True),
    "reference": ColumnKind(pgettext("a reference", "Right answer"), 34),
    "answerable": ColumnKind(pgettext("a column", "Answerable"), 14, team=True),
    "handover": ColumnKind(pgettext("a column", "Handover"), 14, team=True),
    "category": ColumnKind(pgettext("a column", "Category"), team=True),
    "use": ColumnKind(pgettext("a column", "In use"), 12, team=True),
    "gold": ColumnKind(pgettext("a column", "Gold passages"), 22, team=True),
    "goal": ColumnKind(pgettext("a column", "Goal"), 30, team=True),
    "facts": ColumnKind(pgettext("a column", "Customer's facts"), 30, team=True),
    "history": ColumnKind(pgettext("a column", "Earlier turns"), 30, team=True),
    "approved": ColumnKind(pgettext("a column", "Approved"), 12, team=True),
    "item": ColumnKind(pgettext("a column", "Item"), 30),
    "value": ColumnKind(pgettext("a column", "Value")),
    "explanation": ColumnKind(pgettext("a column", "Details"), 40),
    "decision": ColumnKind(pgettext("a column", "Decision"), team=True),
    "approver": ColumnKind(pgettext("a column", "Approved by"), 14, team=True),
    "decided": ColumnKind(pgettext("a column", "Approved on"), 12, team=True, kind="date"),
    "why": ColumnKind(pgettext("a column", "Why"), 34, team=True),
    "date": ColumnKind(pgettext("a column", "Date")),
    "score": ColumnKind(pgettext("a column", "Score"), kind="number"),
    "target": ColumnKind(pgettext("a column", "Target"), kind="number"),
    "verdict": ColumnKind(pgettext("a column", "Verdict")),
    "red": ColumnKind(pgettext("a column", "Red turns"), kind="number"),
    "turns": ColumnKind(_("Turns"), 10, kind="number"),
    "no_answer": ColumnKind(pgettext("a column", "No answer"), kind="number"),
    "seconds": ColumnKind(pgettext("a column", "Seconds"), kind="number"),
    "cost": ColumnKind(pgettext("a column", "Cost (USD)"), kind="number"),
}

_GRADES = _(
    "5 may go out as it is, 4 with a blemish, 3 after a small fix, 2 misleads or is of no use, 1 does harm"
)
COLUMN_HELP: Mapping[str, Message] = {
    "judge_is": _("Was the red mark right?"),
    "correct_answer": _(
        "What it should have said. Once the status is fixed or retested it becomes the reference of the"
        " next run"
    ),
    "gain": _(
        "How much the score (of 100) would gain if the fixed turns were graded like the average turn that"
        " is not red"
    ),
    "grade_1": _GRADES,
    "grade_2": _GRADES,
}

# The columns of each worksheet, in their order.
WORKSHEETS: Mapping[str, str] = {
    "summary": "key item value explanation decision approver decided why",
    "review": "key severity persona question answer reason judge_is likely_cause cause correct_answer comment"
    " assignee checked status scores passages earlier run",
    "fixes": "key rank what where found_cause sure gain turns customers question answer reason assignee"
    " status memo run",
    "conversations": "key config reference user assistant check",
    "blind": "key earlier question passages answer grade_1 comment_1 grade_2 comment_2",
    "questions": "key question reference answerable handover category use approved gold goal facts history",
    "history": "key date score target verdict red turns no_answer seconds cost",
    "technical": "key value",
}

_GRADE: Mapping[str, Message | str] = {n: n for n in "54321"}
# What is picked in a column, by what the program understands.
CHOICES: Mapping[str, Mapping[str, Message | str]] = {
    "judge_is": {
        "right": pgettext("a choice", "Judge is right"),
        "wrong": pgettext("a choice", "Judge is wrong"),
        "unsure": pgettext("a choice", "Unsure"),
    },
    "cause": {
        "knowledge": pgettext("a cause", "Missing knowledge"),
        "outdated": pgettext("a cause", "Article wrong"),
        "retrieval": pgettext("a cause", "Not retrieved"),
        "spelling": pgettext("a cause", "Other wording"),
        "ignored": pgettext("a cause", "Passage ignored"),
        "invented": pgettext("a cause", "Invented"),
        "should_refuse": pgettext("a cause", "Should decline"),
        "should_answer": pgettext("a cause", "Should answer"),
        "misunderstood": pgettext("a cause", "Misunderstood"),
        "tone": pgettext("a cause", "Tone"),
        "no_answer": pgettext("a cause", "No answer"),
        "customer": pgettext("a cause", "Simulated customer"),
        "unclear": pgettext("a cause", "Unclear"),
        "other": pgettext("a cause", "Other"),
    },
    "status": {
        "open": pgettext("a choice", "Open"),
        "doing": pgettext("a choice", "In progress"),
        "mended": pgettext("a choice", "Fixed"),
        "retested": pgettext("a choice", "Retested"),
        "wontfix": pgettext("a choice", "Won't fix"),
    },
    "answerable": {"yes": pgettext("a choice", "Yes"), "no": pgettext("a choice", "No")},
    "handover": {
        "required": pgettext("a choice", "Required"),
        "forbidden": pgettext("a choice", "Not wanted"),
        "optional": pgettext("a choice", "Either"),
    },
    "use": {"yes": pgettext("a choice of use", "Yes"), "no": pgettext("a choice of use", "No")},
    "approved": {
        "yes": pgettext("a choice", "Approved"),
        "no": pgettext("a choice", "Not yet"),
        "rejected": pgettext("a choice", "Rejected"),
    },
    "decision": {
        "go": pgettext("a choice", "Go"),
        "conditional": pgettext("a choice", "Go with conditions"),
        "no": pgettext("a choice", "No go"),
    },
    "grade_1": _GRADE,
    "grade_2": _GRADE,
}
