"""When a customer had their answer, and whether they left in time; from stored turns and grades."""

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import NamedTuple

from simulator.core.types import Case, Conversation, Ended, Results, Score, Turn
from simulator.storage.results import cache_latest
from simulator.text.acts import is_plain_refusal, passes_on
from simulator.text.evidence import all_references, best_agreement, expected_response, refuses

# From this agreement (0..1) with a reference on, everything is answered.
ANSWERED = 0.55
# The turn judge's grades (1..5) from which on nothing is left out, and nothing is wrong.
COMPLETE, CORRECT = 5, 4
# An answer with this value (0..1) was of use, whatever the customer thought.
USEFUL = 0.8
# After a complete answer one more turn is thanks or a last doubt.
TOLERATED = 1
# Who was cut off did not decide to stay or to leave.
_CUT_OFF = (None, Ended.RAG_FAILED, Ended.USER_FAILED, Ended.BUDGET, Ended.INTERRUPTED)


class Verdict(NamedTuple):
    """What a model said of a turn as a whole."""

    is_complete: bool | None
    is_useful: bool


class VerdictsByTurn(dict[tuple[str, int], Verdict]):
    """What the turn judge's model said of each turn; `answered` caches `answered_by` of each conversation."""

    def __init__(self, scores: Iterable[Score] = ()) -> None:
        """Takes from scores what is asked of them; a stand-in cannot tell whether anything was left out."""
        super().__init__()
        self.answered: dict[str, int | None] = {}
        for s in scores:
            by_model = s.state == "scored" and not s.by_rule and not s.rubric.startswith("lexical-")
            if by_model and s.judge == "turn":
                self[s.conversation, s.turn] = Verdict(_is_complete(s), (s.value or 0) >= USEFUL)


@cache_latest
def turn_verdicts(results: Results) -> VerdictsByTurn:
    """Those of a run."""
    return VerdictsByTurn(results.scores.of_judge("turn"))


def is_scripted(conversation: Conversation, settings: Mapping[str, object]) -> bool:
    """Whether the customer's lines were fixed beforehand, so that nobody is at fault for them."""
    script = conversation.case.script or settings.get("script") or settings.get("replay")
    return bool(script) or settings.get("adapter") == "recorded"


def gives_nothing(turn: Turn, case: Case) -> bool:
    """Whether the desk gave nothing: a failure or a refusal. Handing over to a person is something."""
    text = turn.answer.text
    if turn.answer.error is not None or not text.strip():
        return True
    return refuses(text, all_references(case), case.language) and not passes_on(text, case.language)


def answered_by(conversation: Conversation, verdicts: VerdictsByTurn) -> int | None:
    """When everything was answered: the turn, as the turn judge says, or else by agreement with a reference.

    None if it never was, as with complaints, which only a person settles, and unanswerable questions.
    """
    if conversation.id not in verdicts.answered:
        verdicts.answered[conversation.id] = _answered_by(conversation, verdicts)
    return verdicts.answered[conversation.id]


def _answered_by(conversation: Conversation, verdicts: VerdictsByTurn) -> int | None:
    case, answers = conversation.case, list[str]()
    known = [text for text in all_references(case) if not is_plain_refusal(text, case.language)]
    if expected_response(case) != "answer":
        return None
    for turn in conversation.turns:
        if gives_nothing(turn, case) or passes_on(turn.answer.text, case.language):
            continue
        answers.append(turn.answer.text)
        verdict = verdicts.get((conversation.id, turn.index))
        is_complete = verdict and verdict.is_complete
        if is_complete is False:
            known = []  # what agrees with a reference was not enough
        elif is_complete is None and known:
            agreement = best_agreement("\n".join(answers), known, case.language)
            is_complete = agreement.score >= ANSWERED
        if is_complete:
            return turn.index
    return None


def left_early(conversation: Conversation, verdicts: VerdictsByTurn) -> bool:
    """Whether the customer left satisfied after a refusal or no answer, with nothing answered before."""
    return (
        conversation.ended is Ended.SATISFIED
        and bool(conversation.turns)
        and gives_nothing(conversation.turns[-1], conversation.case)
        and answered_by(conversation, verdicts) is None
        # Nobody is at fault for leaving with what a reference calls an answer, and a judge incomplete.
        and answered_by(conversation, VerdictsByTurn()) is None
    )


def left_late(conversation: Conversation, verdicts: VerdictsByTurn) -> bool | None:
    """Whether the customer stayed more than a turn after everything was answered; None if that is unknown."""
    done = answered_by(conversation, verdicts)
    if done is None or conversation.ended in _CUT_OFF:
        return None
    surplus = len(conversation.turns) - done
    if conversation.ended is Ended.TURN_LIMIT:
        return None if surplus < TOLERATED else True
    return surplus > TOLERATED


def gave_up_early(conversation: Conversation, verdicts: VerdictsByTurn, patience: int, turns: int) -> bool:
    """Whether the customer gave up more than one useless answer before their `patience` ended.

    Giving up after the last of `turns` is not early; an ungraded answer may have been useless.
    """
    if conversation.ended is not Ended.GAVE_UP or len(conversation.turns) >= turns:
        return False
    last = takewhile(lambda turn: not _was_useful(turn, conversation, verdicts), reversed(conversation.turns))
    return len(list(last)) < min(patience - 1, len(conversation.turns))


def _was_useful(turn: Turn, conversation: Conversation, verdicts: VerdictsByTurn) -> bool:
    verdict = verdicts.get((conversation.id, turn.index))
    if gives_nothing(turn, conversation.case) or verdict is None:
        return False
    earlier = {each.answer.text for each in conversation.turns if each.index < turn.index}
    return verdict.is_useful and turn.answer.text not in earlier


def _is_complete(verdict: Score) -> bool | None:
    """Whether the turn judge found nothing left out and hardly anything wrong; None where it did not say."""
    complete, correct = verdict.detail.get("completeness"), verdict.detail.get("correctness", CORRECT)
    if not isinstance(complete, int | float) or not isinstance(correct, int | float):
        return None
    return complete >= COMPLETE and correct >= CORRECT
