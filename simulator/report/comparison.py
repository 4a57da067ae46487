"""The comparison of two runs as a report: whether the bot got better, how sure that is, and what turned."""

from collections.abc import Iterator, Sequence
from math import ceil

from simulator.core.document import (
    TERMINAL,
    TEXT,
    Block,
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
    View,
    page_section,
    points,
)
from simulator.core.messages import Message, _, ngettext, pgettext, sentences
from simulator.core.titles import Titles
from simulator.core.types import Language, Run
from simulator.diagnosis.recommendations import Example
from simulator.report.context import STAND_INS
from simulator.stats.comparison import (
    FEWEST_CASES,
    FEWEST_PAIRS,
    Difference,
    GroupComparison,
    Kind,
    RunComparison,
    TurnChange,
    is_regression,
)
from simulator.stats.figures import RedTurn, Summary
from simulator.storage.runs import replay_of

# Turns that are quoted; the page has more.
_QUOTED: tuple[tuple[frozenset[View], int], ...] = ((TERMINAL, 5), (TEXT - TERMINAL, 10))
_TONES: dict[str, Tone] = {"better": "good", "worse": "alarm"}
_VERDICTS = {
    "better": _("It got better: score {was} → {now} ({by} points, 95 % interval {low} to {high})."),
    "worse": _("It got worse: score {was} → {now} ({by} points, 95 % interval {low} to {high})."),
    "no_difference": _(
        "Neither better nor worse can be said: no difference larger than {larger} points"
        " (score {was} → {now}, {by})."
    ),
    "leaning_up": _(
        "It seems to have gone up, but chance is not ruled out (cases that changed: {moved}, p = {p}):"
        " score {was} → {now} ({by} points, 95 % interval {low} to {high})."
    ),
    "leaning_down": _(
        "It seems to have gone down, but chance is not ruled out (cases that changed: {moved}, p = {p}):"
        " score {was} → {now} ({by} points, 95 % interval {low} to {high})."
    ),
    "equal": _("The score has not changed ({was} → {now})."),
    "not_enough": _(
        "Not enough data to say whether it got better or worse: cases {cases}, pairs of conversations"
        " {pairs} (score {was} → {now})."
    ),
}
_SHORT = {
    "better": _("better"),
    "worse": _("worse"),
    "no_difference": _("within ±{larger}"),
    "leaning_up": _("perhaps up"),
    "leaning_down": _("perhaps down"),
    "equal": _("unchanged"),
    "not_enough": _("not enough data"),
    "not_comparable": _("other rubric"),
}
_CAUTIONS: dict[Kind, Message] = {
    "same_run": _("A run is compared with itself: {names}"),
    "unfinished": _("Not finished: {names}"),
    "rubrics": _(
        "Rubric or model of the judge differ from the earlier run: do not take the difference at face"
        " value ({names})."
    ),
    "models": _("Other models than in the earlier run ({names}): not only the bot may move the score."),
    "prompt_text": _(
        "The words of the prompt changed, its version did not: raise `version` in its file ({names})."
    ),
    "prompt_version": _("The version of the prompt changed, its words did not ({names})."),
    "customers": _("The customers were told to speak otherwise than in the earlier run."),
    "settings": _("Settings differ from the earlier run: {names}"),
    "rules": _("The rules for red differ; both runs are shown by those of the later one."),
    "questions": _("Pairs whose question is worded differently: {after}."),
    "unpaired": _("Left out: {before} conversations only in the earlier run, {after} only in this one."),
}
_METHOD = _(
    "Of 100, every judge averaged by conversation (in the report judges are averaged by turn, which differs"
    " a little). Conversations of the same case and customer are paired; interval from a bootstrap by case,"
    " p from Wilcoxon's signed-rank test (ties shared, zeros by Pratt's method). {primary} decides about the"
    " score: it is tested first and alone, its p not corrected. The p of the others is corrected by Holm's"
    " method, and doubled as long as {primary} cannot be said to have changed."
)


