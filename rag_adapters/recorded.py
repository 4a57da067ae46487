"""Answers recorded before: each question's own answers and contexts, no bot at all.

The case has them: `answer` and `contexts` for one turn, `recorded` for a whole dialogue. A turn is answered
with what the log has at that turn, provided that the customer asks what the log's customer asked; any other
line has no recorded answer, which is nobody's fault and skipped by every judge. What the log calls an error
is the bot's failure.
"""

from difflib import SequenceMatcher

from simulator.extending import Answer, Bot, BotFailure, Case, ChatMessage, Query, Traits, _, passages_of

# A line that is less like the log's than this (0..1) is another one; typing slips stay far above it.
_LEAST_LIKENESS = 0.6


def connect(*, cases: tuple[Case, ...]) -> Bot:
    """The recorded answers of these cases: of a whole dialogue turn by turn, else of the first turn."""
    # Of a large data set, rows are looked up where they are kept.
    lookup = getattr(cases, "of_id", None) or {case.id: case for case in cases}.get

    def answer(query: Query) -> Answer:
        case = lookup(query.case)
        answers = answers_of(case) if case else ()
        # History that the case had before its first question is none of this dialogue's turns.
        turn = _asked(query.history) - _asked(case.history if case else ())
        if turn >= len(answers) or not (answers[turn].text.strip() or answers[turn].error):
            msg = _("question {case} has no recorded answer", case=query.case)
            if turn:
                msg = _("question {case} has no recorded answer {turn:d}", case=query.case, turn=turn + 1)
            raise BotFailure("unrecorded", msg)
        # The first line is the case's, however it is put; later ones have to be those of the log.
        logged = case.script[turn - 1] if case and 0 < turn <= len(case.script) else query.text
        if SequenceMatcher(None, logged, query.text).ratio() < _LEAST_LIKENESS:
            msg = _(
                "question {case}, answer {turn:d}: the log has no answer to what is asked here",
                case=query.case,
                turn=turn + 1,
            )
            raise BotFailure("unrecorded", msg)
        return answers[turn]

    vars(answer).update(traits=Traits(at_once=True))
    return answer


def answers_of(case: Case) -> tuple[Answer, ...]:
    """What was answered when the dialogue of a case was logged, else its one answer; empty without either."""
    if any(answer.passages for answer in case.recorded):
        return case.recorded
    if case.recorded:  # a log without any passages was kept without them
        return tuple(answer.model_copy(update={"shows_passages": False}) for answer in case.recorded)
    if case.answer is None:
        return ()
    contexts = passages_of(case.contexts)
    return (Answer(text=case.answer, passages=contexts, shows_passages=bool(contexts)),)


def _asked(history: tuple[ChatMessage, ...]) -> int:
    return sum(message.role == "user" for message in history)
