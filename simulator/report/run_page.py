"""The page of a run: its conversations as far as there is room, red questions, passages, underlined words.

The templates beside the painters draw it. What they get of conversations, turns, grades and fixes are
mappings of finished values, made here, whose keys they name: nothing is worked out while a page is drawn.

A page has room for about a thousand conversations. It is filled in this order: conversations to which
something on the page links, red ones from the gravest on, then a sample of the others, spread over the plan.
What is left out is said above the list; figures are always of all conversations.

Claims that an answer's passages do not bear out are underlined in it. Judges copy the answer's words, but not
always exactly: both sides are compared after NFKD, without spaces and case. What is not in the answer stands
below it.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from simulator.core.document import Chart, Report, Text, excerpt, points, reader_time
from simulator.core.messages import _, pgettext, safe_text
from simulator.core.titles import title
from simulator.core.types import (
    EXPECTATIONS,
    RETEST,
    TOOLS,
    Answer,
    Conversation,
    Passage,
    Reaction,
    Results,
    Score,
    Turn,
    TurnScores,
    response_in,
)
from simulator.report import fixes, tables
from simulator.report.context import ReportContext, change_text, lowest_score, score_lines
from simulator.report.gate import verdict, verdict_tone
from simulator.report.painters.html import render
from simulator.report.people import decision_text, disputed_count, hit_rate
from simulator.report.tables import FEELING, signed
from simulator.results.articles import heading_of
from simulator.results.certificate import standing_phrase, standing_text
from simulator.results.figures import RedTurn, Summary
from simulator.results.recommendations import Fix
from simulator.results.red import LAPSES, RANK, red_marks, red_questions, verdicts_on, worst_severity
from simulator.results.review import review_findings
from simulator.sheets.model import answer_key
from simulator.storage.results import conversations_with_scores
from simulator.text.typography import straight

# Room for the conversations of a page, in bytes, and the estimated markup around each part of one. A page
# stays below 8 MB (`LARGEST` in api/outputs.py); the rest of it has 1.2 MB. Where the estimate was too low,
# the page is drawn once more with less.
_CONVERSATIONS_SIZE = 6_800_000
_CONVERSATION_MARKUP, _TURN_MARKUP, _GRADE_MARKUP = 900, 620, 130
# So many questions are shown, at most so many of one fix, of each so many red answers whole, and so many more
# turns by their reason.
SHOWN_QUESTIONS, OF_A_FIX, SHOWN_WHOLE, SHOWN_BRIEF = 20, 6, 3, 12
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
# Red turns that are printed beside those that stand under their question: paper is limited.
ON_PAPER = 60
# The judge whose grade each mark rests on; of other marks it is the deciding judge.
_JUDGE_OF_MARK = {
    "groundedness": "groundedness", "correctness": "", "claims": "claims", "facts": "facts", "risk": "risk",
    "tools": "tools", "expectations": "expectations", "conversation": "conversation",
    **dict.fromkeys(LAPSES, "conversation"),
}  # fmt: skip
# Answer, right answer and key of a red turn that the run file does not have.
_UNSAID = ("", "", "")
# What else a score says of its grade, beside the figures behind it.
_NO_FIGURES = {"overall", FEELING, "feeling"}

# A passage says otherwise, or none says so.
FlawKind = Literal["contradicted", "not_found"]
_RANK: Mapping[FlawKind, int] = {"contradicted": 0, "not_found": 1}


def run_page(context: ReportContext, report: Report, share: float = 1.0, beside: str = "") -> bytes:
    """The page of a run, with what fits into this share (0..1) of the room for conversations.

    `beside` is the address of the page that shows it beside the earlier run; empty where there is none.
    In UTF-8. Conversations are read twice, to measure and to draw them, and are never all in memory.
    """
    results, summary, gate = context.results, context.summary, context.gate
    every, improvements = red_questions(summary), context.improvements
    # What the page links to has to be on it: first of all the examples of fixes, then red answers in sight.
    mends = improvements.fixes[: CARDS_SHOWN + CARDS_FOLDED] if improvements else ()
    groups, unshown = _groups(every, improvements.fixes if improvements else ())
    linked = [example.conversation for fix in mends for example in fix.examples]
    linked += [
        red.conversation
        for group in groups
        for turns in group.questions
        for red in turns[: SHOWN_WHOLE + SHOWN_BRIEF]
    ]
    shown = shown_conversations(results, summary, linked, share)
    anchors = tables.anchors_of(results, shown)
    # Answers that stand whole under their question are not printed once more with their conversation.
    asked = [[_question(reds, context, anchors) for reds in group.questions] for group in groups]
    whole = (entry["red"] for of_group in asked for q in of_group for entry in q["entries"][:SHOWN_WHOLE])
    quoted = {red.key for red in whole}
    views = _Views(context, shown, anchors, quoted)
    # Conversations are read worst first, as the list shows them; their numbers are those of the plan.
    numbers = {key: number for number, key in enumerate(results.conversations.ids, 1) if key in shown}
    scored = conversations_with_scores(results, sorted(numbers, key=_worst_first(summary)))
    talks = [views.conversation(numbers[c.id], c, by_turn) for c, by_turn in scored]
    endings = [(how, context.titles("ended", how), n) for how, n in summary.ended.items()]
    # Of an unfinished run the bar of endings would otherwise look complete.
    if (left := summary.planned - sum(summary.ended.values())) > 0:
        endings.append(("", _("not finished"), left))
    passages = _passages(views.passages, talks)
    # A bar for each reason why turns are red, which may stand beside another.
    kinds = sorted(summary.red.kinds.items(), key=lambda item: -item[1])
    names = tuple(context.titles("mark", kind) for kind, _n in kinds)
    values, texts = tuple(float(n) for _kind, n in kinds), tuple(f"{n:,}" for _kind, n in kinds)
    # Sections without blocks, which the template fills, and leaves out where there is nothing to fill in.
    filled = {"shelf": passages, "endings": endings}
    there = [section for section in report.shown_in("page") if filled.get(section.key, True)]
    # First what is to be done, then what it rests on; of a data set the sections of its own are the result.
    keys = {section.key for section in context.sections} if summary.rows else set()
    ahead = [section for section in there if section.key in keys]
    ahead += sorted(
        (section for section in there if section.key in _FRONT), key=lambda section: _FRONT.index(section.key)
    )
    figures = [section for section in there if section not in ahead]
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
        created=reader_time(results.run.created, context.language),
        summary=summary,
        gate=gate,
        titles=context.titles,
        feeling=FEELING,
        standings={name: standing_phrase(standing) for name, standing in summary.standings.items()}
        if any(s.state in {"certified", "checked"} for s in summary.standings.values())
        else {},
        notes=context.notes,
        score=points(summary.scores.score, against=gate.target),
        verdict=verdict(gate, trial=summary.trial),
        verdict_tone=verdict_tone(gate, trial=summary.trial),
        undecided=gate.decision == "undecided",
        lowest=lowest_score(summary),
        score_lines=list(score_lines(context))[1:],
        decision=decision_text(decided) if (decided := results.release_decision) else "",
        change=change_text(context.change) if context.change else "",
        since=context.change.earlier if context.change else "",
        beside=beside,
        disputed=disputed_count(summary) or "",
        hits=hit_rate(review_findings(results, summary)) or "",
        red_kinds=Chart("bars", "", _("Answers to review"), names, values, texts) if kinds else None,
        red_questions=len(every),
        # Of stand-ins the notice says it.
        standing="" if summary.trial else standing_text(summary.standing),
        sheet_end=next((section.key for section in reversed(ahead) if section.key in _SHEET), ""),
        cards=fixes.cards(context, mends, anchors) if improvements else [],
        cards_shown=CARDS_SHOWN,
        fixes=len(improvements.fixes) + improvements.left_out if improvements else 0,
        fix_lead=fixes.lead_text(improvements) if improvements else "",
        fix_below=[how] if improvements and (how := fixes.how_text(improvements)) else [],
        table=tables.personas_table(summary, context.titles),
        endings=endings,
        groups=list(zip(groups, asked, strict=True)),
        # Where the answers of a fix stand, by its key.
        answers_of={group.fix.key: f"fix-{group.fix.rank}" for group in groups if group.fix},
        cause_label=pgettext("of a fix", "Cause"),
        questions_left=unshown,
        whole=SHOWN_WHOLE,
        brief=SHOWN_BRIEF,
        talks=talks,
        deferred=len(talks) > AT_ONCE,
        flawed=any(turn["flaws"] for talk in talks for turn in talk["turns"]),
        personas={persona.persona: str(at) for at, persona in enumerate(summary.scores.personas, 1)},
        questions={case.case: str(at) for at, case in enumerate(summary.scores.cases, 1)},
        part=_part(context, talks),
        judges=views.judges,
        grades=sorted({0.4, 0.6, 0.8, 1.0, summary.red.rules.overall or 1.0}),
        passages=passages,
    )


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
            at = places.get(red.key, len(fixes))
            of_question.setdefault(at, []).append(red)
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


def _worst_first(summary: Summary) -> Callable[[str], tuple[int, float]]:
    """A key to sort conversations by: the gravest of their red turns, then their score."""
    ranks: dict[str, int] = {}
    for red in summary.red.answers:
        rank = RANK[worst_severity(red.marks)]
        ranks[red.conversation] = min(rank, ranks.get(red.conversation, rank))
    scores = summary.scores.by_conversation
    return lambda id_: (ranks.get(id_, len(RANK)), scores.get(id_, 1.0))


def _question(
    reds: Sequence[RedTurn], context: ReportContext, anchors: Mapping[tuple[str, int], str]
) -> dict[str, Any]:
    """A question and its red answers, each once: the gravest first, then those that most customers got.

    `reds` are its red turns from the gravest on, `anchors` where the page has them. Customers who got the
    same answer share an entry; a link to one that is not on the page leads to the list.
    """
    listed = {red.key: red for red in reds[: SHOWN_WHOLE + SHOWN_BRIEF]}
    ids = list(dict.fromkeys(id_ for id_, _turn in listed))
    said = {
        (conversation.id, turn.index): (
            turn.answer.text,
            tables.expected_at(conversation.case, turn.index, QUOTED_LENGTH),
            answer_key(conversation.case, turn),
        )
        for conversation in context.results.conversations.with_ids(ids)
        for turn in conversation.turns
        if (conversation.id, turn.index) in listed
    }
    # By text and failure: two timeouts are one entry, and no entry with an empty answer.
    alike: dict[tuple[str, str | None], list[RedTurn]] = {}
    for key, red in listed.items():
        alike.setdefault((said.get(key, _UNSAID)[0], red.failure), []).append(red)
    entries = [
        {
            "red": same[0],
            "answer": tables.failure_text(same[0].failure) or excerpt(answer, QUOTED_LENGTH),
            "expected": said.get((same[0].conversation, same[0].turn), _UNSAID)[1],
            "key": said.get((same[0].conversation, same[0].turn), _UNSAID)[2],
            "mark": tables.mark_text(same[0]),
            "cause": context.cause_sentence(same[0].conversation, same[0].turn),
            "words": context.words(same[0].conversation, same[0].turn),
            "failure": tables.failure_text(same[0].failure),
            "customers": [(anchors.get(red.key, ELSEWHERE), red.persona, red.turn) for red in same],
        }
        for (answer, _failure), same in sorted(
            alike.items(), key=lambda item: (RANK[worst_severity(item[1][0].marks)], -len(item[1]))
        )
    ]
    case = next(case for case in context.summary.scores.cases if case.case == reds[0].case)
    worst, left = worst_severity(reds[0].marks), len(reds) - len(listed)
    return {"case": case, "severity": worst, "entries": entries, "n": len(reds), "left": left}


def _part(context: ReportContext, talks: Sequence[Mapping[str, Any]]) -> Text:
    """That the page shows only some of the conversations; empty where it shows all."""
    summary = context.summary
    # Of rows the summary counts no conversations by case.
    total = summary.scores.graded + summary.scores.missing + summary.unrecorded
    if not summary.rows:
        total = sum(case.conversations for case in summary.scores.cases)
    n, red = len(talks), sum(len(talk["reds"]) for talk in talks)
    text = _(
        "The run is large: this page shows {n} of its {all} conversations, with the {red} "
        "most serious of {of} answers to review. The figures cover all conversations; "
        "exports such as --to xlsx hold every answer."
    )
    return text.format(n=n, all=total, red=red, of=summary.red.count) if n != total else ""


def shown_conversations(
    results: Results, summary: Summary, first: Iterable[str], share: float = 1.0
) -> Collection[str]:
    """The ids of the conversations to show: everything if it fits, else red ones and a sample of the others.

    Those in `first` come before the red ones, these gravest first; the sample is spread evenly over the plan:
    every 64th of them, then those between. (Every n-th of those that fit would be as even, but how many fit
    is known only when they have been read.) `share` (0..1) shrinks the room for them, where an estimate was
    too low. No more conversations are read than the page can hold.
    """
    room = _CONVERSATIONS_SIZE * share
    red = dict.fromkeys((*first, *(red_turn.conversation for red_turn in summary.red.answers)))
    others = [key for key in results.conversations.ids if key not in red]
    keys = [*red, *(key for start in range(64) for key in others[start::64])]
    # A passage takes room once, where it is first shown.
    shown, passages = set(), set[tuple[str, str]]()
    for conversation, by_turn in conversations_with_scores(results, keys):
        # One that has not begun is nothing to show.
        if conversation.turns or conversation.ended:
            room -= _size(conversation, by_turn, passages)
            if room < 0:
                break
            shown.add(conversation.id)
    return shown


def _size(conversation: Conversation, by_turn: TurnScores, passages: set[tuple[str, str]]) -> int:
    """Roughly the bytes of a conversation on the page; those of its passages not among `passages`.

    Adds its passages to these: a page has the text of each once, however many answers rest on it.
    """
    case, scores = conversation.case, [score for by_judge in by_turn.values() for score in by_judge.values()]
    texts = [case.question, conversation.closing, conversation.reason]
    texts += [line.content for line in case.history]
    texts += [text for score in scores for text in (score.reason, *map(str, _listed(score, "steps")))]
    for turn in conversation.turns:
        texts += [turn.user, turn.answer.text]
        # The tools that are shown, each no longer than that.
        for call in (turn.answer.tools or ())[:MOST_TOOLS]:
            texts += [call.name, call.arguments[:LONGEST_TOOL], (call.result or "")[:LONGEST_TOOL]]
        for passage in turn.answer.passages:
            if (key := (passage.source or passage.id, passage.text)) not in passages:
                passages.add(key)
                texts.append(passage.text)
    markup = _CONVERSATION_MARKUP + _TURN_MARKUP * len(conversation.turns) + _GRADE_MARKUP * len(scores)
    # In UTF-8, without encoding it.
    return markup + sum(len(text) if text.isascii() else 3 * len(text) for text in texts)


class _Views:
    """Turns conversations into what the template draws; `passages` has their anchors by label and text.

    Call `conversation` in the order of the page: anchors of passages and the turns that are printed are
    counted on the way.
    """

    def __init__(
        self,
        context: ReportContext,
        shown: Collection[str],
        anchors: Mapping[tuple[str, int], str],
        quoted: Container[tuple[str, int]],
    ) -> None:
        """`shown` are the ids of the conversations whose views will be made; `anchors` lead to their turns.

        `quoted` are the red turns that stand elsewhere on the page as well, and are not printed here.
        """
        self._context, self._summary, self._anchors, self._quoted = context, context.summary, anchors, quoted
        self.passages: dict[tuple[str, str], str] = {}
        self.judges = sorted(self._summary.scores.active, key=self._place)
        red = {
            red_turn.conversation for red_turn in self._summary.red.answers if red_turn.conversation in shown
        }
        self._is_open, self._printed = len(red) <= OPEN_AT_MOST, 0

    def _is_beside(self, name: str) -> bool:
        """Whether a further model of the panel grades under this name, beside one of the judges."""
        judge, beside, _model = name.partition("@")
        return bool(beside) and judge in self._summary.scores.judges

    def _place(self, name: str) -> tuple[int, bool]:
        """Judges keep their order, each followed by the panel's further models that grade by its rubric."""
        beside = self._is_beside(name)
        return list(self._summary.scores.judges).index(name.partition("@")[0] if beside else name), beside

    def conversation(self, number: int, c: Conversation, scores: TurnScores) -> dict[str, Any]:
        """A conversation, which has this number in the plan; `lows` has the lowest grade of each judge.

        It keeps no score: what judges say beside their grades would take most of the memory of a large page.
        """
        # A judge of the whole conversation has its score at the last turn.
        rows, ends = self._summary.rows, scores.get(len(c.turns), {})
        ended = self._context.endings.get(c.id, "")
        reds = [red for turn in c.turns if (red := self._context.red.get((c.id, turn.index)))]
        # What the filter "below 60" of the page goes by, as text, in the order of its list of judges.
        lows = []
        for judge in self.judges:
            graded = (scores.get(turn.index, {}).get(judge) for turn in c.turns)
            values = [s.value for s in graded if s and s.state == "scored" and s.value is not None]
            lows.append(f"{100 * min(values):.4g}" if values else "")
        greeting = self._context.results.run.settings.get("greeting")
        # One greeting for all, or one for each language.
        said = greeting.get(c.case.language) if isinstance(greeting, dict) else greeting
        return {
            "conversation": c,
            "anchor": tables.anchor(number),
            "ending": tables.ending(ended) if c.reason or not rows else "",
            "ended": ended,
            "reaction": self._reaction(c.reaction),
            "wholes": [self._whole(score) for score in ends.values() if _is_shown_whole(score)],
            "expected": tables.expected_text(c.case) if rows else "",
            "details": tables.details_text(c.case) if c.case.details else "",
            "greeting": said if isinstance(said, str) and not rows else "",
            "reds": reds,
            "marked": " ".join(f"{red.turn}{worst_severity(red.marks)}" for red in reds),
            "severity": worst_severity(mark for red in reds for mark in red.marks),
            "opened": bool(reds) and self._is_open,
            "lows": ",".join(lows),
            "turns": [self._turn(c, turn, scores.get(turn.index, {})) for turn in c.turns],
        }

    def _turn(self, c: Conversation, turn: Turn, scores: Mapping[str, Score]) -> dict[str, Any]:
        """A turn with what is said about it; a `paper` one is red, and printed here as it is quoted nowhere.

        `rest` follows the `answer`: that it was cut, or what is said where there is none.
        """
        key, titles = (c.id, turn.index), self._context.titles
        red = self._context.red.get(key)
        judged = (scores[name] for name in self.judges if name in scores)
        graded = [score for score in judged if not _is_shown_whole(score)]
        answer = tables.answer_text(turn, red.failure if red else None)
        said = answer if isinstance(answer, str) else ""
        spans, listed = marked(said[:LONGEST], flaws(scores))
        paper = red is not None and key not in self._quoted and self._printed < ON_PAPER
        self._printed += paper
        # The grades on which the marks rest are painted red: of a mark without a judge of its own, the
        # deciding judge's.
        kinds = {mark.kind for mark in red.marks} if red else set()
        deciding = {_JUDGE_OF_MARK.get(kind, self._summary.scores.primary) for kind in kinds}
        incorrect = "correctness" in kinds and "turn" in scores
        feeling = scores.get(FEELING)
        felt = feeling.raw if feeling and feeling.state == "scored" else None
        return {
            "turn": turn,
            "anchor": self._anchors[key],
            "key": answer_key(c.case, turn),
            "red": red,
            "mark": tables.mark_text(red) if red else "",
            "severity": worst_severity(red.marks) if red else "",
            "why": tables.why(red, turn) if red else "",
            "words": self._context.words(*key),
            "user": cut(turn.user),
            "paper": paper,
            "feeling": None if felt is None else (signed(felt), tables.feeling_text(felt)),
            "answer": spans,
            "rest": _left_out(said) if said else answer,
            "reaction": self._reaction(turn.reaction),
            # What most answers do goes without saying.
            "response": "" if (did := response_in(scores)) in (None, "answered") else titles("response", did),
            "rewritten": tuple(titles("rule", rule) for rule in turn.broken_rules),
            "flaws": [self._flaw(flaw, spans, turn) for flaw in listed],
            "grades": [self._grade(score, red, deciding) for score in graded if score.state != "skipped"],
            "skipped": tuple(titles("judge", score.judge) for score in graded if score.state == "skipped"),
            # The turn judge's grade for it, where that made the turn red.
            "incorrect": scores["turn"].detail["correctness"] if incorrect else None,
            "passages": [self._passage(passage) for passage in turn.answer.passages],
            "tools": _tools(turn.answer),
        }

    def _reaction(self, reaction: Reaction | None) -> tuple[Text, ...]:
        """What the customer made of the answer before, where anybody said it."""
        if reaction is None or reaction.got is None:
            return ()
        return (
            self._context.titles("got", reaction.got),
            _("feeling {n}", n=signed(reaction.feeling)),
            *((cut(reaction.why),) if reaction.why else ()),
            *((_("decided by the customer's rules, against the model"),) if reaction.overruled else ()),
        )

    def _whole(self, score: Score) -> dict[str, Any]:
        """What a judge says of the whole conversation: its requests, and what went wrong between turns."""
        value, listed = score.value or 0.0, list[Text]()
        for request in _findings(score, "requests"):
            turn, by = request.get("turn"), request.get("by")
            state = title("state", str(request.get("state")))
            asked = cut(str(request.get("request", "")))
            # Raised at turn 1 and answered by turn 3: "Turn 1: the fee back · partly (turn 3)".
            said = _("Answer {turn}: {request} · {state}", turn=turn, request=asked, state=state)
            if not turn:  # it was raised before the first one, or nobody knows when
                said = _("{request} · {state}", request=asked, state=state)
            listed.append(_("{said} (message {by})", said=said, by=by) if by else said)
        for lapse in _findings(score, "lapses"):
            what, turn, earlier = map(lapse.get, ("what", "turn", "earlier"))
            name, at = title("lapse", str(lapse.get("kind"))), _("answer {n}", n=turn or score.turn)
            if earlier and turn and earlier != turn:
                at = _("answers {earlier} and {turn}", earlier=earlier, turn=turn)
            listed.append(_("{kind} ({at}): {what}", kind=name, at=at, what=cut(str(what or ""))))
        for row in verdicts_on(score) if score.judge == EXPECTATIONS else ():
            state, quote = title("outcome", row["state"]), safe_text(str(row.get("quote", "")).strip())
            said = _("{sentence} · {state}", sentence=cut(row["sentence"]), state=state)
            if row["turn"] and quote:
                said = _("{said} (message {by}: “{quote}”)", said=said, by=row["turn"], quote=cut(quote))
            listed.append(said)
        return {
            "judge": score.judge,
            "resolved": (
                _("{n} % met", n=f"{100 * value:.0f}")
                if score.judge == EXPECTATIONS
                else tables.grade_text(score)
                if score.judge == TOOLS
                else _("{n} % resolved", n=f"{100 * value:.0f}")
            ),
            "red": bool(red_marks(score.conversation, [score], self._summary.red.rules)),
            "reason": cut(score.reason),
            "listed": listed,
        }

    def _flaw(self, flaw: "Flaw", spans: list["Stretch"], turn: Turn) -> dict[str, Any]:
        """What stands below an answer about words that are not borne out; `lost` ones are not in it."""
        passage = next((p for p in turn.answer.passages if flaw.passage and p.id == flaw.passage), None)
        label, _score, anchor = self._passage(passage) if passage else ("", "", "")
        lost = not any(span.flaw == flaw for span in spans)
        return {"flaw": flaw, "label": label, "anchor": anchor, "lost": lost}

    def _grade(self, score: Score, red: RedTurn | None, deciding: Collection[str]) -> dict[str, Any]:
        """A grade, in short (`chip`) and whole; red when one of the turn's marks rests on it.

        `instead` is shown where the reason would say nothing new.
        """
        grade, scored = tables.grade_text(score), score.state == "scored"
        # A feeling reads +1, not "1 / 2"; a judge of 0 to 1 reads 85 %.
        if scored and score.raw is not None and score.scale[0] < 0:
            grade = signed(score.raw)
        elif scored and score.raw is not None and score.scale == (0, 1):
            grade = _("{n} %", n=f"{100 * score.raw:.0f}")
        chip = grade.partition(" / ")[0] if isinstance(grade, str) else grade
        # The figures behind a grade: the turn judge's categories, a cosine before it was binned. True and
        # False are ints to Python, and no figures.
        figures = [
            (self._context.titles("category", name), value)
            for name, value in score.detail.items()
            if isinstance(value, int | float) and not isinstance(value, bool) and name not in _NO_FIGURES
        ]
        second = score.second if RETEST in score.detail else None
        instead: Text = _("as above") if red and score.reason and score.reason == red.reason else ""
        return {
            "judge": self._context.titles("judge", score.judge),
            "reason": cut(score.reason) or "–",
            "instead": _("graded by rule") if score.by_rule else instead,
            "chip": chip if scored else "–",
            "grade": grade,
            "figures": figures,
            "second": _("graded again: {grade}", grade=tables.grade_text(second)) if second else "",
            "steps": [cut(str(step)) for step in _listed(score, "steps")],
            "red": scored and score.judge in deciding,
            "beside": self._is_beside(score.judge),
        }

    def _passage(self, passage: Passage) -> tuple[str, str, str]:
        """Label, retrieval score and anchor of a passage; its text is collected once."""
        label = passage.source or passage.id
        anchor = self.passages.setdefault((label, passage.text), f"p{len(self.passages) + 1}")
        return label, "" if passage.score is None else f"{passage.score:.2f}", anchor


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


