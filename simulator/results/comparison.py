"""Two runs compared: whether the bot got better, in which conversations, and what speaks against it.

Conversations are paired by question, customer and repetition. `RunComparison` is all that the pairs say:

1. `change` is the pair of numbers that every view shows: questions that need review, and the score, in both.
2. `judges` has a row for each judge. Cases, not conversations, are tested: five customers with one question
   are one observation.
3. `turned_red` and `turned_green` are the pairs in which only one of both needs review; `reds` counts them,
   by case, too. `moved` are the others whose score changed much.
4. It is a regression where the score fell, more cases turned red than chance explains, or a case broke that
   must not.

Questions of which the runs do not call the same answer right, or an outdated one, count on neither side.

No model is called, and no run is changed.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from math import ceil
from operator import attrgetter
from statistics import fmean
from typing import Any, Literal, NamedTuple

from simulator.core.document import excerpt
from simulator.core.types import OPEN, Conversation, Results, Role, Run, Turn, Value
from simulator.results.articles import names_of
from simulator.results.draws import interval_of_difference
from simulator.results.figures import RedTurn, Summary, rounded
from simulator.results.right_answers import Renamed, has_other_answer, same_text
from simulator.results.rows import Key
from simulator.results.significance import ALPHA, mcnemar, wilcoxon
from simulator.results.update import update_of
from simulator.storage.run_file import replay_of

# A conversation by case, persona, repetition and, of several models, who plays.
ConversationKey = tuple[str, str, int, str]
# Tags of a case that must stay as good as it is, as `is_guarded` reads them: "Must not break" is one, too.
MUST_NOT_BREAK = "must-not-break"
GUARDED = frozenset({MUST_NOT_BREAK, "壊さない", "必須"})
# Under this name and its id a run file has the hash and the version of a tested prompt.
_PROMPT = "prompt:"
# The bot may differ: it is what is tested. These must be the same for the scores to be comparable. In a
# replay the customers say what they said before, so that their settings do not matter.
_OF_THE_CUSTOMERS = ("turns", "voice_opening", "script", "language")
_OF_THE_GRADING = (
    "judging", "retest", "guidelines", "contacts", "ng_words", "rules", "red", "seed",
)  # fmt: skip
_NOT_THE_BOT: tuple[Role, ...] = ("user", "judge", "embed")
Verdict = Literal["better", "worse", "no_difference", "not_enough", "not_comparable"]
# Why a question counts on neither side: what is right was changed between the runs, or is of before an update
# of the articles.
Apart = Literal["changed", "outdated"]
# From so much on a score that changed without a turn is told, 0..1; an interval that is wider says little.
FAR = 0.2
# Of fewer nothing is said: with five cases no order of events gets the exact test below 5 %.
FEWEST_CASES = 6
# A case with a mean before and after.
Pair = tuple[str, float, float]


class RunFigures(NamedTuple):
    """One run with its figures."""

    results: Results
    summary: Summary


class Change(Value):
    """What is asked first: how many questions need review, and the score (0..1), before and now.

    Of the `asked` questions that both runs have: where these are all, the figures are those of either report.
    `apart` counts those that both have and that count on neither side, `rubrics` names the judges that graded
    by another rubric or other rules.
    A question needs review where a turn of any of its conversations is red, and nobody disputes it. Both
    pairs are in order of time.
    """

    earlier: str
    later: str
    asked: int
    apart: int
    rubrics: tuple[str, ...]
    questions: tuple[int, int]
    score: tuple[float | None, float | None]

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints of it, rounded to 4 decimals."""
        pairs = (("questions", self.questions), ("score", self.score))
        shown = {key: {"before": before, "now": now} for key, (before, now) in pairs}
        return rounded(self.model_dump() | shown)  # type: ignore[no-any-return]


