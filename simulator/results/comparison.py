"""Two runs compared: whether the bot got better, on which turns, and what speaks against the comparison.

Conversations are paired by question, customer and repetition; grades are compared judge by judge over these
pairs, colours turn by turn where both customers said the same.

From two runs to a verdict:

1. `change` is the pair of numbers that every view shows: questions that need review, and the score, in both.
2. `PairedRuns` pairs conversations by case, persona, repetition and who plays.
3. `means_by_customer` makes one mean for each judge and customer, `differences` one row for each judge.
4. Cases, not conversations, are tested: five customers with one question are one observation.
5. `red_changes` counts the turns that turned red and green, again by case.
6. It is a regression where the score fell, more cases turned red than chance explains, or a case broke that
   must not (`RunComparison.regression`).

No model is called, and no run is changed.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple, get_args

from simulator.core.document import excerpt
from simulator.core.types import Conversation, Results, Role, Run, Score, Turn, Value
from simulator.results.draws import interval_of_difference
from simulator.results.figures import RedTurn, Summary, rounded
from simulator.results.rows import Key
from simulator.results.significance import ALPHA, mcnemar, wilcoxon
from simulator.results.update import Update, update_of
from simulator.storage.run_file import replay_of

# A conversation by case, persona, repetition and, of several models, who plays.
ConversationKey = tuple[str, str, int, str]
# Tags of a case that must stay as good as it is, as `is_guarded` reads them: "Must not break" is one, too.
MUST_NOT_BREAK = "must-not-break"
GUARDED = frozenset({MUST_NOT_BREAK, "壊さない", "必須"})
# Under this name and its id a run file has the hash and the version of a tested prompt.
_PROMPT = "prompt:"
# Why a comparison may mislead, gravest first.
Kind = Literal["rubrics", "models", "settings", "unfinished", "questions", "unpaired"]
# The bot may differ: it is what is tested. These must be the same for the scores to be comparable. In a
# replay the customers say what they said before, so that their settings do not matter.
_OF_THE_CUSTOMERS = ("turns", "voice_opening", "script", "language", "greeting")
_OF_THE_GRADING = (
    "judging", "retest", "guidelines", "contacts", "ng_words", "rules", "red", "seed",
)  # fmt: skip
_NOT_THE_BOT: tuple[Role, ...] = ("user", "judge", "embed")
Verdict = Literal["better", "worse", "no_difference", "not_enough", "not_comparable"]
# Below these nothing is said: with fewer than six cases no order of events gets the exact test below 5 %.
FEWEST_PAIRS = FEWEST_CASES = 6
# A case with a mean before and after; a customer by case and persona.
Pair = tuple[str, float, float]
CustomerKey = tuple[str, str]


class RunFigures(NamedTuple):
    """One run with its figures."""

    results: Results
    summary: Summary


class Change(Value):
    """What is asked first: how many questions need review, and the score (0..1), before and now.

    Of the `asked` questions that both runs have: where these are all, the figures are those of either report.
    A question needs review where a turn of any of its conversations is red, and nobody disputes it. Both
    pairs are in order of time.
    """

    earlier: str
    later: str
    asked: int
    questions: tuple[int, int]
    score: tuple[float | None, float | None]

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints of it, rounded to 4 decimals."""
        shown = self.model_dump()
        pairs = {key: dict(zip(("before", "now"), shown[key], strict=True)) for key in ("questions", "score")}
        return rounded(shown | pairs)  # type: ignore[no-any-return]


class PairedTurn(NamedTuple):
    """One turn in both runs; `was` and `became` are what made it red, None where it was not.

    `others` are further personas who began alike and were told the same.
    """

    earlier: Conversation
    later: Conversation
    before: Turn
    after: Turn
    was: RedTurn | None
    became: RedTurn | None
    others: tuple[str, ...] = ()


def distinct_turns(turns: Iterable[PairedTurn]) -> list[PairedTurn]:
    """The turns, of first ones with the same question and answers only one: red where any of them is.

    The first line is the case's own, so eleven personas often get the same answer to it, and one changed
    answer would count eleven times. Later turns are never joined: what was said before them differs.
    """
    by_key: dict[tuple[object, ...], PairedTurn] = {}
    for turn in turns:
        said = (turn.before.user, turn.before.answer.text, turn.after.user, turn.after.answer.text)
        is_first = turn.before.index == turn.after.index == 1
        key = (turn.later.case.id, *said) if is_first else (turn.later.id, turn.after.index)
        first = by_key.setdefault(key, turn)
        others = dict.fromkeys((*first.others, turn.later.persona))
        others.pop(first.later.persona, None)
        by_key[key] = first._replace(
            was=first.was or turn.was, became=first.became or turn.became, others=tuple(others)
        )
    return list(by_key.values())