def comparison_report(changes: RunComparison, summary: Summary, language: Language, page: str = "") -> Report:
    """The comparison, most important first; `summary` is of the later run.

    `page` is where it was written as a page.
    """
    parts = ComparisonParts(changes, summary, language)
    sections = [Section("verdict", "", parts.verdict())]
    if changes.regression:
        regression = Line(_("Regression (exit code 1)"), "alarm")
        sections.append(Section("regression", "", (regression,), views=TEXT))
    sections += [*parts.turned(), parts.judges(), *parts.groups(), *parts.beside(), *page_section(page)]
    title = _("Comparison  {before} → {after}", before=changes.before.run, after=changes.after.run)
    return Report(title, language, sections=tuple(sections), wording="rows" if summary.rows else "")


class ComparisonParts:
    """What there is to say about two runs; `summary` is of the later one."""

    def __init__(self, changes: RunComparison, summary: Summary, language: Language) -> None:
        self.changes, self.titles, self.rows = changes, summary.titles(language), summary.rows

    def verdict(self) -> tuple[Block, ...]:
        """Whether the bot got better, what that rests on, and what makes the two hard to compare."""
        headline, broken = self._verdict(), len(self.changes.broken)
        if broken:
            first = _("Questions that must not break, but turned red: {n}.", n=broken)
            headline = Line(sentences(first, headline.text), "alarm")
        return headline, Notes.of((*self._below(), *self._cautions()))

    def _verdict(self) -> Line:
        """The verdict on the scores."""
        row, changes = self.changes.score, self.changes
        if changes.verdict == "not_comparable" or row is None:
            other = _(
                "The rubric differs from the earlier run, so the scores cannot be compared. Grade the"
                " earlier run again by the same rubric."
            )
            return Line(other, "alarm")
        verdict = _VERDICTS[_verdict_key(row)].format(**_figures(row))
        tone = _TONES.get(changes.verdict, "strong")
        if not changes.fallen:
            return Line(verdict, tone)
        judges = [self.titles("judge", name) for name in changes.fallen]
        if is_regression(changes.judges, changes.verdict, redder=changes.reds.redder):
            return Line(sentences(verdict, _("But these got worse: {judges}.", judges=judges)), "alarm")
        fell = _(
            "But these fell: {judges}. No more questions turned red than green, so that alone is no"
            " regression.",
            judges=judges,
        )
        return Line(sentences(verdict, fell), tone)

    def _below(self) -> Iterator[Text | Line]:
        """What follows the headline: how many cases are missing, guarded questions, what was compared."""
        changes, row = self.changes, self.changes.score
        if changes.verdict == "not_comparable":
            yield _(
                "Grade it again: python run.py grade {run} --again --judges {judges}",
                run=changes.before.run,
                judges=changes.primary,
            )
        if changes.verdict == "not_enough":
            yield ngettext(
                "A verdict takes at least {n} case and {pairs} pairs of conversations.",
                "A verdict takes at least {n} cases and {pairs} pairs of conversations.",
                n=FEWEST_CASES,
                pairs=FEWEST_PAIRS,
            )
        if row and row.more and changes.verdict in ("not_enough", "no_difference"):
            yield _(
                "To see a difference of 5 points it takes about {n} new questions ({conversations}"
                " conversations).",
                n=row.more,
                conversations=ceil(row.more * changes.paired / row.cases),
            )
        yield from self._guarded()
        if origin := changes.after.replay_of:
            yield _("This run is a replay of {run} (the customers say the same).", run=origin)
        if changes.replayed or changes.same_lines == changes.lines:
            yield ngettext(
                "The same customer lines on {same} of {n} turn.",
                "The same customer lines on {same} of {n} turns.",
                same=changes.same_lines,
                n=changes.lines,
            )
        else:
            yield _(
                "Free conversations: from turn 2 on the lines differ. Turns are compared where the customer"
                " said the same or first spoke: {turns}.",
                turns=_compared_turns(changes),
            )
        none = _("none")
        pairs = {each.name: (each.before or none, each.after or none) for each in changes.changed}
        if pairs:
            what = [_("{name} {before} → {after}", name=n, before=b, after=a) for n, (b, a) in pairs.items()]
            yield _("Changed: {what}", what=what)

    def _guarded(self) -> Iterator[Text | Line]:
        for broken in self.changes.broken:
            question = _(
                "Must not break, but turned red: {question} ({case})",
                question=broken.question,
                case=broken.case,
            )
            yield Line(question, "alarm")
            if broken.why:
                yield _("→ {why}", why=broken.why)
        unchecked = self.changes.unchecked
        checked = self.changes.guarded - len(unchecked)
        if checked and not self.changes.broken:
            yield Line(_("Cases that must not break: {n}, none of them broke.", n=checked), "good")
        if unchecked:
            unknown = _(
                "Must not break, but in one of the runs only, so nobody knows: {cases}", cases=unchecked
            )
            yield Line(unknown, "alarm")

    def _cautions(self) -> Iterator[Line]:
        """What makes the two hard to compare; first of all, that stand-ins judged."""
        if self.changes.after.offline:
            yield Line(STAND_INS, "alarm")
        for each in self.changes.cautions:
            group = {"rubrics": "judge", "models": "role"}.get(each.kind)
            names = tuple(self.titles(group, name) if group else name for name in each.names)
            caution = _CAUTIONS[each.kind].format(names=names, before=each.before, after=each.after)
            yield Line(caution, "alarm")

    def turned(self) -> Iterator[Section]:
        """The turns that turned red, and those that are no longer red."""
        red = [self._turn(each, "▲", why_after=each.why_after) for each in self.changes.turned_red]
        green = [self._turn(each, "✓", why_before=each.why_before) for each in self.changes.turned_green]
        to_red = ngettext("Turned red ({n} turn)", "Turned red ({n} turns)", n=len(red))
        to_green = ngettext("No longer red ({n} turn)", "No longer red ({n} turns)", n=len(green))
        for views, most in _QUOTED:
            for key, title, items in (("turned_red", to_red, red), ("turned_green", to_green, green)):
                more = _("{n} more are on the page.", n=len(items) - most) if len(items) > most else ""
                block = Items(tuple(items[:most]), more) if items else Line(_("None."), "soft")
                yield Section(key, title, (block,), views=views, folded=True)

    def _turn(self, each: TurnChange, marker: str, why_before: str = "", why_after: str = "") -> Item:
        """One turn in both runs: the question, both answers, and the judge's reason for what was red."""
        where, silent = turn_text(each, self.titles), _("(no answer)")
        before = Fact(_("Before"), each.before or silent, (why_before,) if why_before else ())
        now = Fact(_("Now"), each.after or silent, (why_after,) if why_after else ())
        return Item(
            _("{where}  [must not break]", where=where) if each.guarded else where,
            facts=(Fact(pgettext("who speaks", "Customer"), each.question),),
            tone="strong",
            marker=marker,
            sides=((before, now),),
        )

    def judges(self) -> Section:
        """The difference by judge, how many turns turned, and how it was tested."""
        reds = self.changes.reds
        columns = (
            _("Judge"), _("Verdict"), _("Before"), _("Now"), _("Diff."), _("95 % interval"),
            _("p (corrected)"), _("pairs"),
        )  # fmt: skip
        turns = ngettext(
            "Of {n} turn compared: turned red {red}, no longer red {green}, still red {still}.",
            "Of {n} turns compared: turned red {red}, no longer red {green}, still red {still}.",
            n=_compared_turns(self.changes),
            red=reds.turned_red,
            green=reds.turned_green,
            still=reds.still_red,
        )
        cases = _(
            "Cases with more red turns {worse}, with fewer {better} (McNemar's test, p = {p}).",
            worse=reds.cases_worse,
            better=reds.cases_better,
            p=p_text(reds.p),
        )
        method = _METHOD.format(primary=self.titles("judge", self.changes.primary))
        notes = Notes.of((turns, cases, method), "soft").lines
        rows = map(self._judge, self.changes.judges)
        table = Table.of("judges", columns, rows, words=frozenset({1}))
        return Section("difference", _("Difference by judge"), (table, *notes))

    def _judge(self, row: Difference) -> tuple[Cell | Text, ...]:
        """The verdict first: on a telephone only the first columns are in sight."""
        verdict = _SHORT[_verdict_key(row)].format(larger=largest(row.larger))
        return (
            self.titles("judge", row.judge),
            Cell(text=verdict, tone=_TONES.get(row.verdict, "")),
            points(row.before),
            points(row.after),
            signed(row.difference),
            between(row.interval),
            p_text(row.p_holm),
            f"{row.pairs:,}",
        )

    def groups(self) -> Iterator[Section]:
        """The difference by persona, which rows of a data set do not have, and by tag."""
        personas = () if self.rows else self.changes.personas
        names = [self.titles("persona", each.name) for each in personas]
        tags = self.changes.tags
        tables = (_groups(_("Customer"), names, personas), _groups(_("Tag"), [t.name for t in tags], tags))
        if blocks := tuple(table for table in tables if table.rows):
            yield Section("groups", _("Where it changed (not tested)"), blocks, folded=True)

    def beside(self) -> Iterator[Section]:
        """A line for the replay and one for the free run of the new version, where both exist."""
        other = self.changes.beside
        if other is None:
            return
        own = _beside(not other.replay, self.changes.score, self.changes.after.run)
        lines = [own, _beside(other.replay, other.difference, other.run)]
        notes = Notes.of(reversed(lines) if other.replay else lines)
        yield Section("beside", _("Replay and free conversations"), (notes,))


