"""Two runs compared, in words: whether the bot got better, and the conversations that turned, side by side.

What is compared, how it is tested and what counts as a regression is worked out in `results/comparison.py`.
The first section answers; behind it stand what an update of the articles moved, the conversations that
turned with the judge's reason, and the difference by judge.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

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
from simulator.core.messages import Message, _, listed, safe_text, sentences
from simulator.core.messages import changed as with_changes
from simulator.core.titles import Titles
from simulator.core.types import Language, Turn
from simulator.report.context import NOTHING_LEFT, change_text, trial_notice
from simulator.report.gate import verdict
from simulator.report.tables import anchor, answer_text, mark_text, signed_points, turn_text, why
from simulator.report.update import MORE, update_headline, update_sections
from simulator.results.comparison import FAR, FEWEST_CASES, Apart, JudgeDifference, RunComparison, TalkPair
from simulator.results.figures import RedTurn
from simulator.results.gate import Gate

# What is said of a score, in the first line and in the table by judge, and how it stands out: colour is for
# what can be said, a lead that may be chance has none.
_VERDICTS: Mapping[str, tuple[Message, Tone]] = {
    "better": (_("better"), "good"),
    "worse": (_("worse"), "alarm"),
    "no_difference": (_("no clear change"), ""),
    "equal": (_("unchanged"), ""),
    "not_enough": (_("not enough data"), ""),
    "not_comparable": (_("other rubric"), ""),
}
# In a report that people act on, what the figures mean stands beside them; docs/validation.md names the test.
_METHOD = _(
    "Of 100, every judge averaged by conversation (in the report judges are averaged by answer, which differs"
    " a little). Conversations about the same question with the same customer are paired. The interval says"
    " where the difference may lie with other questions, and p how often chance alone brings such a one,"
    " judge by judge: of twenty judges one may seem to have changed by chance. {primary} decides about the"
    " score."
)
# So many conversations are shown: after a run, elsewhere as text, and on the page, which opens at once also
# of two large runs and links to the whole of each. Each text is cut to so many characters.
_BRIEFLY, _QUOTED, _ON_PAGE, _LENGTH = 3, 10, 40, 600
# So many that did not turn are shown each way, and so many questions named that count on neither side.
_MOVED, _NAMED = 5, 10
# Why these count on neither side.
_APART: Mapping[Apart, Message] = {
    "changed": _("{n} with another reference answer, expectation or mark than before ({cases})"),
    "outdated": _("{n} with a reference answer of before the update ({cases})"),
}
# Characters of a question on a terminal, where 25 lines have to do.
_QUESTION = 46


def comparison_report(
    compared: RunComparison, language: Language, page: str = "", *, gate: Gate | None = None
) -> Report:
    """The comparison of two runs, most important first.

    `page` is where it is written as a page: beside that of the later run, to which its conversations link.
    `gate` is the later run's own verdict.
    """
    before, after = compared.ids
    summary = compared.after.summary
    titles = summary.titles(language)
    notes = Notes.of(
        (
            *_apart(compared),
            *_guarded(compared),
            *_few(compared),
            *_changed(compared),
            *_cautions(compared, titles),
        )
    )
    sections = (
        Section("verdict", "", (_headline(compared, titles), notes), views=EVERYWHERE | BRIEF),
        *_outcome(compared, gate),
        *update_sections(compared.update),
        _counts(compared),
        *_turned(compared, titles, language, now=True),
        *_turned(compared, titles, language, now=False),
        *_moved(compared, titles),
        _differences(compared, titles),
        *page_section(page),
    )
    title = _("Comparison  {before} → {after}", before=before, after=after)
    return Report(title, language, sections=sections, wording="rows" if summary.rows else "")


# --- the verdict, and what makes the two hard to compare ---


def _headline(compared: RunComparison, titles: Titles) -> Line:
    """The verdict on the score, and what people would miss in a mean.

    "Questions needing review 25 → 20, score 40 → 71: better (+31 points, 95 % interval +12 to +50)." Before
    it stand reasons to doubt it, behind it questions that broke, and judges and answers that fell although
    the score did not.
    """
    said = [*_cannot_tell(compared)]
    if late := compared.update and update_headline(compared.update):
        said.append(late)
    said.append(_about_score(compared, titles))
    if broken := compared.broken:
        said.append(_("Questions that must not break, but now need review: {n}.", n=len(broken)))
    is_comparable = compared.verdict != "not_comparable"
    if is_comparable and compared.fallen:
        judges = [titles("judge", name) for name in compared.fallen]
        said.append(_("But these got worse: {judges}.", judges=judges))
    if is_comparable and compared.reds.redder:
        redder = _(
            "More questions came to need review ({worse}) than ceased to ({better}), beyond chance (p {p})."
        )
        reds = compared.reds
        said.append(redder.format(worse=reds.cases_worse, better=reds.cases_better, p=p_text(reds.p)))
    tone = _VERDICTS[compared.verdict][1] or "strong"
    is_alarm = compared.regression or compared.cannot_tell or not is_comparable
    return Line(sentences(*said), "alarm" if is_alarm else tone)


def _about_score(compared: RunComparison, titles: Titles) -> Message:
    if compared.apart and not compared.pairs:
        return NOTHING_LEFT
    row = compared.score
    if row is None or row.verdict == "not_comparable":
        return _(
            "The scores cannot be compared: {judge} did not grade both runs by the same rubric and model."
            " Grade the earlier run again: python run.py grade {run} --again --judges {name}",
            judge=titles("judge", compared.primary),
            run=compared.ids[0],
            name=compared.primary,
        )
    change, key = change_text(compared.change), _verdict_key(row)
    word = _VERDICTS[key][0]
    if key == "equal":
        return _("{change}: {verdict}.", change=change, verdict=word)
    if row.verdict == "not_enough":
        return _(
            "{change}: {verdict}. A verdict takes at least {least} questions; both runs have {n}.",
            change=change,
            verdict=word,
            least=FEWEST_CASES,
            n=row.cases,
        )
    return _(
        "{change}: {verdict} ({by} points, 95 % interval {interval}).",
        change=change,
        verdict=word,
        by=signed_points(row.difference),
        interval=_interval(row),
    )


def _cannot_tell(compared: RunComparison) -> Iterator[Message]:
    """Why a regression may have gone unseen, and what would show it."""
    if not compared.cannot_tell:
        return
    reasons = [
        _("{run} stopped after {finished} of {planned} conversations", **run._asdict())
        for run in compared.cut_short
    ]
    if unseen := compared.unseen:
        text = _("of {of} questions that must not break, {n} have no grade in the later run")
        reasons.append(text.format(n=len(unseen), of=len(compared.guarded)))
    if reasons:
        yield _("Cannot tell whether it got worse: {why:clauses}.", why=tuple(reasons))
    else:
        yield _("Cannot tell whether it got worse.")
    for run in compared.cut_short:
        yield _("Finish it with: python run.py {words}", words=f"--resume {run.run}")


def _apart(compared: RunComparison) -> Iterator[Line]:
    """The questions that count on neither side, and why."""
    kinds = []
    for kind, text in _APART.items():
        if ids := [case for case, why in compared.apart.items() if why == kind]:
            kinds.append(text.format(n=len(ids), cases=listed(ids, _NAMED)))
    if kinds:
        yield Line(_("Questions that count on neither side: {kinds}.", kinds=kinds), "alarm")
    if cases := compared.guarded_apart:
        yield Line(_("Must-not-break questions among them: {cases}", cases=listed(cases, _NAMED)), "alarm")


def _few(compared: RunComparison) -> Iterator[Message]:
    """That few questions decide little, where nothing clear came of them and the interval is wide."""
    row = compared.score
    if row and row.verdict == "no_difference" and row.cases_needed > row.cases:
        yield _(
            "{n} questions decide little, about {needed} would show a change of {points} points. Tag what"
            " must not go wrong must-not-break.",
            n=row.cases,
            points=points(FAR),
            needed=row.cases_needed,
        )


def _guarded(compared: RunComparison) -> Iterator[Text | Line]:
    """What became of the questions that must not break."""
    for broken in compared.broken:
        text = _("Must not break, but now needs review: {question} ({case})")
        yield Line(text.format(question=broken.question, case=broken.case), "alarm")
        if broken.why:
            yield _("→ {why}", why=broken.why)
        yield _("Before: {answer}", answer=broken.before or _("needed no review"))
    unchecked = compared.unchecked
    checked = len(compared.guarded) - len(unchecked)
    if checked and not compared.broken:
        yield Line(_("Questions that must not break: {n}, none of them broke.", n=checked), "good")
    if unchecked:
        text = _("Must-not-break questions that one of the runs does not have: {cases}")
        yield Line(text.format(cases=unchecked), "alarm")


def _changed(compared: RunComparison) -> Iterator[Message]:
    """What is known to be another in the bot."""
    none = _("none")
    what = [
        _("{name} {before} → {after}", name=name, before=was or none, after=now or none)
        for name, (was, now) in compared.changed.items()
    ]
    if what:
        yield _("Changed: {what}", what=what)


def _cautions(compared: RunComparison, titles: Titles) -> Iterator[Line]:
    """What makes the two hard to compare; first of all, that stand-ins judged.

    All are alarms: whoever changed the judge with the bot sees a difference, and not whose it is.
    """
    # The earlier run's figures are no more to be relied on than the later one's.
    if notice := trial_notice(compared.after.summary) or trial_notice(compared.before.summary):
        yield Line(notice, "alarm")
    groups = {"judges": "judge", "models": "role", "settings": "", "questions": ""}
    differing = [
        titles(groups[kind], name) if groups[kind] else name
        for kind, names in compared.differing.items()
        for name in names
    ]
    if differing:
        text = _("Not only the bot differs from the earlier run: {names}. The score may have moved by that.")
        yield Line(text.format(names=listed(differing, 10)), "alarm")
    if any(compared.unpaired):
        before, after = compared.unpaired
        text = _("Left out: {before} conversations only in the earlier run, {after} only in this one.")
        yield Line(text.format(before=before, after=after), "alarm")
    if compared.cut_short and not compared.cannot_tell:
        names = tuple(run.run for run in compared.cut_short)
        yield Line(_("Not finished: {names}", names=names), "alarm")


def _outcome(compared: RunComparison, gate: Gate | None) -> Iterator[Section]:
    """The later run's own verdict, and the exit code."""
    if gate and gate.decision:
        line = verdict(gate, trial=compared.after.summary.trial)
        by_itself = Line(_("The later run by itself: {verdict}", verdict=line))
        yield Section("gate", "", (by_itself,), views=TEXT | BRIEF | PAGE)
    if compared.regression or compared.cannot_tell:
        code = _("Regression (exit code 1)") if compared.regression else _("Cannot tell (exit code 3)")
        yield Section("outcome", "", (Line(code, "alarm"),), views=TEXT | BRIEF)