class JudgeDifference(NamedTuple):
    """One judge over the pairs that it graded in both runs; means are 0..1, differences later less earlier.

    Figures are None where there are too few pairs for them; `pairs` and `cases` say how many there were.
    """

    judge: str
    verdict: Verdict
    pairs: int
    cases: int
    before: float | None
    after: float | None
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None

    @property
    def cases_needed(self) -> int:
        """About how many cases make the interval as narrow as `FAR`, in tens; 0 where it is, or is unknown.

        The width falls with the square root of the number of cases. With as many 94 to 100 % of changes by
        `FAR` were found, and about half of those by half of it (`make bench-enough`).
        """
        low, high = self.interval or (0.0, 0.0)
        width = high - low
        return 10 * ceil(self.cases * (width / FAR) ** 2 / 10) if width > FAR else 0


class TalkPair(NamedTuple):
    """A question of one customer in both runs; `was` and `became` are the red turns of each.

    `scores` are the deciding judge's (0..1), None where it gave none.
    """

    earlier: Conversation
    later: Conversation
    was: tuple[RedTurn, ...]
    became: tuple[RedTurn, ...]
    scores: tuple[float | None, float | None]

    @property
    def colours(self) -> tuple[bool, bool]:
        """Whether it needed review, and whether it does."""
        return bool(self.was), bool(self.became)

    @property
    def red(self) -> RedTurn | None:
        """The red turn to look at first; None where neither run has one."""
        return next(iter((*self.became, *self.was)), None)

    @property
    def decides(self) -> int:
        """The turn that decides: the first red one, or else the first that was answered otherwise."""
        if self.red:
            return self.red.turn
        return next((turn.index for turn in self.later.turns if self._is_other(turn.index)), 1)

    @property
    def shown(self) -> tuple[int, ...]:
        """The turns to show: the answer to the question itself, where it is another, and what decides."""
        return tuple(dict.fromkeys((1, self.decides) if self._is_other(1) else (self.decides,)))

    def _is_other(self, index: int) -> bool:
        """Whether both runs answered at this turn, in other words or with another colour."""
        before, now = self.at(index)
        if before is None or now is None:
            return False
        red, red_now = (any(red.turn == index for red in side) for side in (self.was, self.became))
        return red != red_now or not same_text(before.answer.text, now.answer.text)

    def at(self, index: int) -> tuple[Turn | None, Turn | None]:
        """A turn (from 1) in both runs; None where the conversation was over."""
        earlier, later = (
            next((turn for turn in talk.turns if turn.index == index), None)
            for talk in (self.earlier, self.later)
        )
        return earlier, later

    @property
    def disputed(self) -> bool:
        """Whether people say that nothing of it should be red."""
        return self.red is not None and all(red.is_disputed for red in (*self.was, *self.became))

    @property
    def fall(self) -> float:
        """By how much the score fell; negative where it rose, 0 where there is none."""
        was, became = self.scores
        return 0.0 if was is None or became is None else round(was - became, 9)


class RedChanges(NamedTuple):
    """Pairs by colour before and now; over the cases with more and with less red ones, McNemar's p."""

    turned_red: int
    turned_green: int
    still_red: int
    still_green: int
    cases_worse: int
    cases_better: int
    p: float

    @property
    def redder(self) -> bool:
        """Whether more cases have more red conversations than have fewer, beyond chance."""
        return self.cases_worse > self.cases_better and self.p < ALPHA


class BrokenCase(NamedTuple):
    """A case that must not break and did: no red turn before, at least one now.

    `before` is an excerpt of what was answered then in the place of the first red turn, or else to the
    question; empty where nothing was recorded.
    """

    case: str
    question: str
    turns: tuple[Key, ...]
    why: str
    before: str


class CutShort(NamedTuple):
    """A run that did not go on to its end: `finished` of the `planned` conversations were held."""

    run: str
    finished: int
    planned: int