def turn_text(turn: TurnChange | RedTurn | Example, titles: Titles) -> Message:
    """Which turn it is: customer, case and number; of a row only the case is shown."""
    persona = titles("persona", turn.persona)
    return _("{persona} · {case} · turn {turn}", persona=persona, case=turn.case, turn=turn.turn)


def _groups(title: Text, names: Sequence[Text], groups: Sequence[GroupComparison]) -> Table:
    rows = (
        (
            name,
            each.pairs,
            signed(each.difference),
            between(each.interval),
            each.turned_red,
            each.turned_green,
        )
        for name, each in zip(names, groups, strict=True)
    )
    columns = (title, _("pairs"), _("Diff."), _("95 % interval"), _("to red"), _("fixed"))
    return Table.of("groups", columns, rows)


def _compared_turns(changes: RunComparison) -> int:
    reds = changes.reds
    return reds.turned_red + reds.turned_green + reds.still_red + reds.still_green


def _beside(replay: bool, row: Difference | None, run: str) -> Message:
    kind = _("Replay (same lines)") if replay else _("Free conversations")
    if row is None or row.verdict == "not_comparable":
        return _("{kind}: cannot be compared  {run}", kind=kind, run=run)
    figures = _figures(row) | {"kind": kind, "run": run}
    if row.interval is None:
        return _("{kind}: {was} → {now} ({by} points, not enough data)  {run}", **figures)
    return _("{kind}: {was} → {now} ({by} points, 95 % interval {low} to {high})  {run}", **figures)


