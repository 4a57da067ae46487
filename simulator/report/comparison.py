"""Two runs compared, in words: whether the bot got better, what turned, pair beside pair.

What is compared, how it is tested and what counts as a regression is worked out in `results/comparison.py`.
The first section answers; behind it stand what an update of the articles moved, the answers that turned with
the judge's reason, and the difference by judge. The page has the conversations of both runs side by side.
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
    brief_reason,
    excerpt,
    page_section,
    points,
)
from simulator.core.messages import Message, _, ngettext, pgettext, safe_text, sentences
from simulator.core.messages import changed as with_changes
from simulator.core.titles import Titles
from simulator.core.types import Conversation, Language, Turn
from simulator.report.context import change_text, trial_notice
from simulator.report.gate import verdict
from simulator.report.tables import anchor, answer_text, mark_text, signed_points, turn_text, why
from simulator.report.update import item_sections, update_headline, update_sections
from simulator.results.comparison import (
    FEWEST_CASES,
    FEWEST_PAIRS,
    JudgeDifference,
    Kind,
    PairedTurn,
    RunComparison,
)
from simulator.results.figures import RedTurn
from simulator.results.gate import Gate
from simulator.results.rows import Key

# What is said of the score, the same in a cell of the table by judge, and how it stands out: colour is for
# what can be said, a lead that may be chance has none. The change itself comes first.
_VERDICTS: Mapping[str, tuple[Message, Message, Tone]] = {
    "better": (
        _("{change}: it got better ({by} points, 95 % interval {low} to {high})."),
        _("better"),
        "good",
    ),
    "worse": (
        _("{change}: it got worse ({by} points, 95 % interval {low} to {high})."),
        _("worse"),
        "alarm",
    ),
    "no_difference": (
        _("{change}: no clear change, it may be chance ({by} points, 95 % interval {low} to {high})."),
        _("no clear change"),
        "",
    ),
    "equal": (_("{change}: it has not changed."), _("unchanged"), ""),
    "not_enough": (
        _(
            "{change}: not enough data to say whether it got better or worse (questions {cases}, "
            "pairs of conversations {pairs})."
        ),
        _("not enough data"),
        "",
    ),
    "not_comparable": (
        _(
            "The rubric differs from the earlier run, so the scores cannot be compared. Grade the"
            " earlier run again by the same rubric."
        ),
        _("other rubric"),
        "",
    ),
}
# What makes two runs hard to compare; none of it changes the verdict.
_CAUTIONS: Mapping[Kind, Message] = {
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
# Characters of a question on a terminal, where 25 lines have to do.
_QUESTION = 46
# So many pairs are shown with their turns, each text cut to so many characters: the page of two large runs
# still opens at once, and each pair has a link to the whole conversation.
_SHOWN_PAIRS, _SHOWN_LENGTH = 40, 600
# Whether a conversation was red, and is: what stands before it, how it stands out, and what it is called;
# the worst first.
_COLOURS: dict[tuple[bool, bool], tuple[str, Tone, Message]] = {
    (False, True): ("▲", "alarm", _("now needs review")),
    (True, True): ("△", "strong", _("still needs review")),
    (True, False): ("✓", "good", _("no longer needs review")),
    (False, False): ("·", "strong", _("fine in both runs")),
}


def comparison_report(
    compared: RunComparison, language: Language, page: str = "", *, gate: Gate | None = None
) -> Report:
    """The comparison of two runs, most important first; conversations side by side are for its page.

    `page` is where it is written as a page: beside that of the later run, to which its conversations link.
    `gate` is the later run's own verdict.
    """
    before, after = compared.ids
    summary = compared.after.summary
    titles = summary.titles(language)
    notes = Notes.of((*_guarded(compared), *_changed(compared), *_cautions(compared, titles)))
    sections = (
        Section("verdict", "", (_headline(compared, titles), notes), views=EVERYWHERE | BRIEF),
        *_outcome(compared, gate),
        *update_sections(compared.update),
        *_turned(compared, titles, language, red=True),
        *_turned(compared, titles, language, red=False),
        _differences(compared, titles),
        _pairs(compared, titles),
        *page_section(page),
    )
    title = _("Comparison  {before} → {after}", before=before, after=after)
    return Report(title, language, sections=sections, wording="rows" if summary.rows else "")


# --- the verdict, and what makes the two hard to compare ---


def _headline(compared: RunComparison, titles: Titles) -> Line:
    """The verdict on the score, and what people would miss in a mean.

    "Score 40 → 71: it got better (+31 points, 95 % interval +12 to +50)." Before it stand reasons to doubt
    it, behind it questions that broke, and judges and answers that fell although the score did not.
    """
    said = [*_cannot_tell(compared)]
    if late := compared.update and update_headline(compared.update):
        said.append(late)
    said += _about_score(compared)
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
    tone = _VERDICTS[compared.verdict][2] or "strong"
    is_alarm = compared.regression or compared.cannot_tell or not is_comparable
    return Line(sentences(*said), "alarm" if is_alarm else tone)


def _about_score(compared: RunComparison) -> Iterator[Message]:
    if not compared.both:
        yield _("No question is left to compare: the references of all are of before the update.")
        return
    row = compared.score
    key = _verdict_key(row) if row else "not_comparable"
    low, high = map(signed_points, row.interval) if row and row.interval else ("–", "–")
    yield _VERDICTS[key][0].format(
        change=change_text(compared.change),
        by=signed_points(row.difference if row else None),
        low=low,
        high=high,
        pairs=row.pairs if row else 0,
        cases=row.cases if row else 0,
    )
    if key == "not_comparable":
        yield _(
            "Grade it again: python run.py grade {run} --again --judges {judges}",
            run=compared.ids[0],
            judges=compared.primary,
        )
    if key == "not_enough":
        yield _(
            "A verdict takes at least {n} questions and {pairs} pairs of conversations.",
            n=FEWEST_CASES,
            pairs=FEWEST_PAIRS,
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
    yield _("Cannot tell whether it got worse: {why:clauses}.", why=tuple(reasons))
    for run in compared.cut_short:
        yield _("Finish it with: python run.py {words}", words=f"--resume {run.run}")


def _guarded(compared: RunComparison) -> Iterator[Text | Line]:
    """What became of the questions that must not break."""
    for broken in compared.broken:
        text = _("Must not break, but now needs review: {question} ({case})")
        yield Line(text.format(question=broken.question, case=broken.case), "alarm")
        if broken.why:
            yield _("→ {why}", why=broken.why)
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
    for caution in compared.cautions:
        group = {"rubrics": "judge", "models": "role"}.get(caution.kind)
        names = tuple(titles(group, name) if group else name for name in caution.names)
        text = _CAUTIONS[caution.kind].format(names=names, before=caution.before, after=caution.after)
        yield Line(text, "alarm")
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


# --- the answers that turned, and the difference by judge ---


def _turned(compared: RunComparison, titles: Titles, language: Language, *, red: bool) -> Iterator[Section]:
    """The answers that turned red, or that are no longer red; the page has their conversations instead."""
    turned = compared.turned_red if red else compared.turned_green
    n = len(turned)
    title = (
        ngettext("Now needs review ({n} answer)", "Now need review ({n} answers)", n=n)
        if red
        else ngettext("No longer needs review ({n} answer)", "No longer need review ({n} answers)", n=n)
    )
    items, brief = [], []
    for turn in turned:
        where = turn_text((turn.later.persona, *turn.others), turn.later.case.id, turn.after.index, titles)
        if turn.later.case.id in compared.guarded:
            where = _("{where}  [must not break]", where=where)
        if turn.disputed:
            where = _("{where}  [disputed]", where=where)
        items.append(_item(turn, where))
        question = excerpt(turn.after.user, _QUESTION)
        reason = (Fact("", brief_reason(turn.became.reason, language)),) if turn.became else ()
        brief.append(Item(_("{where}: {question}", where=where, question=question), reason))
    yield from item_sections("turned_red" if red else "turned_green", title, items, brief, views=TEXT)


def _item(turn: PairedTurn, where: Message) -> Item:
    """One turn in both runs: the question, both answers, and the judge's reason for what was red."""
    sides = [
        Fact(name, excerpt(answer) or _("(no answer)"), (excerpt(red.reason),) if red and red.reason else ())
        for name, answer, red in (
            (_("Before"), turn.before.answer.text, turn.was),
            (_("Now"), turn.after.answer.text, turn.became),
        )
    ]
    question = Fact(pgettext("who speaks", "Customer"), excerpt(turn.after.user))
    marker = _COLOURS[turn.colours][0]
    return Item(where, (question,), "soft" if turn.disputed else "strong", marker, ((sides[0], sides[1]),))