class RunComparison:
    """Everything that two runs say about whether the bot got better; scores and differences are 0..1.

    Both summaries are made by the same red rules, those of the later run: the caller sees to that. `earlier`
    and `later` have the conversations that each run's score counts, `pairs` those that are in both.
    Cases that are `apart` are in none of them: what they call right was changed between the runs, or is of
    before an `update` of the articles.
    `guarded` cases must not break: either run marks them so. Nobody can say whether those in `guarded_apart`
    did.
    """

    def __init__(self, before: RunFigures, after: RunFigures) -> None:
        """`before` is the run that `after` is compared with."""
        self.before, self.after = before, after
        earlier = begun_conversations(before.results, after.results)
        later = begun_conversations(after.results, before.results)
        both = [(earlier[key], later[key]) for key in later if key in earlier]
        self.update = update_of(before, after, both)
        self.renamed: Renamed = self.update.renamed if self.update else {}
        outdated = self.update.apart if self.update else frozenset[str]()
        self.apart: dict[str, Apart] = {
            talk.case.id: "outdated" if talk.case.id in outdated else "changed"
            for talk_before, talk in both
            if talk.case.id in outdated or has_other_answer(talk_before.case, talk.case, self.renamed)
        }
        self.earlier, self.later = (
            {key: talk for key, talk in side.items() if talk.case.id not in self.apart}
            for side in (earlier, later)
        )
        talks = (*earlier.values(), *later.values())
        guarded = dict.fromkeys(talk.case.id for talk in talks if is_guarded(talk.case.tags))
        self.guarded = tuple(case for case in guarded if case not in self.apart)
        self.guarded_apart = tuple(case for case in guarded if case in self.apart)
        self.red_turns = tuple(tuple(side.summary.red.by_turn.values()) for side in (before, after))

    @property
    def ids(self) -> tuple[str, str]:
        """The ids of both runs."""
        return self.before.results.run.id, self.after.results.run.id

    @property
    def primary(self) -> str:
        """The judge that decides."""
        return self.after.summary.scores.primary

    @cached_property
    def change(self) -> Change:
        """The pair of numbers of both runs."""
        first, second = (
            {case.case for case in side.summary.scores.cases} for side in (self.before, self.after)
        )
        asked = (first & second) - self.apart.keys()
        (red, score), (red_now, score_now) = (_figures_on(s, asked) for s in (self.before, self.after))
        return Change(
            earlier=self.ids[0],
            later=self.ids[1],
            asked=len(asked),
            apart=len(first & second) - len(asked),
            rubrics=self.other_rubrics,
            questions=(red, red_now),
            score=(score, score_now),
        )

    # --- grades ---

    @cached_property
    def judges(self) -> tuple[JudgeDifference, ...]:
        """A row for each judge that both runs have, the deciding one first."""
        earlier, later = (self._means(side) for side in (self.before, self.after))
        names = [n for n in self.after.summary.scores.judges if n in earlier and n in later]
        pairs = {
            judge: [
                (case, earlier[judge][case, persona], later[judge][case, persona])
                for case, persona in sorted(earlier[judge].keys() & later[judge].keys())
            ]
            for judge in sorted(names, key=lambda name: name != self.primary)
        }
        seed = self.after.results.run.settings.get("seed")
        return differences(pairs, seed=seed if isinstance(seed, int) else 42, apart=self.other_rubrics)

    def _means(self, side: RunFigures) -> dict[str, dict[tuple[str, str], float]]:
        """For each judge the mean (0..1) of every case and persona, over their repetitions.

        A conversation's mean is that of the turns that the judge graded and that count, and a customer's that
        of its conversations: a long conversation weighs no more than a short one.
        """
        values: dict[str, dict[tuple[str, str], dict[str, list[float]]]] = {}
        for turn in (turn for turn in side.summary.record.turns if turn.case not in self.apart):
            for judge, grade in turn.scores.items():
                if grade.is_scored and grade.value is not None:
                    by_talk = values.setdefault(judge, {}).setdefault((turn.case, turn.persona), {})
                    by_talk.setdefault(turn.conversation, []).append(grade.value)
        return {
            judge: {customer: fmean(map(fmean, grades.values())) for customer, grades in by.items()}
            for judge, by in values.items()
        }

    @cached_property
    def other_rubrics(self) -> tuple[str, ...]:
        """The judges whose prompt, form, rules or model is not the same in both runs.

        By the hashes of their rubrics. A judge that was asked nothing in one of the runs, or graded all by
        rule, has none, and is not accused.
        """
        earlier, later = (
            {name: set(judge.rubrics) for name, judge in side.summary.scores.judges.items()}
            for side in (self.before, self.after)
        )
        return tuple(n for n, now in later.items() if now and earlier.get(n) and now != earlier[n])

    @property
    def score(self) -> JudgeDifference | None:
        """The row of the judge that decides; None where it graded no customer in both runs."""
        return next((row for row in self.judges if row.judge == self.primary), None)

    @property
    def verdict(self) -> Verdict:
        """That of the judge that decides."""
        return self.score.verdict if self.score else "not_comparable"

    @property
    def fallen(self) -> tuple[str, ...]:
        """The judges beside the deciding one whose grades fell, whether that is a regression or not."""
        return tuple(row.judge for row in self.judges if row.verdict == "worse" and row.judge != self.primary)

    # --- conversations ---

    @cached_property
    def pairs(self) -> tuple[TalkPair, ...]:
        """The conversations that both runs have.

        One that was cut off, and needed no review so far, says neither that it was right nor that it was not.
        """
        was, became = map(_by_conversation, self.red_turns)
        scores, scores_now = (side.summary.scores.by_conversation for side in (self.before, self.after))
        both = ((self.earlier[key], talk) for key, talk in self.later.items() if key in self.earlier)
        return tuple(
            TalkPair(
                earlier,
                later,
                tuple(was[earlier.id]),
                tuple(became[later.id]),
                (scores.get(earlier.id), scores_now.get(later.id)),
            )
            for earlier, later in both
            if (earlier.ended not in OPEN or was[earlier.id])
            and (later.ended not in OPEN or became[later.id])
        )

    @cached_property
    def reds(self) -> RedChanges:
        """The pairs by colour, and whether more cases changed one way than the other.

        Conversations of one case are not independent: each case counts once, by which way more of them
        changed.
        """
        counts, net = Counter(pair.colours for pair in self.pairs), Counter[str]()
        for pair in self.pairs:
            was, became = pair.colours
            net[pair.later.case.id] += became - was
        worse, better = sum(n > 0 for n in net.values()), sum(n < 0 for n in net.values())
        return RedChanges(
            turned_red=counts[False, True],
            turned_green=counts[True, False],
            still_red=counts[True, True],
            still_green=counts[False, False],
            cases_worse=worse,
            cases_better=better,
            p=mcnemar(worse, better),
        )

    @property
    def turned_red(self) -> list[TalkPair]:
        """The pairs that need review now and did not: those of guarded cases first, then what fell most."""
        turned = (pair for pair in self.pairs if pair.colours == (False, True))
        return sorted(turned, key=lambda pair: (pair.later.case.id not in self.guarded, -pair.fall))

    @property
    def turned_green(self) -> list[TalkPair]:
        """The pairs that need no review any more: those of guarded cases first, then what rose most."""
        turned = (pair for pair in self.pairs if pair.colours == (True, False))
        return sorted(turned, key=lambda pair: (pair.later.case.id not in self.guarded, pair.fall))

    @property
    def moved(self) -> tuple[list[TalkPair], list[TalkPair]]:
        """The pairs that did not turn but whose score fell, or rose, by `FAR` or more; the farthest first."""
        if self.verdict == "not_comparable":
            return [], []
        same = [pair for pair in self.pairs if len(set(pair.colours)) == 1 and abs(pair.fall) >= FAR]
        fell = sorted((pair for pair in same if pair.fall > 0), key=lambda pair: -pair.fall)
        return fell, sorted((pair for pair in same if pair.fall < 0), key=lambda pair: pair.fall)

    def retrieval(self, pair: TalkPair) -> tuple[list[str], list[str]]:
        """The needed articles that came before and do not now, and the reverse; none where it is unknown."""
        was, became = (_needed_that_came(talk, self.renamed) for talk in (pair.earlier, pair.later))
        if was is None or became is None:
            return [], []
        return sorted(was - became), sorted(became - was)

    # --- what must not break ---

    @cached_property
    def broken(self) -> tuple[BrokenCase, ...]:
        """The guarded cases with no red turn before and at least one now.

        A case that the earlier run did not ask cannot have broken: it is `unchecked`.
        """
        red_before = {red.case for red in self.red_turns[0]}
        broken = []
        for case in (case for case in self.guarded if case in self._asked[0] and case not in red_before):
            if red := [red for red in self.red_turns[1] if red.case == case]:
                question = next(c.case.question for c in self.later.values() if c.case.id == case)
                places = tuple(turn.key for turn in red)
                before = self._answer_before(case, *places[0])
                broken.append(BrokenCase(case, excerpt(question), places, red[0].reason, excerpt(before)))
        return tuple(broken)

    def _answer_before(self, case: str, conversation: str, index: int) -> str:
        """What the earlier run answered in this place, or else to the question of the case."""
        pair = next((pair for pair in self.pairs if pair.later.id == conversation), None)
        turn = pair.at(index)[0] if pair else None
        firsts = (t for talk in self.earlier.values() if talk.case.id == case for t in talk.turns[:1])
        turn = turn or next(firsts, None)
        return turn.answer.text if turn else ""

    @cached_property
    def _asked(self) -> tuple[set[str], set[str]]:
        """The cases with a turn, of either run."""
        earlier, later = (
            {talk.case.id for talk in side.values() if talk.turns} for side in (self.earlier, self.later)
        )
        return earlier, later

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The guarded cases that only one of the runs has."""
        return tuple(case for case in self.guarded if case not in self._asked[0] & self._asked[1])

    @cached_property
    def unseen(self) -> tuple[str, ...]:
        """The guarded cases of which the later run cannot say whether they broke: no grade, none red."""
        graded = self.after.summary.scores.by_conversation
        seen = {row.case for row in self.after.summary.record.conversations if row.id in graded}
        seen |= {red.case for red in self.red_turns[1]}
        return tuple(case for case in self.guarded if case in self._asked[0] and case not in seen)

    @property
    def cut_short(self) -> tuple[CutShort, ...]:
        """The runs that did not go on to their end."""
        return tuple(
            CutShort(side.results.run.id, side.summary.finished, side.summary.planned)
            for side in (self.before, self.after)
            if side.summary.status != "finished" or side.summary.finished < side.summary.planned
        )

    # --- what it comes to ---

    @property
    def regression(self) -> bool:
        """Whether it got worse: the score, red answers beyond chance, or a case that must not break.

        A bot that learns to say "I don't know" loses in relevance, and one that becomes brief in similarity.
        So another judge's mean counts only through what it makes red. Where the deciding judge used another
        rubric, grades and colours are not comparable: then only the cases count that must not break. An
        update of the articles that did not arrive is one, too.
        """
        if self.broken or (self.update and self.update.regression):
            return True
        return self.verdict == "worse" or (self.verdict != "not_comparable" and self.reds.redder)

    @property
    def cannot_tell(self) -> bool:
        """Whether nothing got worse as far as can be seen, and not all can be seen, or nothing."""
        return not self.regression and bool(self.cut_short or self.unseen or not self.pairs)

    @cached_property
    def differing(self) -> dict[str, tuple[str, ...]]:
        """What else than the bot differs: rubrics and models, settings, and cases worded otherwise."""
        before, after = (side.results.run for side in (self.before, self.after))
        # One of the two replays the other, or both replay a third run: then nobody plays the customer.
        replayed = (replay_of(before) or before.id) == (replay_of(after) or after.id)
        roles = (role for role in _NOT_THE_BOT if not (replayed and role == "user"))
        settings = (*(() if replayed else _OF_THE_CUSTOMERS), *_OF_THE_GRADING)
        # None and an empty list say the same: that nothing was asked for.
        moved = [n for n in settings if (before.settings.get(n) or None) != (after.settings.get(n) or None)]
        others = {
            "script" if name == "script" else "persona"
            for name, digits in before.prompts.items()
            if name.startswith(("user:", "opening:", "script")) and after.prompts.get(name, digits) != digits
        }
        told = attrgetter("question", *(() if replayed else ("goal", "facts", "script", "history")))
        reworded = (p.later.case.id for p in self.pairs if told(p.earlier.case) != told(p.later.case))
        return {
            "judges": self.other_rubrics,
            "models": tuple(role for role in roles if before.models.get(role) != after.models.get(role)),
            "settings": tuple(dict.fromkeys((*moved, *(() if replayed else sorted(others))))),
            "questions": tuple(dict.fromkeys(reworded)),
        }

    @property
    def unpaired(self) -> tuple[int, int]:
        """How many conversations only the earlier run has, and only the later one."""
        return len(self.earlier) - len(self.pairs), len(self.later) - len(self.pairs)

    @property
    def changed(self) -> dict[str, tuple[str, str]]:
        """What is known to differ in the bot, by name: as it was and as it is, empty where a run has none.

        Only what was stored: a bot whose code changed has to be told apart by who changed it.
        """
        before, after = (_bot_settings(side.results.run) for side in (self.before, self.after))
        names = dict.fromkeys((*before, *after))
        # A bot that is given the folder of --knowledge has not changed twice.
        if all(side.get("knowledge") == side.get("--knowledge") for side in (before, after)):
            names.pop("knowledge", None)
        values = {name: (before.get(name, ""), after.get(name, "")) for name in names}
        return {name: (was, now) for name, (was, now) in values.items() if was != now}

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints, figures rounded to 4 decimals; judges by name."""
        rows = (row._asdict() for row in self.judges)
        return rounded({  # type: ignore[no-any-return]
            "change": self.change.as_json(),
            "before": _run_json(self.before),
            "after": _run_json(self.after),
            "primary": self.primary,
            "verdict": self.verdict,
            "judges": {row.pop("judge"): row for row in rows},
            "paired": len(self.pairs),
            "reds": self.reds._asdict(),
            "turned_red": [self._pair_json(pair) for pair in self.turned_red],
            "turned_green": [self._pair_json(pair) for pair in self.turned_green],
            **{
                name: [self._pair_json(pair) for pair in pairs]
                for name, pairs in zip(("fell", "rose"), self.moved, strict=True)
            },
            "apart": [
                {"case": case, "why": why, "guarded": case in self.guarded_apart}
                for case, why in self.apart.items()
            ],
            "broken": [case._asdict() for case in self.broken],
            "guarded": len(self.guarded),
            "unchecked": self.unchecked,
            "unseen": self.unseen,
            "cut_short": [run._asdict() for run in self.cut_short],
            "differing": self.differing,
            "unpaired": self.unpaired,
            "changed": [{"name": n, "before": was, "after": now} for n, (was, now) in self.changed.items()],
            "update": self.update and self.update.as_json(),
            "regression": self.regression,
            "cannot_tell": self.cannot_tell,
        })  # fmt: skip

    def _pair_json(self, pair: TalkPair) -> dict[str, Any]:
        """A pair that turned or moved, with excerpts of both answers at the first turn that is to be shown.

        `conversation` is the later run's, `turn` the one that decides.
        """
        turns = pair.at(pair.shown[0])
        before, after = (excerpt(turn.answer.text) if turn else "" for turn in turns)
        lost, found = self.retrieval(pair)
        return {
            "conversation": pair.later.id,
            "turn": pair.decides,
            "shown": pair.shown[0],
            "case": pair.later.case.id,
            "persona": pair.later.persona,
            "question": next(excerpt(turn.user) for turn in reversed(turns) if turn),
            "before": before,
            "after": after,
            "was": pair.scores[0],
            "became": pair.scores[1],
            "why": excerpt(pair.red.reason) if pair.red else "",
            "articles": {"lost": lost, "found": found},
            "guarded": pair.later.case.id in self.guarded,
            "disputed": pair.disputed,
        }