def _verdict_key(row: Difference) -> str:
    """The key of the verdict's text: `equal` if nothing changed, `leaning_...` if it may be chance."""
    if row.verdict == "no_difference" and not row.larger:
        return "equal"
    return f"leaning_{row.leaning}" if row.leaning else row.verdict


def _figures(row: Difference) -> dict[str, object]:
    """The values of a sentence on a difference."""
    return {
        "was": points(row.before),
        "now": points(row.after),
        "by": signed(row.difference),
        "larger": largest(row.larger),
        "pairs": row.pairs,
        "cases": row.cases,
        "moved": row.moved,
        "p": p_text(row.p_holm),
        **ends(row.interval),
    }


def replay_note(run: Run) -> Message | None:
    """That a run replays another one; None for a run of its own."""
    origin = replay_of(run)
    return (
        _("This run replays {run}: the customers say what they said there.", run=origin) if origin else None
    )


def signed(value: float | None) -> str:
    """A difference (0..1) on the scale to 100 with its sign: '+9.2', '−3', '±0'."""
    if value is None:
        return "–"
    text = f"{100 * value:+.1f}".removesuffix(".0")
    return "±0" if not text.strip("+-0.") else text.replace("-", "−")


def between(interval: tuple[float, float] | None) -> str:
    """An interval of a difference: '−1.2 … +4'."""
    return " … ".join(map(signed, interval)) if interval else "–"


def ends(interval: tuple[float, float] | None) -> dict[str, str]:
    """Both ends of an interval, as variables of a text."""
    low, high = map(signed, interval) if interval else ("–", "–")
    return {"low": low, "high": high}


def largest(larger: float | None) -> str:
    """The largest difference that the data allow, without a sign."""
    return signed(larger).lstrip("+±") if larger is not None else "–"


def p_text(p: float | None) -> str:
    """A p value in two or three decimals."""
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