def change(before: RunFigures, after: RunFigures, apart: Collection[str] = ()) -> Change:
    """The pair of numbers of two runs, without the cases that stand `apart`."""
    asked = {case.case for case in before.summary.scores.cases} & {
        case.case for case in after.summary.scores.cases
    }
    asked = asked.difference(apart)
    (red, score), (red_now, score_now) = (_figures_on(side, asked) for side in (before, after))
    return Change(
        earlier=before.results.run.id,
        later=after.results.run.id,
        asked=len(asked),
        questions=(red, red_now),
        score=(score, score_now),
    )


def _figures_on(side: RunFigures, cases: Collection[str]) -> tuple[int, float | None]:
    """How many of these questions need review, and the score on them."""
    summary = side.summary
    red = len(summary.red.open_cases & set(cases))
    if len(cases) == len(summary.scores.cases):
        return red, summary.scores.score
    scores = summary.scores.by_conversation
    counted = [scores[c.id] for c in side.results.conversations if c.case.id in cases and c.id in scores]
    return red, fmean(counted) if counted else None


class PairedRuns:
    """The conversations of two runs, side by side.

    `both` are the conversations that both have, `turns` those turns that can be compared: the first of each
    conversation, and those with the same message. `guarded` cases must not break: either run marks them so.
    """

    def __init__(self, before: RunFigures, after: RunFigures) -> None:
        """`before` is the run that `after` is compared with."""
        self.before, self.after = (RunFigures(s.results, s.summary) for s in (before, after))
        # Each side as its score counts it: conversations that were held again once.
        runs = self.before.results, self.after.results
        self.earlier, self.later = begun_conversations(*runs), begun_conversations(*reversed(runs))
        self.both = [key for key in self.later if key in self.earlier]
        # What an update of the articles moved; by a reference of before it the right answer would be wrong.
        self.update = update_of(
            self.before, self.after, ((self.earlier[key], self.later[key]) for key in self.both)
        )
        self.apart = self.update.apart if self.update else frozenset[str]()
        for side in (self.earlier, self.later):
            for key in [key for key in side if key[0] in self.apart]:
                del side[key]
        self.both = [key for key in self.both if key[0] not in self.apart]
        was, became = self.reds = tuple[dict[Key, RedTurn], ...](
            side.summary.red.by_turn for side in (self.before, self.after)
        )
        turns = list[PairedTurn]()
        for earlier, later in ((self.earlier[key], self.later[key]) for key in self.both):
            for a, b in zip(earlier.turns, later.turns, strict=False):
                if a.index == 1 or a.user == b.user:
                    red = was.get((earlier.id, a.index)), became.get((later.id, b.index))
                    turns.append(PairedTurn(earlier, later, a, b, *red))
        self.turns = tuple(turns)
        conversations = (*self.earlier.values(), *self.later.values())
        self.guarded = tuple(dict.fromkeys(c.case.id for c in conversations if is_guarded(c.case.tags)))


def begun_conversations(results: Results, other: Results) -> dict[ConversationKey, Conversation]:
    """The conversations that began, by question, customer, repetition and who plays.

    Where several models play the customers and only one does in the `other` run, those of that model, or
    else of the first. Then who plays is left out of the key, so that the two runs have pairs at all.
    """
    # A run file names the models of a role in one text, joined by commas.
    models, others = (side.run.models.get("user", "").split(", ") for side in (results, other))
    alone = len(models) > 1 and len(others) == 1
    only = (others[0] if others[0] in models else models[0]) if alone else None
    return {
        (c.case.id, c.persona, c.repeat, "" if alone else c.user_model): c
        for c in results.conversations
        if (c.turns or c.ended) and only in (None, c.user_model)
    }


