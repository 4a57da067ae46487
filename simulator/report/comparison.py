"""Two runs compared: whether the bot got better and how sure that is, what turned, pair beside pair.

What is compared, how it is tested and what counts as a regression is worked out in `results/comparison.py`;
here it is put in words, in this order: the pair of numbers that every view of a run shows (`change_text`),
what may be said of them, what must not break, what makes the two runs hard to compare, the turns that turned
red with the judge's reason, those that no longer are, and the difference by judge. The page of `diff` has the
conversations of both runs side by side.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from operator import itemgetter

from simulator.core.document import (
    BRIEF,
    EVERYWHERE,
    PAGE,
    TEXT,
    Cell,
    Fact,
    Item,
    Items,
    Line,
    Notes,
    Report,
    Section,
    Table,
    Text,
    Tone,
    brief_reason,
    excerpt,
    page_section,
    points,
)
from simulator.core.messages import Message, _, listed, ngettext, pgettext, safe_text, sentences
from simulator.core.messages import changed as with_changes
from simulator.core.types import Conversation, Language, Turn
from simulator.report.context import change_text, trial_notice
from simulator.report.tables import anchor, answer_text, mark_text, signed_points, turn_text, why
from simulator.report.update import update_headline, update_sections
from simulator.report.verdict import verdict
from simulator.results.comparison import (
    FEWEST_CASES,
    FEWEST_PAIRS,
    JudgeDifference,
    Kind,
    PairedRuns,
    RunComparison,
    TurnChange,
)
from simulator.results.figures import RedTurn, Summary
from simulator.results.findings import Gate
from simulator.results.rows import Key

# Turns that Markdown quotes; the page has more.
_QUOTED = 10
# Colour is for what can be said: a lead that may be chance has none.
_TONES: dict[str, Tone] = {"better": "good", "worse": "alarm"}
# The change itself comes first, what may be said of it follows. A verdict takes both an interval that leaves
# out 0 and a p below 5 %.
_VERDICTS = {
    "better": _("{change}: it got better ({by} points, 95 % interval {low} to {high})."),
    "worse": _("{change}: it got worse ({by} points, 95 % interval {low} to {high})."),
    "no_difference": _(
        "{change}: no clear change, it may be chance ({by} points, 95 % interval {low} to {high})."
    ),
    "equal": _("{change}: it has not changed."),
    "not_enough": _(
        "{change}: not enough data to say whether it got better or worse (questions {cases}, "
        "pairs of conversations {pairs})."
    ),
}
# The same in a cell of the table by judge.
_SHORT = {
    "better": _("better"),
    "worse": _("worse"),
    "no_difference": _("no clear change"),
    "equal": _("unchanged"),
    "not_enough": _("not enough data"),
    "not_comparable": _("other rubric"),
}
# What makes two runs hard to compare, by its kind in `results/comparison.py`; none of it changes the verdict.
_CAUTIONS: dict[Kind, Message] = {
    "unfinished": _("Not finished: {names}"),
    "rubrics": _(
        "Rubric or model of the judge differ from the earlier run: do not take the difference at face"
        " value ({names})."
    ),
    "models": _("Other models than in the earlier run ({names}): not only the bot may move the score."),
    "settings": _("Settings differ from the earlier run: {names}"),
    "questions": _("Pairs whose question is worded differently: {after}."),
    "unpaired": _("Left out: {before} conversations only in the earlier run, {after} only in this one."),
}
# In a report that people act on, how it was worked out stands beside what came of it. Wilcoxon, 1945; Pratt,
# 1959, for pairs without a difference.
_METHOD = _(
    "Of 100, every judge averaged by conversation (in the report judges are averaged by "
    "answer, which differs a little). Conversations about the same question with the "
    "same customer are paired; interval from a bootstrap by question, p from Wilcoxon's "
    "signed-rank test (ties shared, zeros by Pratt's method), judge by judge: of twenty "
    "judges one may seem to have changed by chance. {primary} decides about the score."
)
# In brief, on a terminal, where 25 lines have to do: turns of a kind, and characters of a question.
SHOWN_BRIEFLY, QUESTION = 3, 46
_MORE = _("{n} more on the page.")
# So many pairs are shown with their turns, each text cut to so many characters: the page of two large runs
# still opens at once, and each pair has a link to the whole conversation.
SHOWN_PAIRS, SHOWN_LENGTH = 40, 600

# Whether a conversation was red, and is: what stands before it, how it stands out, and what it is called;
# the worst first.
_CHANGES: dict[tuple[bool, bool], tuple[str, Tone, Message]] = {
    (False, True): ("▲", "alarm", _("now needs review")),
    (True, True): ("△", "strong", _("still needs review")),
    (True, False): ("✓", "good", _("no longer needs review")),
    (False, False): ("·", "strong", _("fine in both runs")),
}


def comparison_report(
    runs: PairedRuns,
    changes: RunComparison,
    language: Language,
    page: str = "",
    *,
    gate: Gate | None = None,
) -> Report:
    """The comparison of two runs, most important first; conversations side by side are for its page.

    `page` is where it is written as a page: beside that of the later run, to which its conversations link.
    `gate` is the later run's own verdict.
    """
    summary = runs.after.summary
    parts = _Parts(changes, summary, language)
    sections = list(parts.verdict())
    if gate and gate.decision:
        line = verdict(gate, trial=summary.trial)
        by_itself = Line(_("The later run by itself: {verdict}", verdict=line))
        sections.append(Section("gate", "", (by_itself,), views=TEXT | BRIEF | PAGE))
    if changes.regression:
        regression = Line(_("Regression (exit code 1)"), "alarm")
        sections.append(Section("regression", "", (regression,), views=TEXT | BRIEF))
    if changes.cannot_tell:
        unknown = Line(_("Cannot tell (exit code 3)"), "alarm")
        sections.append(Section("unknown", "", (unknown,), views=TEXT | BRIEF))
    sections += update_sections(changes.update)
    sections += [*parts.turned(), *parts.differences(), *parts.pairs(runs)]
    sections += page_section(page)
    title = _("Comparison  {before} → {after}", before=changes.before.run, after=changes.after.run)
    return Report(title, language, sections=tuple(sections), wording="rows" if summary.rows else "")


class _Parts:
    """What there is to say about two runs; `summary` is of the later one, which names things."""

    def __init__(self, changes: RunComparison, summary: Summary, language: Language) -> None:
        self.language = language
        self.changes, self.titles, self.rows = changes, summary.titles(language), summary.rows

    def verdict(self) -> Iterator[Section]:
        """Whether the bot got better, what that rests on, and what makes the two hard to compare."""
        notes = Notes.of((*self._below(), *self._guarded(), *self._changed(), *self._cautions()))
        yield Section("verdict", "", (self._headline(), notes), views=EVERYWHERE | BRIEF)

    def _headline(self) -> Line:
        """The verdict on the scores.

        "Score 40 → 71: it got better (+31 points, 95 % interval +12 to +50)." Behind it what people would
        miss in a mean: a question that must not break and did, and judges that fell although the score did
        not.
        """
        row, changes, said = self.changes.score, self.changes, list[Message]()
        tone: Tone = "alarm"
        if not changes.paired:
            said.append(_("No question is left to compare: the references of all are of before the update."))
        elif changes.verdict == "not_comparable" or row is None:
            other_rubric = _(
                "The rubric differs from the earlier run, so the scores cannot be compared. Grade the"
                " earlier run again by the same rubric."
            )
            said.append(other_rubric)
        else:
            said.append(
                _VERDICTS[_verdict_key(row)].format(change=change_text(changes.change), **_figures(row))
            )
            tone = _TONES.get(changes.verdict, "strong")
            judges = [self.titles("judge", name) for name in changes.fallen]
            if judges:
                said.append(_("But these got worse: {judges}.", judges=judges))
            if changes.reds.redder:
                tone = "alarm"
                redder = _(
                    "More questions came to need review ({worse}) than ceased to ({better}), beyond "
                    "chance (p {p})."
                )
                reds = changes.reds
                said.append(redder.format(worse=reds.cases_worse, better=reds.cases_better, p=p_text(reds.p)))
        if late := changes.update and update_headline(changes.update):
            tone = "alarm"
            said.insert(0, late)
        if changes.cannot_tell:
            tone = "alarm"
            said = [*self._cannot_tell(), *said]
        # Second, behind the score: it makes a regression of any run, however much the score rose.
        if changes.broken:
            tone = "alarm"
            said.insert(
                1, _("Questions that must not break, but now need review: {n}.", n=len(changes.broken))
            )
        return Line(sentences(*said), tone)

    def _cannot_tell(self) -> Iterator[Message]:
        """Why a regression may have gone unseen, and what would show it."""
        changes, why = self.changes, list[Message]()
        for run in changes.cut_short:
            stopped = _("{run} stopped after {finished} of {planned} conversations")
            why.append(stopped.format(**run.model_dump()))
        if changes.unseen:
            unseen = _("of {of} questions that must not break, {n} have no grade in the later run")
            why.append(unseen.format(n=len(changes.unseen), of=changes.guarded))
        yield _("Cannot tell whether it got worse: {why:clauses}.", why=tuple(why))
        for run in changes.cut_short:
            yield _("Finish it with: python run.py {words}", words=f"--resume {run.run}")

    def _below(self) -> Iterator[Text | Line]:
        """What follows the headline where nothing can be said: how the runs could be compared."""
        changes = self.changes
        if changes.verdict == "not_comparable" and changes.paired:
            yield _(
                "Grade it again: python run.py grade {run} --again --judges {judges}",
                run=changes.before.run,
                judges=changes.primary,
            )
        if changes.verdict == "not_enough":
            yield _(
                "A verdict takes at least {n} questions and {pairs} pairs of conversations.",
                n=FEWEST_CASES,
                pairs=FEWEST_PAIRS,
            )

    def _changed(self) -> Iterator[Message]:
        """What else than the customers' lines was changed."""
        none = _("none")
        pairs = {
            setting.name: (setting.before or none, setting.after or none) for setting in self.changes.changed
        }
        if pairs:
            what = [_("{name} {before} → {after}", name=n, before=b, after=a) for n, (b, a) in pairs.items()]
            yield _("Changed: {what}", what=what)

    def _guarded(self) -> Iterator[Text | Line]:
        for broken in self.changes.broken:
            text = _("Must not break, but now needs review: {question} ({case})")
            yield Line(text.format(**broken.model_dump(include={"question", "case"})), "alarm")
            if broken.why:
                yield _("→ {why}", why=broken.why)
        unchecked = self.changes.unchecked
        checked = self.changes.guarded - len(unchecked)
        if checked and not self.changes.broken:
            yield Line(_("Questions that must not break: {n}, none of them broke.", n=checked), "good")
        if unchecked:
            text = _("Must-not-break questions that one of the runs does not have: {cases}")
            yield Line(text.format(cases=unchecked), "alarm")

    def _cautions(self) -> Iterator[Line]:
        """What makes the two hard to compare; first of all, that stand-ins judged.

        All are alarms: whoever changed the judge with the bot sees a difference, and not whose it is.
        """
        # The earlier run's figures are no more to be relied on than the later one's.
        if notice := trial_notice(self.changes.after) or trial_notice(self.changes.before):
            yield Line(notice, "alarm")
        for entry in self.changes.cautions:
            group = {"rubrics": "judge", "models": "role"}.get(entry.kind)
            names = tuple(self.titles(group, name) if group else name for name in entry.names)
            caution = _CAUTIONS[entry.kind].format(names=names, before=entry.before, after=entry.after)
            yield Line(caution, "alarm")

    def turned(self) -> Iterator[Section]:
        """The turns that turned red, and those that are no longer red.

        At length with both answers for --verbose and Markdown; in brief three turns with the judge's reason,
        and of those that were fixed the questions alone.
        """
        red = [self._turn(change, "▲") for change in self.changes.turned_red]
        green = [self._turn(change, "✓") for change in self.changes.turned_green]
        to_red = ngettext("Now needs review ({n} answer)", "Now need review ({n} answers)", n=len(red))
        to_green = ngettext(
            "No longer needs review ({n} answer)", "No longer need review ({n} answers)", n=len(green)
        )
        for key, title, items in (("turned_red", to_red, red), ("turned_green", to_green, green)):
            block = Items.first(_QUOTED, items, _MORE) if items else Line(_("None."), "soft")
            yield Section(key, title, (block,), views=TEXT, folded=True)
        reasons = (
            Item(
                _(
                    "{where}: {question}",
                    where=self._where(change),
                    question=excerpt(change.question, QUESTION),
                ),
                (Fact("", brief_reason(change.why_after, self.language)),),
            )
            for change in self.changes.turned_red
        )
        yield Section("turned_red", to_red, (Items.first(SHOWN_BRIEFLY, reasons, _MORE),), views=BRIEF)
        cases = list(dict.fromkeys(change.case for change in self.changes.turned_green))
        fixed = (Line(_("Questions: {cases}", cases=listed(cases, SHOWN_BRIEFLY))),) if cases else ()
        yield Section("turned_green", to_green, fixed, views=BRIEF)

    def _where(self, change: TurnChange) -> Message:
        where = turn_text((change.persona, *change.others), change.case, change.turn, self.titles)
        where = _("{where}  [must not break]", where=where) if change.guarded else where
        return _("{where}  [disputed]", where=where) if change.disputed else where

    def _turn(self, change: TurnChange, marker: str) -> Item:
        """One turn in both runs: the question, both answers, and the judge's reason for what was red.

        `marker` is ▲ where the later run is red, ✓ where the earlier one was.
        """
        # Why it was red stands on the side that is red.
        silent, is_red = _("(no answer)"), marker == "▲"
        why_before, why_after = ("", change.why_after) if is_red else (change.why_before, "")
        before = Fact(_("Before"), change.before or silent, (why_before,) if why_before else ())
        now = Fact(_("Now"), change.after or silent, (why_after,) if why_after else ())
        question = Fact(pgettext("who speaks", "Customer"), change.question)
        tone: Tone = "soft" if change.disputed else "strong"
        return Item(self._where(change), (question,), tone, marker, ((before, now),))

    def differences(self) -> Iterator[Section]:
        """The difference by judge, and how many turns changed colour."""
        changes, reds = self.changes, self.changes.reds
        counts = {"red": reds.turned_red, "green": reds.turned_green, "still": reds.still_red}
        turns = _(
            "Answers compared: {n}; now to review {red}, no longer to review {green}, still to "
            "review {still}. These are first answers, and those to the same message in both runs.",
            n=sum(counts.values()) + reds.still_green,
            **counts,
        )
        cases = _(
            "Questions with more answers to review {worse}, with fewer {better} (McNemar's test, p {p}).",
            worse=reds.cases_worse,
            better=reds.cases_better,
            p=p_text(reds.p),
        )
        method = _METHOD.format(primary=self.titles("judge", changes.primary))
        notes = Notes.of((turns, cases, method), "soft").lines
        judges = Table.listing(
            "judges",
            changes.judges,
            {  # the verdict first: on a telephone only the first columns are in sight
                _("Judge"): lambda row: self.titles("judge", row.judge),
                _("Verdict"): lambda row: Cell(
                    text=_SHORT[_verdict_key(row)],
                    tone=_TONES.get(row.verdict, ""),
                ),
                _("Before"): lambda row: points(row.before),
                _("Now"): lambda row: points(row.after),
                _("Diff."): lambda row: signed_points(row.difference),
                _("95 % interval"): lambda row: between(row.interval),
                _("p"): lambda row: p_text(row.p).removeprefix("= "),
                _("pairs"): lambda row: row.pairs,
            },
            words=frozenset({1}),
        )
        yield Section("difference", _("Difference by judge"), (judges, *notes))

    def pairs(self, runs: PairedRuns) -> Iterator[Section]:
        """What became of the conversations that both runs have: in figures, then those that changed.

        Listed are those with more or fewer red turns, or a score that moved by half a point or more; what
        turned red comes first, in each colour what fell most.
        """
        before, after, columns = runs.before, runs.after, ("", _("Before"), _("Now"))
        rows: tuple[tuple[Text, ...], ...] = (
            (_("Questions needing review"), *(f"{n:,}" for n in self.changes.change.questions)),
            (_("Score"), *map(points, self.changes.change.score)),
            (
                _("Answers to review"),
                *(f"{s.red.count:,} / {s.turns:,}" for s in (before.summary, after.summary)),
            ),
            (_("Of these disputed"), *(f"{s.red.disputed:,}" for s in (before.summary, after.summary))),
        )
        # Entries with the place at which they stand: by colour, then by how much the score fell.
        numbers, items, order = Counter[tuple[bool, bool]](), [], list(_CHANGES)
        was, became = (side.summary.scores.by_conversation for side in (before, after))
        # The page of the later run has them under their number in its plan.
        places = {key: anchor(at) for at, key in enumerate(after.results.conversations.ids, 1)}
        for earlier, later in ((runs.earlier[key], runs.later[key]) for key in runs.both):
            both = zip((earlier, later), runs.reds, strict=True)
            red, now = (sum((talk.id, turn.index) in reds for turn in talk.turns) for talk, reds in both)
            scores, change = (was.get(earlier.id), became.get(later.id)), (red > 0, now > 0)
            by = None if scores[0] is None or scores[1] is None else scores[1] - scores[0]
            numbers[change] += 1
            if red != now or abs(by or 0.0) >= 0.005:
                mark, tone, text = _CHANGES[change]
                head = _(
                    "{change} · {before} → {after} ({by}) · {who} · {question}",
                    change=text,
                    before=points(scores[0]),
                    after=points(scores[1]),
                    by=signed_points(by),
                    who=later.case.id if self.rows else self.titles("persona", later.persona),
                    question=later.case.question,
                )
                sides = tuple(
                    (
                        _side(_("Before"), at, earlier, first, runs.reds[0]),
                        _side(_("Now"), at, later, second, runs.reds[1]),
                    )
                    for at, (first, second) in enumerate(zip_longest(earlier.turns, later.turns), 1)
                )
                link = (_("Read it →"), f"report.html#{places[later.id]}")
                place = order.index(change), by or 0.0
                items.append((place, Item(head, tone=tone, marker=mark, sides=sides, link=link)))
        counts = [
            _("{mark} {change}: {n}", mark=mark, change=text, n=numbers[change])
            for change, (mark, _tone, text) in _CHANGES.items()
        ]
        paired = Line(_("Pairs of the same question and customer: {n}.", n=numbers.total()), "soft")
        blocks = (Table.of("runs", columns, rows), Line(_("{parts}", parts=counts)), paired)
        yield Section("compare", _("What changed"), blocks, views=PAGE)
        if items:
            changed = (item for _place, item in sorted(items, key=itemgetter(0)))
            shown = Items.first(SHOWN_PAIRS, changed, _("Further pairs that changed: {n}."), folded=True)
            yield Section("pairs", _("Pairs that changed: {n}", n=len(items)), (shown,), views=PAGE)