def _differences(compared: RunComparison, titles: Titles) -> Section:
    """The difference by judge, and how many answers changed colour."""
    reds = compared.reds
    turns = _(
        "Answers compared: {n}; now to review {red}, no longer to review {green}, still to "
        "review {still}. These are first answers, and those to the same message in both runs.",
        n=len(compared.turns),
        red=reds.turned_red,
        green=reds.turned_green,
        still=reds.still_red,
    )
    cases = _(
        "Questions with more answers to review {worse}, with fewer {better} (McNemar's test, p {p}).",
        worse=reds.cases_worse,
        better=reds.cases_better,
        p=p_text(reds.p),
    )
    method = _METHOD.format(primary=titles("judge", compared.primary))
    judges = Table.listing(
        "judges",
        compared.judges,
        {  # the verdict first: on a telephone only the first columns are in sight
            _("Judge"): lambda row: titles("judge", row.judge),
            _("Verdict"): lambda row: Cell(
                text=_VERDICTS[_verdict_key(row)][1], tone=_VERDICTS[row.verdict][2]
            ),
            _("Before"): lambda row: points(row.before),
            _("Now"): lambda row: points(row.after),
            _("Diff."): lambda row: signed_points(row.difference),
            _("95 % interval"): lambda row: (
                " … ".join(map(signed_points, row.interval)) if row.interval else "–"
            ),
            _("p"): lambda row: p_text(row.p).removeprefix("= "),
            _("pairs"): lambda row: row.pairs,
        },
        words=frozenset({1}),
    )
    notes = Notes.of((turns, cases, method), "soft").lines
    return Section("difference", _("Difference by judge"), (judges, *notes))