def _is_shown_whole(score: Score) -> bool:
    """Whether a score stands with the whole conversation, and not with its last turn."""
    return score.is_whole and score.state == "scored"


def _passages(
    anchors: Mapping[tuple[str, str], str], talks: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The passages of a page, those in most red turns first; `anchors` are by label and text."""
    red = Counter(
        anchor
        for talk in talks
        for turn in talk["turns"]
        if turn["red"]
        for anchor in {anchor for _label, _score, anchor in turn["passages"]}
    )
    entries = [
        {"anchor": anchor, "title": heading_of(text), "label": label, "text": text, "red": red[anchor]}
        for (label, text), anchor in anchors.items()
    ]
    return sorted(entries, key=lambda entry: -red[entry["anchor"]])


def cut(text: str) -> Text:
    """A text that fits on a page, with how much of it was left out."""
    text = safe_text(text)
    return _("{text}{more}", text=text[:LONGEST], more=_left_out(text)) if len(text) > LONGEST else text


def _left_out(text: str) -> Text:
    """How much of a text does not fit on a page; empty where all of it does."""
    n = len(text) - LONGEST
    return _("… ({n} more characters are in the run file)", n=n) if n > 0 else ""


def _listed(score: Score, key: str) -> list[JsonValue]:
    """The list under this key of what the judge said beside its grade; empty where there is none."""
    value = score.detail.get(key)
    return value if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Flaw:
    """Words of an answer that `claims` calls unsupported; `passage` is the id of what contradicts them.

    `number` counts them in the order in which they stand in the answer, from 1.
    """

    kind: FlawKind
    words: str
    passage: str = ""
    number: int = 0


class Stretch(NamedTuple):
    """A stretch of an answer, and what is wrong with it; `ends` when the flaw ends here."""

    text: str
    flaw: Flaw | None = None
    ends: bool = False


def flaws(scores: Mapping[str, Score]) -> list[Flaw]:
    """What `claims` called unsupported in a turn, contradictions first; without control codes."""
    listed = []
    for claim in _findings(scores.get("claims"), "claims"):
        words, passage = claim.get("claim"), claim.get("passage")
        kind = next((kind for kind in _RANK if kind == claim.get("verdict")), None)
        if isinstance(words, str) and words.strip() and kind:
            listed.append(Flaw(kind, safe_text(words), passage if isinstance(passage, str) else ""))
    return sorted(dict.fromkeys(listed), key=lambda flaw: _RANK[flaw.kind])


def marked(answer: str, flaws: Sequence[Flaw]) -> tuple[list[Stretch], list[Flaw]]:
    """The answer cut at its flaws, and the flaws numbered as they appear; those not in it come last.

    The texts of the spans, joined, are the answer. Where two flaws overlap, the earlier one of `flaws` (the
    graver) keeps its stretch, and the other has what is left of its own.
    """
    if not flaws:  # as of most answers, which need not be folded
        return [Stretch(answer)] if answer else [], []
    folded, owners, placed = _folded(answer), [-1] * len(answer), []
    for at, flaw in enumerate(flaws):
        place = _found(_folded(flaw.words)[0], *folded, owners)
        if place:
            owners[slice(*place)] = [at if owner < 0 else owner for owner in owners[slice(*place)]]
        placed.append(place[0] if place else len(answer))
    # Numbered as they are read, from the beginning of the answer; those that are not in it stand last.
    order = sorted(range(len(flaws)), key=placed.__getitem__)
    numbered = {old: replace(flaws[old], number=new) for new, old in enumerate(order, 1)}
    spans, start, lasts = list[Stretch](), 0, {owner: at for at, owner in enumerate(owners, 1)}
    for owner, stretch in groupby(owners):
        end = start + len(list(stretch))
        spans.append(Stretch(answer[start:end], numbered.get(owner), owner >= 0 and lasts[owner] == end))
        start = end
    return spans, [numbered[old] for old in order]


def _findings(score: Score | None, key: str) -> list[dict[str, JsonValue]]:
    """The findings of a score, as far as they have the expected shape."""
    findings = _listed(score, key) if score and score.state == "scored" else []
    return [entry for entry in findings if isinstance(entry, dict)]


def _found(words: str, folded: str, places: Sequence[int], owners: Sequence[int]) -> tuple[int, int] | None:
    """Start and end of folded words in the original of a folded text, where nothing owns that place yet.

    The pattern looks ahead, so that overlapping places are found as well; None where there is none left.
    """
    # No number is cut: '24' is not found in '240'.
    before = r"(?<!\d)" if words[:1].isdecimal() else ""
    after = r"(?!\d)" if words[-1:].isdecimal() else ""
    matches = re.finditer(rf"{before}(?={re.escape(words)}{after})", folded) if words else ()
    places_of_words = (
        (places[match.start()], places[match.start() + len(words) - 1] + 1) for match in matches
    )
    return next((place for place in places_of_words if owners[place[0]] < 0), None)


def _folded(text: str) -> tuple[str, list[int]]:
    """The text in NFKD with straight quotes, without spaces and case; and where each character comes from.

    "ﾊﾞ Up”１" -> 'ハ\u3099up"1', [0, 1, 3, 4, 5, 6]. NFKD takes characters apart, so that it does not matter
    whether the marks of the original stand alone.
    """
    folded, places = [], list[int]()
    for at, original in enumerate(straight(text)):
        for character in unicodedata.normalize("NFKD", original).casefold():
            if not character.isspace():
                folded.append(character)
                places.append(at)
    return "".join(folded), places