class Caution(Value):
    """A reason to distrust the difference; `names` are judges, roles, settings or runs.

    `before` and `after` count what is unpaired in either run; of reworded questions `after` counts the pairs.
    """

    kind: Kind
    names: tuple[str, ...] = ()
    before: int = 0
    after: int = 0


class ChangedSetting(Value):
    """A setting of the bot that is not the same in both runs."""

    name: str
    before: str
    after: str


class JudgeDifference(Value):
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


class TurnChange(Value):
    """A turn with the same message of the customer, red in only one of the runs; texts are excerpts.

    `conversation` and `turn` are those of the later run. `was` and `became` are the deciding judge's grades
    (0..1), None where it gave none. `others` are further personas who began alike and were told the same.
    `disputed`: people say that it should not be red.
    """

    conversation: str
    turn: int
    case: str
    persona: str
    question: str
    before: str
    after: str
    was: float | None
    became: float | None
    why_before: str
    why_after: str
    guarded: bool
    others: tuple[str, ...] = ()
    disputed: bool = False


class BrokenCase(Value):
    """A case that must not break and did: no red turn before, at least one now."""

    case: str
    question: str
    turns: tuple[tuple[str, int], ...]
    why: str


class RedChanges(Value):
    """Comparable turns by colour before and now; over the cases with more and with less red, McNemar's p."""

    turned_red: int
    turned_green: int
    still_red: int
    still_green: int
    cases_worse: int
    cases_better: int
    p: float

    @property
    def redder(self) -> bool:
        """Whether more cases have more red turns than have fewer, beyond chance."""
        return self.cases_worse > self.cases_better and self.p < ALPHA


class ComparedRun(Value):
    """One of the two runs as a whole, paired or not."""

    run: str
    replay_of: str | None
    score: float | None
    red: int
    turns: int
    conversations: int
    disputed: int = 0
    offline: bool = False
    trial: bool = False


class CutShort(Value):
    """A run that did not go on to its end: `finished` of the `planned` conversations were held."""

    run: str
    finished: int
    planned: int


class RunComparison(Value):
    """Everything that two runs say about whether the bot got better; scores and differences are 0..1.

    `change` is the pair of numbers that every view shows. `guarded` counts the cases that must not break,
    `unchecked` names those of them that only one of the runs has, `unseen` those of which the later run has
    no grade. `cut_short` are the runs that did not go on to their end; for either reason a regression may
    have gone unseen (`cannot_tell`). `turned_red` and `turned_green` begin with guarded cases, then with what
    fell or rose most. `paired` are conversations.
    """

    change: Change
    before: ComparedRun
    after: ComparedRun
    primary: str
    verdict: Verdict
    judges: tuple[JudgeDifference, ...]
    paired: int
    reds: RedChanges
    turned_red: tuple[TurnChange, ...]
    turned_green: tuple[TurnChange, ...]
    broken: tuple[BrokenCase, ...]
    guarded: int
    unchecked: tuple[str, ...]
    unseen: tuple[str, ...] = ()
    cut_short: tuple[CutShort, ...] = ()
    cautions: tuple[Caution, ...]
    changed: tuple[ChangedSetting, ...]
    update: Update | None = None

    @property
    def regression(self) -> bool:
        """Whether it got worse: the score, red answers beyond chance, or a case that must not break.

        A bot that learns to say "I don't know" loses in relevance, and one that becomes brief in similarity.
        So another judge's mean counts only through what it makes red. Where the deciding judge used another
        rubric, grades and colours are not comparable: then only the cases count that must not break. An
        update of the articles that did not arrive is one, too.
        """
        if self.update and self.update.regression:
            return True
        if self.broken or self.verdict in ("worse", "not_comparable"):
            return bool(self.broken) or self.verdict == "worse"
        return self.reds.redder

    @property
    def cannot_tell(self) -> bool:
        """Whether nothing got worse as far as can be seen, and not all can be seen."""
        return not self.regression and bool(self.cut_short or self.unseen)

    @property
    def score(self) -> JudgeDifference | None:
        """The row of the judge that decides; None where it graded no customer in both runs."""
        return next((row for row in self.judges if row.judge == self.primary), None)

    @property
    def fallen(self) -> tuple[str, ...]:
        """The judges beside the deciding one whose grades fell, whether that is a regression or not."""
        return tuple(row.judge for row in self.judges if row.verdict == "worse" and row.judge != self.primary)