# --- the conversations that turned ---


def _counts(compared: RunComparison) -> Section:
    """How many of the conversations that both runs have need review, before and now."""
    reds = compared.reds
    line = _(
        "▲ now need review: {red}, ✓ no longer: {green}, still: {still}, fine in both runs: {fine}",
        red=reds.turned_red,
        green=reds.turned_green,
        still=reds.still_red,
        fine=reds.still_green,
    )
    pairs = _("Pairs of the same question and customer: {n}.", n=len(compared.pairs))
    blocks = Line(line, "strong"), Line(pairs, "soft")
    return Section("pairs", _("What changed"), blocks, views=EVERYWHERE | BRIEF)


def _turned(compared: RunComparison, titles: Titles, language: Language, *, now: bool) -> Iterator[Section]:
    """The conversations that need review `now`, or that no longer do; nothing without any.

    As text they are shown with the turn to look at, on the page with all turns.
    """
    pairs = compared.turned_red if now else compared.turned_green
    if not pairs:
        return
    key, title = "turned_green", _("Conversations that no longer need review ({n})", n=len(pairs))
    if now:
        key, title = "turned_red", _("Conversations that now need review ({n})", n=len(pairs))
    marker = "▲" if now else "✓"
    brief, quoted, items = [], [], []
    # The page of the later run has them under their number in its plan.
    places = {id_: anchor(at) for at, id_ in enumerate(compared.after.results.conversations.ids, 1)}
    for at, pair in enumerate(pairs[:_ON_PAGE]):
        head, question = _where(pair, compared, titles), pair.later.case.question
        if at < _BRIEFLY:
            short = _("{where}: {question}", where=head, question=excerpt(question, _QUESTION))
            reason = (Fact("", brief_reason(pair.became[0].reason, language)),) if pair.became else ()
            brief.append(Item(short, reason))
        text, facts = _scored(pair, head), _retrieval(compared, pair)
        tone: Tone = "soft" if pair.disputed else "alarm" if now else "good"
        link = _("Read it →"), f"report.html#{places[pair.later.id]}"
        quoted.append(Item(text, facts, tone, marker, _quoted_sides(pair)))
        last = max(len(pair.earlier.turns), len(pair.later.turns))
        sides = tuple(_sides(pair, index) for index in range(1, last + 1))
        items.append(Item(text, facts, tone, marker, sides, link))
    for shown, views, folded in ((brief, BRIEF, False), (quoted[:_QUOTED], TEXT, False), (items, PAGE, True)):
        left, more = len(pairs) - len(shown), _("{n} more in --json.") if folded else MORE
        block = Items(tuple(shown), more.format(n=left) if left else "", folded=folded)
        yield Section(key, title, (block,), views=views)