def _by_conversation(turns: Iterable[RedTurn]) -> Mapping[str, list[RedTurn]]:
    by: dict[str, list[RedTurn]] = defaultdict(list)
    for turn in turns:
        by[turn.conversation].append(turn)
    return by


def _needed_that_came(talk: Conversation, renamed: Renamed) -> set[str] | None:
    """The articles that the case needs and that came in the conversation, by their present ids.

    None where the bot does not show what it retrieved.
    """
    answers = [turn.answer for turn in talk.turns]
    passages = [passage for answer in answers for passage in answer.passages]
    if not passages and not all(answer.shows_passages for answer in answers):
        return None
    came = {name for passage in passages for name in names_of(passage.id, passage.source or "")}
    needed = ((id_, renamed.get(id_) or (id_,)) for id_ in talk.case.passages)
    return {name for id_, names in needed if not came.isdisjoint((id_, *names)) for name in names}


def begun_conversations(results: Results, other: Results) -> dict[ConversationKey, Conversation]:
    """The conversations that began, by question, customer, repetition and who plays.

    Where several models play the customers and only one does in the `other` run, those of that model, or
    else of the first. Then who plays is left out of the key, so that the two runs have pairs at all.
    """
    # A run file names the models of a role in one text, joined by commas.
    models, others = (side.run.models.get("user", "").split(", ") for side in (results, other))
    alone = len(models) > 1 and len(others) == 1
    only = next((model for model in models if model in others), models[0]) if alone else None
    return {
        (c.case.id, c.persona, c.repeat, "" if alone else c.user_model): c
        for c in results.conversations
        if c.turns and only in (None, c.user_model)
    }