def _verdict_key(row: JudgeDifference) -> str:
    """The key of the verdict's text: `equal` where no pair of conversations differs."""
    return "equal" if row.interval == (0, 0) else row.verdict


def _figures(row: JudgeDifference) -> dict[str, object]:
    """The values of a sentence on a difference."""
    low, high = map(signed_points, row.interval) if row.interval else ("–", "–")
    return {
        "by": signed_points(row.difference),
        "low": low,
        "high": high,
        "pairs": row.pairs,
        "cases": row.cases,
    }


def between(interval: tuple[float, float] | None) -> str:
    """An interval of a difference: '−1.2 … +4'."""
    return " … ".join(map(signed_points, interval)) if interval else "–"


def p_text(p: float | None) -> str:
    """A p value in two or three decimals: 0.0004 -> "< 0.001", 0.0123 -> "= 0.012", 0.3 -> "= 0.30"."""
    return "–" if p is None else "< 0.001" if p < 0.001 else f"= {p:.3f}" if p < 0.1 else f"= {p:.2f}"


def _side(run: Message, at: int, talk: Conversation, turn: Turn | None, reds: Mapping[Key, RedTurn]) -> Fact:
    """One turn of one run: what was asked, the answer, and what is wrong with it."""
    name = _("{run} · Answer {n}", run=run, n=at)
    if turn is None:
        return Fact(name, _("(the conversation was over)"))
    red = reds.get((talk.id, turn.index))
    answer = with_changes(answer_text(turn, red.failure if red else None), _short)
    text = _("Customer: {line}\n\n{answer}", line=_short(turn.user), answer=answer)
    if red is None:
        return Fact(name, text)
    reason = with_changes(why(red, turn), _short)
    return Fact(name, text, (_("{mark}: {why}", mark=mark_text(red), why=reason),))


def _short(text: str) -> str:
    text = safe_text(text)
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH].rstrip() + "…"