def _moved(compared: RunComparison, titles: Titles) -> Iterator[Section]:
    """The conversations whose score changed much although they did not turn; nothing without any."""
    least = points(FAR)
    fell, rose = compared.moved
    named: Sequence[tuple[str, Message, list[TalkPair]]] = (
        ("fell", _("Score down by {least} points or more, need for review unchanged ({n})"), fell),
        ("rose", _("Score up by {least} points or more, need for review unchanged ({n})"), rose),
    )
    for key, title, pairs in named:
        if not pairs:
            continue
        items, brief = [], []
        for pair in pairs:
            head = _scored(pair, _where(pair, compared, titles))
            facts = _retrieval(compared, pair)
            items.append(Item(head, facts, sides=_quoted_sides(pair)))
            brief.append(Item(head, facts))
        heading, more = title.format(least=least, n=len(pairs)), _("{n} more in --json.")
        yield Section(key, heading, (Items.first(_MOVED, items, more, folded=True),))
        yield Section(key, heading, (Items.first(_BRIEFLY, brief, more),), views=BRIEF)


def _scored(pair: TalkPair, where: Message) -> Message:
    """A pair with its question and both scores."""
    was, became = map(points, pair.scores)
    question = excerpt(pair.later.case.question)
    return _("{where}: {question} ({before} → {now})", where=where, question=question, before=was, now=became)