def is_guarded(tags: Iterable[str]) -> bool:
    """Whether a case must not break."""
    return any(tag.strip().casefold().replace("_", "-").replace(" ", "-") in GUARDED for tag in tags)


def _figures_on(side: RunFigures, cases: Collection[str]) -> tuple[int, float | None]:
    """How many of these questions need review, and the score on them."""
    rows, scores = side.summary.record.conversations, side.summary.scores.by_conversation
    counted = [scores[row.id] for row in rows if row.case in cases and row.id in scores]
    return len(side.summary.red.open_cases & set(cases)), fmean(counted) if counted else None


def differences(
    pairs: Mapping[str, Sequence[Pair]], *, seed: int, apart: Collection[str] = ()
) -> tuple[JudgeDifference, ...]:
    """One row per judge, from its pairs (case, before, after); those in `apart` graded by another rubric."""
    return tuple(
        _difference(judge, rows, seed=seed, is_apart=judge in apart) for judge, rows in pairs.items()
    )


def _difference(judge: str, rows: Sequence[Pair], *, seed: int, is_apart: bool) -> JudgeDifference:
    """The row of a judge.

    Its p is Wilcoxon's over the mean differences of the cases, since conversations about one case are not
    independent. Better or worse is said when it is below 5 % and the interval, too, leaves out 0.
    """
    by_case: dict[str, list[float]] = {}
    for case, before, after in rows:
        by_case.setdefault(case, []).append(after - before)
    cases, by = list(map(fmean, by_case.values())), [after - before for _case, before, after in rows]
    interval, p = None, None
    verdict: Verdict = "not_comparable" if is_apart else "not_enough"
    if len(cases) >= FEWEST_CASES:
        interval = interval_of_difference(by, [case for case, *_means in rows], seed=seed)
        if interval and not is_apart:
            p = wilcoxon(cases)
            verdict = _verdict(interval, p)
    return JudgeDifference(
        judge=judge,
        verdict=verdict,
        pairs=len(rows),
        cases=len(cases),
        before=fmean(before for _case, before, _after in rows) if rows else None,
        after=fmean(after for *_rest, after in rows) if rows else None,
        difference=fmean(by) if by else None,
        interval=interval,
        p=p,
    )