def is_guarded(tags: Iterable[str]) -> bool:
    """Whether a case must not break."""
    return any(tag.strip().casefold().replace("_", "-").replace(" ", "-") in GUARDED for tag in tags)


def means_by_customer(side: RunFigures, apart: Collection[str] = ()) -> dict[str, dict[CustomerKey, float]]:
    """For each judge the mean (0..1) of every case and persona, over their repetitions; no cases `apart`.

    A conversation's mean is that of the turns that the judge graded and that count, and a customer's that of
    its conversations: a long conversation weighs no more than a short one.
    """
    values: dict[str, dict[CustomerKey, dict[str, list[float]]]] = {}
    for turn in (turn for turn in side.summary.record.turns if turn.case not in apart):
        for judge, grade in turn.scores.items():
            if grade.is_scored and grade.value is not None:
                by_conversation = values.setdefault(judge, {}).setdefault((turn.case, turn.persona), {})
                by_conversation.setdefault(turn.conversation, []).append(grade.value)
    return {
        judge: {customer: fmean(map(fmean, grades.values())) for customer, grades in by.items()}
        for judge, by in values.items()
    }


def _prompts(run: Run) -> dict[str, tuple[str, str]]:
    """Version and hash of a run's prompts by name: one, or those of a chain; empty where rows were sent."""
    return {
        name.removeprefix(_PROMPT): (run.versions.get(name, ""), digits)
        for name, digits in run.prompts.items()
        if name.startswith(_PROMPT)
    }


def other_rubrics(before: Summary, after: Summary) -> tuple[str, ...]:
    """The judges whose prompt, form or model is not the same in both runs.

    By the hashes of their rubrics. A judge that graded nothing in one of the runs, or all by rule, has none,
    and is not accused.
    """
    earlier, later = (
        {name: set(j.rubrics) for name, j in side.scores.judges.items()} for side in (before, after)
    )
    return tuple(n for n, now in later.items() if now and earlier.get(n) and now != earlier[n])


def is_replayed(before: Run, after: Run) -> bool:
    """Whether one of the two replays the other, or both replay a third run."""
    origins = [replay_of(run) or run.id for run in (before, after)]
    return before.id != after.id and origins[0] == origins[1]


def cautions(pairs: PairedRuns) -> Iterator[Caution]:
    """The reasons to distrust a plain comparison, gravest first: in the order of `Kind`."""
    before, after = pairs.before.results.run, pairs.after.results.run
    replayed = is_replayed(before, after)
    # In a replay nobody plays the customer.
    roles = [role for role in _NOT_THE_BOT if not (replayed and role == "user")]
    settings = (*(() if replayed else _OF_THE_CUSTOMERS), *_OF_THE_GRADING)
    # None and an empty list say the same: that nothing was asked for.
    moved = [n for n in settings if (before.settings.get(n) or None) != (after.settings.get(n) or None)]
    personas = (name for name in before.prompts if name.startswith(("user:", "opening:")))
    if not replayed and any(after.prompts.get(p, before.prompts[p]) != before.prompts[p] for p in personas):
        moved.append("persona")
    names: tuple[tuple[Kind, Iterable[str]], ...] = (
        ("rubrics", other_rubrics(pairs.before.summary, pairs.after.summary)),
        ("models", (role for role in roles if before.models.get(role) != after.models.get(role))),
        ("settings", moved),
        ("unfinished", dict.fromkeys(run.id for run in (before, after) if run.status != "finished")),
    )
    by_kind = {kind: Caution(kind=kind, names=named) for kind, some in names if (named := tuple(some))}
    if reworded := sum(pairs.earlier[k].case.question != pairs.later[k].case.question for k in pairs.both):
        by_kind["questions"] = Caution(kind="questions", after=reworded)
    unpaired = len(pairs.earlier) - len(pairs.both), len(pairs.later) - len(pairs.both)
    if any(unpaired):
        by_kind["unpaired"] = Caution(kind="unpaired", before=unpaired[0], after=unpaired[1])
    return (by_kind[kind] for kind in get_args(Kind) if kind in by_kind)