def _retrieval(compared: RunComparison, pair: TalkPair) -> tuple[Fact, ...]:
    """Whether a needed article came in one of the runs alone."""
    lost, found = compared.retrieval(pair)
    said = (
        (_("The needed article came before, and does not now: {articles}"), lost),
        (_("The needed article comes now, and did not before: {articles}"), found),
    )
    return tuple(Fact("", text.format(articles=listed(ids, 3))) for text, ids in said if ids)


def _quoted_sides(pair: TalkPair) -> tuple[tuple[Fact, Fact], ...]:
    return tuple(_sides(pair, index) for index in pair.shown)


def _where(pair: TalkPair, compared: RunComparison, titles: Titles) -> Message:
    where = turn_text(pair.later.persona, pair.later.case.id, pair.decides, titles)
    if pair.later.case.id in compared.guarded:
        where = _("{where}  [must not break]", where=where)
    return _("{where}  [disputed]", where=where) if pair.disputed else where


def _sides(pair: TalkPair, index: int) -> tuple[Fact, Fact]:
    """One turn in both runs."""
    before, now = pair.at(index)
    return _side(_("Before"), index, before, pair.was), _side(_("Now"), index, now, pair.became)


def _side(run: Message, index: int, turn: Turn | None, reds: Iterable[RedTurn]) -> Fact:
    """What was asked, the answer, and what is wrong with it."""
    name = _("{run} · Answer {n}", run=run, n=index)
    if turn is None:
        return Fact(name, _("(the conversation was over)"))
    red = next((red for red in reds if red.turn == index), None)
    answer = with_changes(answer_text(turn, red.failure if red else None), _short)
    text = _("Customer: {line}\n\n{answer}", line=_short(turn.user), answer=answer)
    if red is None:
        return Fact(name, text)
    reason = with_changes(why(red, turn), _short)
    return Fact(name, text, (_("{mark}: {why}", mark=mark_text(red), why=reason),))


def _short(text: str) -> str:
    text = safe_text(text)
    return text if len(text) <= _LENGTH else text[:_LENGTH].rstrip() + "…"


# --- the difference by judge ---


def _differences(compared: RunComparison, titles: Titles) -> Section:
    """The difference by judge, and whether more questions need review than chance explains."""
    reds = compared.reds
    cases = _(
        "Questions with more conversations to review {worse}, with fewer {better} (p {p}).",
        worse=reds.cases_worse,
        better=reds.cases_better,
        p=p_text(reds.p),
    )
    judges = Table.listing(
        "judges",
        compared.judges,
        {  # the verdict first: on a telephone only the first columns are in sight
            _("Judge"): lambda row: titles("judge", row.judge),
            _("Verdict"): lambda row: Cell(
                text=_VERDICTS[_verdict_key(row)][0], tone=_VERDICTS[row.verdict][1]
            ),
            _("Before"): lambda row: points(row.before),
            _("Now"): lambda row: points(row.after),
            _("Diff."): lambda row: signed_points(row.difference),
            _("95 % interval"): _interval,
            _("p"): lambda row: p_text(row.p).removeprefix("= "),
            _("pairs"): lambda row: row.pairs,
        },
        words=frozenset({1}),
    )
    notes = Notes.of((cases, _METHOD.format(primary=titles("judge", compared.primary))), "soft").lines
    return Section("difference", _("Difference by judge"), (judges, *notes))


def _verdict_key(row: JudgeDifference) -> str:
    """The key of the verdict's text: `equal` where no pair of conversations differs."""
    return "equal" if (row.verdict, row.interval) == ("no_difference", (0, 0)) else row.verdict


def _interval(row: JudgeDifference) -> Text:
    """Between what the difference may lie."""
    if row.interval is None:
        return "–"
    low, high = map(signed_points, row.interval)
    return _("{low} to {high}", low=low, high=high)


def p_text(p: float | None) -> str:
    """A p value in two or three decimals: 0.0004 -> "< 0.001", 0.0123 -> "= 0.012", 0.3 -> "= 0.30"."""
    return "–" if p is None else "< 0.001" if p < 0.001 else f"= {p:.3f}" if p < 0.1 else f"= {p:.2f}"
