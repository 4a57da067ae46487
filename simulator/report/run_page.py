"""The page of a run: what to fix, the answers to review, and its conversations as far as there is room.

The templates beside the painters draw it. What they get of conversations, turns, grades and fixes are
mappings of finished values, made here, whose keys they name: nothing is worked out while a page is drawn.

A page has room for about a thousand conversations. They are drawn in this order until it is full: those to
which something on the page links, red ones from the gravest on, then a sample of the others, spread over the
plan. What is left out is said above the list; figures are always of all conversations.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from markupsafe import Markup
from pydantic import JsonValue

from simulator.core.document import Chart, Report, Section, Text, excerpt, points, zoned_time
from simulator.core.messages import _, pgettext, safe_text
from simulator.core.titles import TITLES, title
from simulator.core.types import (
    EXPECTATIONS,
    TOOLS,
    Answer,
    Conversation,
    Reaction,
    Score,
    Turn,
    TurnScores,
    response_in,
)
from simulator.report import fixes, tables
from simulator.report.context import ReportContext, change_text, lowest_text, score_lines
from simulator.report.gate import verdict, verdict_tone
from simulator.report.notes import notes
from simulator.report.painters.html import drawn, render
from simulator.report.people import decision_text, disputed_count, hit_rate
from simulator.report.run import run_report
from simulator.results.articles import heading_of
from simulator.results.certificate import standing_line
from simulator.results.figures import RedTurn, Summary
from simulator.results.recommendations import Fix
from simulator.results.red import RANK, red_marks, red_questions, verdicts_on, worst_severity
from simulator.results.review import review_findings
from simulator.results.rows import Key
from simulator.sheets.model import answer_key
from simulator.storage.results import conversations_with_scores

# Bytes for the conversations of a page and their passages. With the rest it stays below 8 MB, so that it
# opens within a second or two and fits into a mail.
ROOM = 6_800_000
# So many questions are shown, at most so many of one fix, of each so many red answers, of so many turns.
SHOWN_QUESTIONS, OF_A_FIX, SHOWN_ANSWERS, READ_TURNS = 20, 6, 3, 15
# Characters of a red answer, and of the one that was expected, beside each other: nearly all are whole.
QUOTED_LENGTH = 500
# So many fixes are shown whole, so many folded; the rest is counted.
CARDS_SHOWN, CARDS_FOLDED = 3, 12
# Where links lead to a conversation that is not shown: to the list.
ELSEWHERE = "talks"
# The sections in sight, in this order; everything else is folded below them. The first ones are the first
# sheet on paper.
_SHEET = ("mends", "coverage")
_FRONT = (*_SHEET, "reddest", "felt", "talks", "shelf")
# Characters. Longer texts are cut: whole ones are in the run file.
LONGEST = 6000
# Calls of tools that are shown of an answer, and characters of what each was given and gave back.
MOST_TOOLS, LONGEST_TOOL = 30, 600
# With more conversations than this, what is said in them is read by the browser when somebody opens one, or
# when it has time: the page is there at once.
AT_ONCE = 100
# With more red conversations than this, all of them start folded.
OPEN_AT_MOST = 6


def run_page(context: ReportContext, beside: str = "") -> bytes:
    """The page of a run, in UTF-8.

    `beside` is the address of the page that shows it beside the earlier run; empty where there is none.
    """
    results, summary, gate, improvements = (
        context.results,
        context.summary,
        context.gate,
        context.improvements,
    )
    report = run_report(context)
    questions, ranked = red_questions(summary), improvements.fixes if improvements else ()
    groups, others = _groups(questions, ranked)
    mends = ranked[: CARDS_SHOWN + CARDS_FOLDED]
    # What the page links to has to be on it: examples of fixes, then red answers in sight.
    examples = [example.red.key for fix in mends for example in fix.examples]
    in_sight = [red.key for group in groups for reds in group.questions for red in reds[:READ_TURNS]]
    talks = _Talks(context, report, [id_ for id_, _turn in chain(examples, in_sight)])
    anchors = tables.anchors_of(results, (key for key in chain(examples, in_sight) if key[0] in talks.drawn))
    ahead, figures = _ordered(context, report, has_passages=bool(talks.passages))
    # A bar for each reason why turns are red, which may stand beside another.
    kinds = sorted(summary.red.kinds.items(), key=lambda item: -item[1])
    reasons = Chart.bars(_("Answers to review"), {context.titles("mark", kind): n for kind, n in kinds})
    shown_reds = sum(red.conversation in talks.drawn for red in summary.red.answers)
    part = _(
        "The run is large: this page shows {n} of its {all} conversations, with the {red} "
        "most serious of {of} answers to review. The figures cover all conversations; "
        "exports such as --to xlsx hold every answer.",
        n=len(talks.drawn),
        all=len(results.conversations.select("begun")),
        red=shown_reds,
        of=summary.red.count,
    )
    return render(
        "run_page.html.j2",
        report,
        [*ahead, *figures],
        "report.js",
        folded_from=len(ahead),
        nav=[
            *(
                (section.key, _("Needs review") if section.key == "reddest" else section.title)
                for section in ahead
                if section.title
            ),
            *([("figures", _("Figures"))] if figures else []),
        ],
        run=results.run,
        created=zoned_time(results.run.created),
        summary=summary,
        gate=gate,
        rows=summary.rows,
        notes=notes(context),
        titles=context.titles,
        score=points(summary.scores.score, against=gate.target),
        verdict=verdict(gate, trial=summary.trial),
        verdict_tone=verdict_tone(gate, trial=summary.trial),
        undecided=gate.decision == "undecided",
        lowest=lowest_text(summary),
        score_lines=tuple(score_lines(context))[1:],
        decision=decision_text(decided) if (decided := results.release_decision) else "",
        change=change_text(context.change) if context.change else "",
        since=context.change.earlier if context.change else "",
        beside=beside,
        disputed=disputed_count(summary) or "",
        hits=hit_rate(review_findings(results, summary)) or "",
        red_kinds=reasons if kinds else None,
        red_questions=len(questions),
        # Of stand-ins the notice says it.
        standing="" if summary.trial else standing_line(summary.standing),
        sheet_end=next((section.key for section in reversed(ahead) if section.key in _SHEET), ""),
        cards=fixes.cards(context, mends, anchors) if improvements else [],
        cards_shown=CARDS_SHOWN,
        fixes=len(ranked) + improvements.left_out if improvements else 0,
        fix_lead=fixes.lead_text(improvements) if improvements else "",
        fix_below=[how] if improvements and (how := fixes.how_text(improvements)) else [],
        groups=[(group, [_question(context, reds, anchors) for reds in group.questions]) for group in groups],
        # Where the answers of a fix stand, by its key.
        answers_of={group.fix.key: f"fix-{group.fix.rank}" for group in groups if group.fix},
        cause_label=pgettext("of a fix", "Cause"),
        questions_left=others,
        talks=talks.drawn.values(),
        part=part if talks.is_part else "",
        passages=talks.shelf,
    )


def _ordered(
    context: ReportContext, report: Report, *, has_passages: bool
) -> tuple[list[Section], list[Section]]:
    """The sections in sight and those below: first what is to be done, then what it rests on.

    Of a data set the sections of its own are the result.
    """
    there = [section for section in report.shown_in("page") if section.key != "shelf" or has_passages]
    own = {section.key for section in context.sections} if context.summary.rows else set()
    ahead = [section for section in there if section.key in own]
    front = [section for section in there if section.key in _FRONT and section not in ahead]
    ahead += sorted(front, key=lambda section: _FRONT.index(section.key))
    return ahead, [section for section in there if section not in ahead]


class _Group(NamedTuple):
    """The red answers that one fix mends, by question; `left` are those of further questions.

    `fix` is None of answers that no fix of the bot mends.
    """

    fix: Fix | None
    questions: list[list[RedTurn]]
    left: list[list[RedTurn]]


def _groups(
    questions: Iterable[list[RedTurn]], fixes: Sequence[Fix]
) -> tuple[list[_Group], list[list[RedTurn]]]:
    """The red turns of each question by the fix that mends them, in the order of the fixes; and what is left.

    So the first answer on the page belongs to the first fix. A question stands under every fix that one of
    its answers takes.
    """
    places = {key: at for at, fix in enumerate(fixes) for key in fix.turns}
    by_fix: dict[int, list[list[RedTurn]]] = {}
    for reds in questions:
        of_question: dict[int, list[RedTurn]] = {}
        for red in reds:
            of_question.setdefault(places.get(red.key, len(fixes)), []).append(red)
        for at, turns in of_question.items():
            by_fix.setdefault(at, []).append(turns)
    shown, unshown, room = list[_Group](), list[list[RedTurn]](), SHOWN_QUESTIONS
    for at, of_fix in sorted(by_fix.items()):
        if n := min(room, OF_A_FIX):
            shown.append(_Group(fixes[at] if at < len(fixes) else None, of_fix[:n], of_fix[n:]))
            room -= len(shown[-1].questions)
        else:
            unshown += of_fix
    return shown, unshown


def _question(context: ReportContext, reds: Sequence[RedTurn], anchors: Mapping[Key, str]) -> dict[str, Any]:
    """A question and its red answers, each once: the gravest first, then those that most customers got.

    `reds` are its red turns from the gravest on, `anchors` where the page has them. Customers who got the
    same answer share an entry; a link to one that is not on the page leads to the list.
    """
    listed = {red.key: red for red in reds[:READ_TURNS]}
    ids = list(dict.fromkeys(id_ for id_, _turn in listed))
    # By text and failure: two timeouts are one entry, and no entry with an empty answer.
    alike: dict[tuple[str, str | None], list[tuple[RedTurn, Conversation, Turn]]] = {}
    turns = {
        (talk.id, turn.index): (talk, turn)
        for talk in context.results.conversations.with_ids(ids)
        for turn in talk.turns
    }
    for key, red in listed.items():
        talk, turn = turns[key]
        alike.setdefault((turn.answer.text, red.failure), []).append((red, talk, turn))
    ranked = sorted(alike.values(), key=lambda same: (RANK[worst_severity(same[0][0].marks)], -len(same)))
    entries = [
        {
            "red": red,
            "answer": tables.failure_text(red.failure) or excerpt(turn.answer.text, QUOTED_LENGTH),
            "expected": tables.expected_at(talk.case, turn.index, QUOTED_LENGTH),
            "key": answer_key(talk.case, turn),
            "mark": tables.mark_text(red),
            "cause": context.cause_sentence(*red.key),
            "words": context.words(*red.key),
            "customers": [
                (anchors.get(other.key, ELSEWHERE), other.persona, other.turn) for other, *_ in same
            ],
        }
        for same in ranked[:SHOWN_ANSWERS]
        for red, talk, turn in same[:1]
    ]
    case = next(case for case in context.summary.scores.cases if case.case == reds[0].case)
    left = len(reds) - sum(len(same) for same in ranked[:SHOWN_ANSWERS])
    return {
        "case": case,
        "severity": worst_severity(reds[0].marks),
        "entries": entries,
        "n": len(reds),
        "left": left,
    }


class _Talks:
    """The conversations of a page.

    `drawn` has them by id, worst first; `passages` the anchors of what was retrieved for them, by label and
    text. With `is_part` there was no room for all.
    """

    def __init__(self, context: ReportContext, report: Report, first: Iterable[str]) -> None:
        """Draws those in `first`, then red ones, then others, one at a time, until the page is full."""
        self._context, self._report, self._summary = context, report, context.summary
        scores, ids = self._summary.scores, context.results.conversations.ids
        self._numbers = {key: number for number, key in enumerate(ids, 1)}
        self._questions = {case.case: str(at) for at, case in enumerate(scores.cases, 1)}
        self.passages: dict[tuple[str, str], str] = {}
        gravest = [red.conversation for red in self._summary.red.answers]
        red = dict.fromkeys((*first, *gravest))
        self._is_open, self._is_late = len({*gravest}) <= OPEN_AT_MOST, len(ids) > AT_ONCE
        # Every 64th of the others, then those between: how many fit is known only when they are drawn.
        others = [key for key in ids if key not in red]
        order = [*red, *chain.from_iterable(others[start::64] for start in range(64))]
        self.drawn, self.is_part, room = dict[str, Markup](), False, ROOM
        for talk, by_turn in conversations_with_scores(context.results, order):
            # One that has not begun is nothing to show.
            if not (talk.turns or talk.ended):
                continue
            known = len(self.passages)
            page = drawn("conversation.html.j2", report, **self._talk(talk, by_turn))
            texts = (safe_text(text) for _label, text in islice(self.passages, known, None))
            room -= sum(len(text.encode()) for text in (page, *texts))
            if room < 0:
                self.is_part = True
                break
            self.drawn[talk.id] = Markup(page)  # noqa: S704 - drawn by our template
        worst = sorted(self.drawn, key=_worst_first(self._summary))
        self.drawn = {key: self.drawn[key] for key in worst}

    @property
    def shelf(self) -> list[dict[str, str]]:
        """The passages with their titles, in the order in which they were drawn."""
        return [
            {"anchor": anchor, "title": heading_of(text), "label": label, "text": text}
            for (label, text), anchor in self.passages.items()
        ]

    def _talk(self, talk: Conversation, scores: TurnScores) -> dict[str, Any]:
        """What the template draws of a conversation."""
        context, rows = self._context, self._summary.rows
        # A judge of the whole conversation has its score at the last turn.
        ends = scores.get(len(talk.turns), {})
        ended = context.endings.get(talk.id, "")
        reds = [red for turn in talk.turns if (red := context.red.get((talk.id, turn.index)))]
        score = self._summary.scores.by_conversation.get(talk.id)
        return {
            "c": talk,
            "case": talk.case,
            "rows": rows,
            "titles": context.titles,
            "anchor": tables.anchor(self._numbers[talk.id]),
            "question": self._questions.get(talk.case.id, ""),
            "score": score,
            "ending": tables.ending(ended) if talk.reason or not rows else "",
            "reaction": _reaction(context, talk.reaction),
            "wholes": [_whole(context, score) for score in ends.values() if _is_shown_whole(score)],
            "expected": tables.expected_text(talk.case) if rows else "",
            "details": tables.details_text(talk.case) if talk.case.details else "",
            "reds": reds,
            "severity": worst_severity(mark for red in reds for mark in red.marks),
            "opened": bool(reds) and self._is_open,
            "late": self._is_late,
            "turns": [self._turn(talk, turn, scores.get(turn.index, {})) for turn in talk.turns],
        }

    def _turn(self, talk: Conversation, turn: Turn, scores: Mapping[str, Score]) -> dict[str, Any]:
        """A turn with what is said about it."""
        key, context = (talk.id, turn.index), self._context
        red = context.red.get(key)
        graded = (scores[name] for name in self._summary.scores.active if name in scores)
        answer = tables.answer_text(turn, red.failure if red else None)
        labels = {passage.id: self._passage(passage) for passage in turn.answer.passages}
        return {
            "turn": turn,
            "key": answer_key(talk.case, turn),
            "red": red,
            "mark": tables.mark_text(red) if red else "",
            "severity": worst_severity(red.marks) if red else "",
            "why": tables.why(red, turn) if red else "",
            "words": context.words(*key),
            "user": cut(turn.user),
            "answer": cut(answer) if isinstance(answer, str) else answer,
            "reaction": _reaction(context, turn.reaction),
            # What most answers do goes without saying.
            "response": ""
            if (did := response_in(scores)) in (None, "answered")
            else context.titles("response", did),
            "claims": _unsupported(scores.get("claims"), labels),
            "grades": [
                _grade(context, score)
                for score in graded
                if score.state != "skipped" and not _is_shown_whole(score)
            ],
            "passages": [
                (*labels[passage.id], "" if passage.score is None else f"{passage.score:.2f}")
                for passage in turn.answer.passages
            ],
            "tools": _tools(turn.answer),
        }

    def _passage(self, passage: Any) -> tuple[str, str]:
        """Label and anchor of a passage; its text is collected once."""
        label = passage.source or passage.id
        return label, self.passages.setdefault((label, passage.text), f"p{len(self.passages) + 1}")


def _worst_first(summary: Summary) -> Callable[[str], tuple[int, float]]:
    """A key to sort conversations by: the gravest of their red turns, then their score."""
    ranks: dict[str, int] = {}
    for red in summary.red.answers:
        rank = RANK[worst_severity(red.marks)]
        ranks[red.conversation] = min(rank, ranks.get(red.conversation, rank))
    scores = summary.scores.by_conversation
    return lambda id_: (ranks.get(id_, len(RANK)), scores.get(id_, 1.0))


def _reaction(context: ReportContext, reaction: Reaction | None) -> tuple[Text, ...]:
    """What the customer made of the answer before, where anybody said it."""
    if reaction is None or reaction.got is None:
        return ()
    return (
        context.titles("got", reaction.got),
        tables.feeling_text(reaction.feeling),
        *((cut(reaction.why),) if reaction.why else ()),
    )


def _is_shown_whole(score: Score) -> bool:
    """Whether a score stands with the whole conversation, and not with its last turn."""
    return score.is_whole and score.state == "scored"


def _whole(context: ReportContext, score: Score) -> dict[str, Any]:
    """What a judge says of the whole conversation: its requests, and what went wrong between turns."""
    listed = list[Text]()
    for request in _findings(score, "requests"):
        asked, state = cut(str(request.get("request", ""))), title("state", str(request.get("state")))
        listed.append(_("{request} · {state}", request=asked, state=state))
    for lapse in _findings(score, "lapses"):
        what, at = cut(str(lapse.get("what") or "")), _("answer {n}", n=lapse.get("turn") or score.turn)
        name = title("lapse", str(lapse.get("kind")))
        listed.append(_("{kind} ({at}): {what}", kind=name, at=at, what=what))
    for row in verdicts_on(score) if score.judge == EXPECTATIONS else ():
        state, quote = title("outcome", row["state"]), safe_text(str(row.get("quote", "")).strip())
        said = _("{sentence} · {state}", sentence=cut(row["sentence"]), state=state)
        if row["turn"] and quote:
            said = _("{said} (message {by}: “{quote}”)", said=said, by=row["turn"], quote=cut(quote))
        listed.append(said)
    share = f"{100 * (score.value or 0.0):.0f}"
    resolved = _("{n} % met", n=share) if score.judge == EXPECTATIONS else _("{n} % resolved", n=share)
    return {
        "judge": score.judge,
        "resolved": tables.grade_text(score) if score.judge == TOOLS else resolved,
        "red": bool(red_marks(score.conversation, [score], context.summary.red.rules)),
        "reason": cut(score.reason),
        "listed": listed,
    }


def _grade(context: ReportContext, score: Score) -> dict[str, Any]:
    """A grade with its reason, and the figures behind it that have a name: the turn judge's categories."""
    return {
        "judge": context.titles("judge", score.judge),
        "grade": tables.grade_text(score),
        "reason": cut(score.reason) or "–",
        "figures": [
            (context.titles("category", name), value)
            for name, value in score.detail.items()
            if isinstance(value, int | float) and name in TITLES["category"] and name != "overall"
        ],
        "steps": [cut(str(step)) for step in _listed(score, "steps")],
    }


