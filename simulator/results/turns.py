"""The conversations of a run as figures need them: who asked, how each turn was graded, and no text.

`run_turns` reads the run file once, conversation by conversation. All figures of a run are made of what it
returns; the file is opened again only for texts, and only for those that a report quotes.

Memory: a run can have 100,000 conversations. What is kept of a turn is its grades without their texts
(`Grade`), each different set of grades once, and its marks without their reasons.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from simulator.core.types import (
    COMPLETE,
    CONFLICTS_IGNORED,
    LAPSES_IGNORED,
    PASSED,
    RETEST,
    Conversation,
    Ended,
    Failure,
    RedRules,
    Results,
    Score,
    State,
    Turn,
)
from simulator.results.figures import Key, Mark, turn_failure
from simulator.results.red import (
    is_flipped,
    is_unanswered,
    is_undecided,
    lapses_of,
    placed_scores,
    red_marks,
    whole_score,
)
from simulator.storage.results import conversations_with_scores
from simulator.text.phrases import is_courtesy

# What became of a second grading; empty where there was none.
Outcome = Literal["", "same", "flipped", "failed"]
_FAILURE_KINDS = frozenset(get_args(Failure.model_fields["kind"].annotation))


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """One conversation that began, without its turns; `broken` are the guard's rules, message by message.

    `ended` is None while it is held. `overruled` counts where the persona's rules decided otherwise than the
    model about staying or leaving. `user_model` is empty where one model plays all customers.
    """

    id: str
    case: str
    question: str
    persona: str
    ended: Ended | None
    broken: tuple[tuple[str, ...], ...]
    overruled: int
    user_model: str = ""


@dataclass(frozen=True, slots=True)
class Grade:
    """What figures need of a score: no text.

    `rubric` is empty where a rule decided, `failure` says how grading failed, `reason` why. `undecided` means
    that the evidence conflicts, `conflicts_ignored` and `lapses_ignored` count findings in words that do not
    stand there, `of_output` means that this grades one output of a row, without a threshold.
    `retest` is what became of a second grading, and `second` the value that it gave. `value` is 0..1, `raw`
    on the judge's own `scale`; both are None unless `state` is scored.
    """

    judge: str
    state: State
    value: float | None
    raw: float | None
    scale: tuple[float, float]
    rubric: str
    failure: str | None
    reason: str
    undecided: bool
    conflicts_ignored: int
    lapses_ignored: int
    of_output: bool
    retest: Outcome = ""
    second: float | None = None


@dataclass(frozen=True, slots=True)
class GradedTurn:
    """One turn with its grades, and what the deciding judge says of it.

    `is_last`: the conversation was held to its end, and this is its last turn. `value` is the deciding
    judge's, None without a grade; `marks` have no reasons; `failure` is the bot's. An `excluded` turn, which
    a customer spoilt, has neither grades nor marks; of an `unrecorded` one a log does not tell, which is no
    loss where the customer only gave thanks (`courtesy`).
    """

    conversation: str
    case: str
    persona: str
    turn: int
    scores: Mapping[str, Grade]
    value: float | None
    marks: tuple[Mark, ...]
    failure: str | None
    excluded: bool = False
    unrecorded: bool = False
    courtesy: bool = False
    is_last: bool = False

    @property
    def key(self) -> Key:
        """Conversation and turn."""
        return self.conversation, self.turn

    def lacks_grade_of(self, judge: str) -> str | None:
        """How the grading failed; `missing` when its score was never written although it was due.

        Of a data set with outputs a judge named `path.em` grades the rows whose reference has a `path`: in
        other rows its score is absent, not missing.
        """
        if (grade := self.scores.get(judge)) is not None:
            return grade.failure
        grades = self.scores.values()
        of_another = "." in judge and (PASSED in self.scores or any(grade.of_output for grade in grades))
        return None if of_another else "missing"


@dataclass(slots=True)
class RunTurns:
    """The conversations that began, their turns, how many did not begin, and the judges.

    The turns of a conversation follow one another. `repeats` is how often each customer asks a question.
    `lapses` counts those of the conversations by kind, `lapsed` the conversations that have any. The judges
    in `whole` grade conversations. `primary` is the judge that decides.
    """

    primary: str
    conversations: list[ConversationRow] = field(default_factory=list)
    turns: list[GradedTurn] = field(default_factory=list)
    unbegun: int = 0
    repeats: int = 0
    judges: set[str] = field(default_factory=set)
    lapses: Counter[str] = field(default_factory=Counter)
    lapsed: int = 0
    whole: set[str] = field(default_factory=set)

    def without(self, spoilt: Set[Key]) -> "RunTurns":
        """The same, without grades and marks of these turns, whose customer spoilt them."""
        if not spoilt:
            return self
        turns = [
            replace(turn, scores={}, value=None, marks=(), excluded=True) if turn.key in spoilt else turn
            for turn in self.turns
        ]
        return replace(self, turns=turns)


def run_turns(results: Results, rules: RedRules, primary: str) -> RunTurns:
    """Every turn of the run, with the scores that belong to it; `primary` is the judge that decides."""
    run = RunTurns(primary)
    # Equal grades and marks exist once, for a run has many.
    grades: dict[tuple[Grade, ...], dict[str, Grade]] = {}
    marks: dict[tuple[Mark, ...], tuple[Mark, ...]] = {}
    for conversation, by_turn in conversations_with_scores(results):
        run.repeats = max(run.repeats, conversation.repeat)
        if not (conversation.turns or conversation.ended):
            # Planned and not begun: interrupted before.
            run.unbegun += conversation.ended is None
            continue
        is_red = False
        whole = whole_score(by_turn)
        lapses = lapses_of(whole) if whole else []
        run.lapses.update(lapse.kind for lapse in lapses)
        run.lapsed += bool(lapses)
        for turn, marks_of_turn in marked_turns(conversation, by_turn, rules, primary):
            scores = by_turn.get(turn.index, {})
            run.judges |= scores.keys()
            run.whole |= {name for name, score in scores.items() if score.is_whole}
            grades_of_turn = tuple(_grade(score, rules) for score in scores.values())
            graded = grades.setdefault(grades_of_turn, {grade.judge: grade for grade in grades_of_turn})
            # Without their reasons, which are long.
            brief = tuple(replace(mark, reason="") for mark in marks_of_turn)
            is_red = is_red or bool(brief)
            run.turns.append(
                GradedTurn(
                    conversation.id,
                    conversation.case.id,
                    conversation.persona,
                    turn.index,
                    graded,
                    graded[primary].value if primary in graded else None,
                    marks.setdefault(brief, brief),
                    turn_failure(turn),
                    unrecorded=turn.unrecorded,
                    courtesy=turn.unrecorded and is_courtesy(turn.user, conversation.case.language),
                    is_last=conversation.ended in COMPLETE and turn is conversation.turns[-1],
                )
            )
        run.conversations.append(
            ConversationRow(
                conversation.id,
                conversation.case.id,
                conversation.case.question if is_red or not results.is_sampled else "",
                conversation.persona,
                conversation.ended,
                tuple(turn.broken_rules for turn in conversation.turns if turn.broken_rules),
                sum(bool(reaction and reaction.overruled) for reaction in conversation.reactions),
                conversation.user_model,
            )
        )
    return run


def marked_turns(
    conversation: Conversation, by_turn: Mapping[int, Mapping[str, Score]], rules: RedRules, primary: str
) -> Iterator[tuple[Turn, tuple[Mark, ...]]]:
    """The turns with their marks; one whose answer failed is red even while its grades are still missing."""
    placed = placed_scores(by_turn)
    for turn in conversation.turns:
        scores = by_turn.get(turn.index, {})
        if (failure := turn_failure(turn)) and not any(is_unanswered(s) for s in scores.values()):
            yield turn, (Mark(kind="no_answer", severity="major", reason=f"no answer: {failure}"),)
        else:
            every = {**scores, **placed}.values()
            yield turn, red_marks(conversation.id, every, rules, primary, turn=turn.index)


def _grade(score: Score, rules: RedRules) -> Grade:
    """What figures need of a score: without its texts, which would take most of the memory of a large run.

    A failure whose kind nobody knows, as that of a judge of one's own, is an `error`.
    """
    failure, second = None, None
    retest: Outcome = ""
    if RETEST in score.detail:
        second = score.second
        retest = "failed" if second is None else "flipped" if is_flipped(score, rules) else "same"
    if score.state == "failed":
        # A score without the kind in its detail may have it before the colon of its reason: "timeout: 60 s".
        kind = score.detail.get("kind") or score.reason.partition(":")[0].strip()
        failure = kind if isinstance(kind, str) and kind in _FAILURE_KINDS else "error"
    return Grade(
        score.judge,
        score.state,
        score.value,
        score.raw,
        score.scale,
        "" if score.by_rule else score.rubric,
        failure,
        score.reason if failure else "",
        is_undecided(score),
        _count(score, CONFLICTS_IGNORED),
        _count(score, LAPSES_IGNORED),
        "output" in score.detail and "passed" not in score.detail,
        retest,
        second.value if second else None,
    )


def _count(score: Score, key: str) -> int:
    """A number in the detail of a score; 0 where a judge of the user's own keeps something else there."""
    count = score.detail.get(key)
    return count if isinstance(count, int) else 0