def changed_settings(before: Run, after: Run) -> tuple[ChangedSetting, ...]:
    """What is known to differ in the bot: adapter, articles, settings, prompts, model."""
    earlier: Any = before.settings.get("set") or {}
    later: Any = after.settings.get("set") or {}
    prompts = (
        ", ".join(f"{name} {version} ({digits})" for name, (version, digits) in _prompts(run).items())
        for run in (before, after)
    )
    articles = before.settings.get("knowledge"), after.settings.get("knowledge")
    of_bot = {key: (earlier.get(key), later.get(key)) for key in dict.fromkeys((*earlier, *later))}
    # Only what was stored: a bot whose code changed has to be told apart by who changed it.
    changes = [
        ("adapter", before.settings.get("adapter"), after.settings.get("adapter")),
        ("--knowledge", *articles),
        # A bot that is given the same folder is not another change.
        *((key, *values) for key, values in of_bot.items() if (key, values) != ("knowledge", articles)),
        ("prompt", *prompts),
        ("demo_model", before.models.get("demo"), after.models.get("demo")),
    ]
    return tuple(
        ChangedSetting(name=name, before=str(was or ""), after=str(now or ""))
        for name, was, now in changes
        if (was or "") != (now or "")
    )


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
    if len(rows) >= FEWEST_PAIRS and len(cases) >= FEWEST_CASES:
        interval = interval_of_difference(by, [case for case, *_means in rows], seed=seed)
        p = None if is_apart else wilcoxon(cases)
    return JudgeDifference(
        judge=judge,
        verdict="not_comparable" if is_apart else _verdict(interval, p),
        pairs=len(rows),
        cases=len(cases),
        before=fmean(before for _case, before, _after in rows) if rows else None,
        after=fmean(after for *_rest, after in rows) if rows else None,
        difference=fmean(by) if by else None,
        interval=interval,
        p=p,
    )


def _verdict(interval: tuple[float, float] | None, p: float | None) -> Verdict:
    if interval is None or p is None:
        return "not_enough"
    low, high = interval
    if p < ALPHA and (low > 0 or high < 0):
        return "better" if low > 0 else "worse"
    return "no_difference"


def red_changes(turns: Sequence[PairedTurn]) -> RedChanges:
    """The comparable turns by colour, and whether more cases changed one way than the other.

    A case with as many turns that turned red as turned green counts as neither.
    """
    colours = Counter((bool(t.was), bool(t.became)) for t in turns)
    # Turns of one case are not independent: each case counts once, by which way more of its turns changed.
    net = Counter[str]()
    for t in turns:
        net[t.later.case.id] += bool(t.became) - bool(t.was)
    worse, better = sum(n > 0 for n in net.values()), sum(n < 0 for n in net.values())
    return RedChanges(
        turned_red=colours[False, True],
        turned_green=colours[True, False],
        still_red=colours[True, True],
        still_green=colours[False, False],
        cases_worse=worse,
        cases_better=better,
        p=mcnemar(worse, better),
    )


def turn_changes(pairs: PairedRuns, *, red: bool) -> tuple[TurnChange, ...]:
    """The turns that turned red (or green), those of guarded cases first, then by how much."""
    before, after = (
        {
            (s.conversation, s.turn): s
            for s in side.results.scores.of_judge(pairs.after.summary.scores.primary)
        }
        for side in (pairs.before, pairs.after)
    )
    changes = []
    for t in (t for t in distinct_turns(pairs.turns) if (bool(t.was), bool(t.became)) == (not red, red)):
        earlier, later = before.get((t.earlier.id, t.before.index)), after.get((t.later.id, t.after.index))
        changes.append(
            TurnChange(
                conversation=t.later.id,
                turn=t.after.index,
                case=t.later.case.id,
                persona=t.later.persona,
                question=excerpt(t.after.user),
                before=excerpt(t.before.answer.text),
                after=excerpt(t.after.answer.text),
                was=earlier.value if earlier else None,
                became=later.value if later else None,
                why_before=_why(t.was, earlier),
                why_after=_why(t.became, later),
                guarded=t.later.case.id in pairs.guarded,
                others=t.others,
                disputed=any(side is not None and side.is_disputed for side in (t.was, t.became)),
            )
        )

    def rank(change: TurnChange) -> tuple[bool, float]:
        """What fell (or rose) most comes first."""
        is_graded = change.was is not None and change.became is not None
        by = round((change.became or 0.0) - (change.was or 0.0), 9) if is_graded else 0.0
        return not change.guarded, by if red else -by

    return tuple(sorted(changes, key=rank))