def _verdict_key(row: JudgeDifference) -> str:
    """The key of the verdict's text: `equal` where no pair of conversations differs."""
    return "equal" if (row.verdict, row.interval) == ("no_difference", (0, 0)) else row.verdict


def p_text(p: float | None) -> str:
    """A p value in two or three decimals: 0.0004 -> "< 0.001", 0.0123 -> "= 0.012", 0.3 -> "= 0.30"."""
    return "–" if p is None else "< 0.001" if p < 0.001 else f"= {p:.3f}" if p < 0.1 else f"= {p:.2f}"


# --- side by side, for the page ---


def _pairs(compared: RunComparison, titles: Titles) -> Section:
    """What became of the conversations that both runs have: how many, then those that changed.

    Listed are those with more or fewer red turns, or a score that moved by half a point or more; what
    turned red comes first, in each colour what fell most.
    """
    was, became = (s.summary.scores.by_conversation for s in (compared.before, compared.after))
    # The page of the later run has them under their number in its plan.
    places = {key: anchor(at) for at, key in enumerate(compared.after.results.conversations.ids, 1)}
    # Entries with the place at which they stand: by colour, then by how much the score fell.
    numbers, items, order = Counter[tuple[bool, bool]](), [], list(_COLOURS)
    for earlier, later in ((compared.earlier[key], compared.later[key]) for key in compared.both):
        both = zip((earlier, later), compared.red_turns, strict=True)
        red, now = (sum((talk.id, turn.index) in reds for turn in talk.turns) for talk, reds in both)
        colours = (red > 0, now > 0)
        numbers[colours] += 1
        score, score_now = was.get(earlier.id), became.get(later.id)
        by = None if score is None or score_now is None else score_now - score
        if red == now and abs(by or 0.0) < 0.005:
            continue
        mark, tone, text = _COLOURS[colours]
        is_row = compared.after.summary.rows
        head = _(
            "{change} · {before} → {after} ({by}) · {who} · {question}",
            change=text,
            before=points(score),
            after=points(score_now),
            by=signed_points(by),
            who=later.case.id if is_row else titles("persona", later.persona),
            question=later.case.question,
        )
        sides = tuple(
            (
                _side(_("Before"), at, earlier, first, compared.red_turns[0]),
                _side(_("Now"), at, later, second, compared.red_turns[1]),
            )
            for at, (first, second) in enumerate(zip_longest(earlier.turns, later.turns), 1)
        )
        link = (_("Read it →"), f"report.html#{places[later.id]}")
        place = order.index(colours), by or 0.0
        items.append((place, Item(head, tone=tone, marker=mark, sides=sides, link=link)))
    counts = [
        _("{mark} {change}: {n}", mark=mark, change=text, n=numbers[colours])
        for colours, (mark, _tone, text) in _COLOURS.items()
    ]
    paired = Line(_("Pairs of the same question and customer: {n}.", n=numbers.total()), "soft")
    blocks: list[Block] = [Line(_("{parts}", parts=counts)), paired]
    if items:
        changed = (item for _place, item in sorted(items, key=itemgetter(0)))
        more = _("Further pairs that changed: {n}.")
        blocks.append(Items.first(_SHOWN_PAIRS, changed, more, folded=True))
    return Section("pairs", _("What changed"), tuple(blocks), views=PAGE)


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
    return text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH].rstrip() + "…"