def _unsupported(
    score: Score | None, labels: Mapping[str, tuple[str, str]]
) -> list[tuple[str, Text, tuple[str, str] | None]]:
    """What `claims` called unsupported, contradictions first: verdict, words, and the passage."""
    claims = [
        (str(claim["verdict"]), cut(words), labels.get(str(claim.get("passage"))))
        for claim in (_findings(score, "claims") if score else ())
        if claim.get("verdict") in ("contradicted", "not_found")
        and isinstance(words := claim.get("claim"), str)
        and words.strip()
    ]
    return sorted(claims, key=lambda claim: claim[0])


def _tools(answer: Answer) -> dict[str, Any] | None:
    """The calls of tools of an answer: how many, the first of them, and how many more; None if none shows."""
    if answer.tools is None:
        return None
    shown = [
        (safe_text(call.name), _short(call.arguments), None if call.result is None else _short(call.result))
        for call in answer.tools[:MOST_TOOLS]
    ]
    return {"n": len(answer.tools), "calls": shown, "more": len(answer.tools) - len(shown)}


def _short(text: str) -> str:
    text = safe_text(text)
    return text if len(text) <= LONGEST_TOOL else f"{text[:LONGEST_TOOL]} …"


def cut(text: str) -> Text:
    """A text that fits on a page, with how much of it was left out."""
    text, left = safe_text(text), len(text) - LONGEST
    if left <= 0:
        return text
    more = _("… ({n} more characters are in the run file)", n=left)
    return _("{text}{more}", text=text[:LONGEST], more=more)


def _listed(score: Score, key: str) -> list[JsonValue]:
    """The list under this key of what the judge said beside its grade; empty where there is none."""
    value = score.detail.get(key)
    return value if isinstance(value, list) else []


def _findings(score: Score, key: str) -> list[dict[str, JsonValue]]:
    """The findings of a score, as far as they have the expected shape."""
    findings = _listed(score, key) if score.state == "scored" else []
    return [entry for entry in findings if isinstance(entry, dict)]