def _why(red: RedTurn | None, score: Score | None) -> str:
    return excerpt((red.reason if red else "") or (score.reason if score else ""))


def broken_cases(pairs: PairedRuns) -> tuple[BrokenCase, ...]:
    """The guarded cases with no red turn before and at least one now.

    A case that the earlier run did not ask cannot have broken: it is `unchecked`.
    """
    red_before = {red.case for red in pairs.reds[0].values()}
    earlier = {c.case.id for c in pairs.earlier.values() if c.turns}
    broken = []
    for case in (case for case in pairs.guarded if case in earlier and case not in red_before):
        if red := [r for r in pairs.after.summary.red.answers if r.case == case]:
            question = next(c.case.question for c in pairs.later.values() if c.case.id == case)
            places = tuple(r.key for r in red)
            broken.append(BrokenCase(case=case, question=excerpt(question), turns=places, why=red[0].reason))
    return tuple(broken)


def compare_runs(pairs: PairedRuns) -> RunComparison:
    """The later run compared with the earlier one; both summaries are made by the same red rules.

    The caller sees to that: those of the later run, whose seed is that of the bootstrap, too.
    """
    before, after = pairs.before, pairs.after
    seed = after.results.run.settings.get("seed")
    primary = after.summary.scores.primary
    earlier, later = (means_by_customer(side, pairs.apart) for side in (before, after))
    # Of every customer that both runs have: the case, and the means before and after.
    means = {
        judge: [
            (key[0], earlier[judge][key], later[judge][key])
            for key in sorted(earlier[judge].keys() & later[judge].keys())
        ]
        for judge in sorted(after.summary.scores.judges, key=lambda name: name != primary)
        if judge in earlier and judge in later
    }
    judges = differences(
        means, seed=seed if isinstance(seed, int) else 42, apart=other_rubrics(before.summary, after.summary)
    )
    verdict: Verdict = next((row.verdict for row in judges if row.judge == primary), "not_comparable")
    first, second = ({c.case.id for c in side.values() if c.turns} for side in (pairs.earlier, pairs.later))
    whole = (
        ComparedRun(
            run=side.results.run.id,
            replay_of=replay_of(side.results.run),
            conversations=side.summary.scores.graded,
            score=side.summary.scores.score,
            red=side.summary.red.count,
            disputed=side.summary.red.disputed,
            turns=side.summary.turns,
            offline=side.summary.offline,
            trial=side.summary.trial,
        )
        for side in (before, after)
    )
    return RunComparison(
        change=change(before, after, pairs.apart),
        before=next(whole),
        after=next(whole),
        primary=primary,
        verdict=verdict,
        judges=judges,
        paired=len(pairs.both),
        reds=red_changes(distinct_turns(pairs.turns)),
        turned_red=turn_changes(pairs, red=True),
        turned_green=turn_changes(pairs, red=False),
        broken=broken_cases(pairs),
        guarded=len(pairs.guarded),
        unchecked=tuple(case for case in pairs.guarded if case not in first & second),
        unseen=tuple(case for case in pairs.guarded if case in first and case not in _seen_cases(after)),
        cut_short=tuple(
            CutShort(run=side.results.run.id, finished=side.summary.finished, planned=side.summary.planned)
            for side in (before, after)
            if side.summary.status != "finished" or side.summary.finished < side.summary.planned
        ),
        cautions=tuple(cautions(pairs)),
        changed=changed_settings(before.results.run, after.results.run),
        update=pairs.update,
    )


def _seen_cases(side: RunFigures) -> set[str]:
    """The questions of which a run can say whether they broke: a turn is red, or the judge graded one."""
    graded = side.summary.scores.by_conversation
    seen = {conversation.case.id for conversation in side.results.conversations if conversation.id in graded}
    return seen | {red.case for red in side.summary.red.answers}


def comparison_json(comparison: RunComparison) -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals; judges by name."""
    shown = comparison.model_dump(mode="json", exclude={"update"})
    shown["update"] = comparison.update and comparison.update.as_json()
    shown["judges"] = {row.pop("judge"): row for row in shown["judges"]}
    shown["change"] = comparison.change.as_json()
    shown |= {"regression": comparison.regression, "cannot_tell": comparison.cannot_tell}
    return rounded(shown)  # type: ignore[no-any-return]
