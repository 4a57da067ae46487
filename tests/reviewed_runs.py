"""Runs that a team has reviewed, for tests."""

from typing import Any

from simulator.core.types import HumanVerdict, Language, Results
from simulator.results.figures import Summary
from tests.sample_runs import rehearsed, summed

# Turns of the rehearsed run: red ones, then others.
FEE, AGAIN, CAMPAIGN = ("angry/cancel-03-ja#0", 1), ("angry/cancel-03-ja#0", 2), ("angry/cancel-03-ja#0", 3)
RETURN, TIMEOUT, INVOICE = (
    ("calm/cancel-03-ja#0", 2),
    ("calm/billing-02-ja#0", 2),
    ("calm/billing-02-ja#0", 3),
)
GOOD = ("angry/fees-01-ja#0", 1)
FEES, RETURNS = "ja/17-early-termination-fee", "ja/19-equipment-return"

# Runs that are reviewed from the command line: one is long enough to correct its score.
SHORT, LONG = (
    (
        "--offline", "--persona", "calm", "--persona", "angry", "--limit", limit, "--turns", "3",
        "--judges", "turn", "--language", "ja",
    )
    for limit in ("4", "9")
)  # fmt: skip


def vote(at: tuple[str, int], judge_is: str | None = None, cause: str = "", **more: Any) -> HumanVerdict:
    """What the team says of a turn in its review."""
    known: dict[str, Any] = {"judge_is": judge_is, "cause": cause, **more}
    return HumanVerdict(conversation=at[0], turn=at[1], source="review", **known)


def reviewed_run(*verdicts: HumanVerdict, language: Language = "ja", **case: object) -> Results:
    """The rehearsed run with these verdicts; all questions have these fields, such as `passages`."""
    run = rehearsed(language)
    conversations = tuple(
        conversation.model_copy(update={"case": conversation.case.model_copy(update=case)})
        for conversation in run.conversations
    )
    return run.model_copy(update={"verdicts": verdicts, "conversations": conversations})


def summary_of(results: Results) -> Summary:
    """Its figures by the usual rules."""
    return summed(results)