def _verdict(interval: tuple[float, float], p: float) -> Verdict:
    low, high = interval
    if p < ALPHA and (low > 0 or high < 0):
        return "better" if low > 0 else "worse"
    return "no_difference"


def _bot_settings(run: Run) -> dict[str, str]:
    """What a run file knows of the bot: adapter, articles, settings, tested prompts, model."""
    prompts = (
        f"{name.removeprefix(_PROMPT)} {run.versions.get(name, '')} ({digits})"
        for name, digits in run.prompts.items()
        if name.startswith(_PROMPT)
    )
    of_bot: Any = run.settings.get("set") or {}
    settings = {
        "adapter": run.settings.get("adapter"),
        "--knowledge": run.settings.get("knowledge"),
        "prompt": ", ".join(prompts),
        "demo_model": run.models.get("demo"),
    }
    # A setting of the bot's own may have one of these names, too.
    return {name: str(value) for name, value in (*of_bot.items(), *settings.items()) if value}


def _run_json(side: RunFigures) -> dict[str, Any]:
    """A run as a whole, paired or not."""
    summary = side.summary
    return {
        "run": side.results.run.id,
        "replay_of": replay_of(side.results.run),
        "score": summary.scores.score,
        "red": summary.red.count,
        "trial": summary.trial,
    }
