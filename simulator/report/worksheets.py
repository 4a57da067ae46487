"""A run as worksheets: what the team sees in a Google Sheet or an Excel workbook.

Each is made of rows with keys that say what happens to a row when the next run is written into the same
sheet (`sheets/merge.py`):

    worksheet       key of a row, for example                      with the next run
    summary         score, judge.turn, 20261121-090400-x/decision  figures are replaced, decisions archived
    review          answer-9d6fc3c2aaddaee7-first-...-red          stays one row where it is the same again
    fixes           invented/prompt                                stays one row where it is found again
    conversations   20261121-090400-x/angry/fees-01#1              new rows at the top
    blind           20261121-090400-x/angry/cancel-03#1/3          new rows at the top
    questions       fees-01, the id of the case                    the team's: new questions are added
    history         20261121-090400-x                              a new row
    trends          fees-01, the id of the case                    figures are replaced
    archive         review/answer-9d6fc3c2aaddaee7-...             what left the others, with the team's words

Which columns they have, and who owns them, is in `sheets/model.py`; here are their cells. Rows of
conversations, answers and fixes are made one at a time, while they are written (`LazyRows`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from simulator.core.document import (
    Text,
    excerpt,
    points,
    reader_time,
    sparkline,
    target_points,
)
from simulator.core.messages import Message, _, changed, safe_text, sentences
from simulator.core.titles import TITLES
from simulator.core.types import (
    COMPLETE,
    CONVERSATION,
    Case,
    ChatMessage,
    Conversation,
    HumanVerdict,
    Language,
    ReleaseDecision,
    Score,
    Turn,
)
from simulator.models.pricing import money
from simulator.report.context import (
    ReportContext,
    change_text,
    counts_text,
    expectations_text,
    interval_text,
    trial_notice,
)
from simulator.report.fixes import rest_text
from simulator.report.gate import verdict, verdict_word
from simulator.report.people import decision_text, dispute_text, disputed_count
from simulator.report.tables import (
    SEVERITIES,
    answer_text,
    details_text,
    expected_text,
    failure_text,
    grade_text,
    mark_text,
)
from simulator.results.causes import standing_name
from simulator.results.certificate import standing_text
from simulator.results.figures import RedTurn, Summary, turn_failure
from simulator.results.gate import Gate
from simulator.results.history import LAST, PastRun, question_courses
from simulator.results.recommendations import Fix, Improvements
from simulator.results.red import lapses_of, red_questions, worst_severity
from simulator.results.red_answers import MAX_QUOTED
from simulator.results.review import blind_sample, review_keys
from simulator.sheets.model import (
    CHOICES,
    DESK_QUESTION,
    LATER,
    CellMark,
    CellRead,
    LazyRows,
    SheetCell,
    SheetRow,
    Worksheet,
    folded,
    number_cell,
    question_key,
    text_cell,
    worksheet,
)
from simulator.storage.results import select_conversations
from simulator.storage.words import WORDS, InDocument, Spoken

# A row of the summary: its key, what it is about, the figure, and what that rests on, as in
# "judge.similarity", "Judge: Similarity", 73.3, "graded 6 of 13 · skipped 7".
_Figure = tuple[str, Text, SheetCell, Text]
# The columns of the team's decision.
_DECISION = ("decision", "approver", "decided", "why")
# Earlier turns and passages of a row are cut to this, in characters.
LONGEST = 4000
# Conversations that a row of the review names.
MOST_PLACES = 5
# Answers that do not need review and stand below those that do.
NOT_RED_SHOWN = 20
# Turns. In larger runs only red answers have a note, and in the review none: they are most of a workbook's
# size.
NOTED_TURNS = 5_000
# Rows of the summary on what became of those of the review; who had them stands beside the figure.
_OUTCOMES = {
    "closed": _("Answers that needed review, closed in this run because they are right now"),
    "fixed_again": _("Fixed, but needs review again"),
    "not_asked": _("Still open, not asked in this run (they wait in the archive)"),
}
# What nobody has said anything of.
_UNSAID = InDocument({}, None, None, "")
# Who speaks, as question files name them.
SPEAKERS: dict[Language, dict[str, str]] = {
    "ja": {"user": "お客様", "assistant": "窓口"},
    "en": {"user": "User", "assistant": "Assistant"},
}


def worksheets(
    context: ReportContext,
    past: Sequence[PastRun] = (),
    tests: Sequence[Case] = (),
    said: InDocument = _UNSAID,
) -> tuple[Worksheet, ...]:
    """All worksheets, in the order of their tabs: what decides first.

    `past` are the runs of the folder, oldest first, each of which has a row in the history; `tests` are
    questions that the team made tests; `said` is what the team's words are now, and what the sheet or
    workbook said that is joined to these.
    """
    this = PastRun.of(context.results, context.summary, context.gate, context.language)
    runs = [*(run for run in past if run.run != this.run and run.created <= this.created), this]
    sheets: tuple[Callable[[ReportContext], Worksheet], ...] = (
        partial(summary_sheet, said=said), partial(review_sheet, said=said), _fixes_sheet,
        conversations_sheet, blind_sheet, partial(questions_sheet, tests=tests),
        partial(history_sheet, runs=runs), partial(trends_sheet, runs=runs), _archive_sheet,
    )  # fmt: skip
    asked, red = _asked_questions(context)
    run = {"run": context.results.run.id, "asked": asked, "red": red}
    return tuple(make(context).model_copy(update=run) for make in sheets)


def _asked_questions(context: ReportContext) -> tuple[frozenset[str], frozenset[str]]:
    """The questions that this run asked, with every answer graded, and those of them that need review.

    Of a question that was followed up in a further turn `LATER` stands behind another one of the same.
    """
    results, primary = context.results, context.summary.scores.primary
    graded, failed = set[str](), set[str]()
    for score in results.scores.of_judge(primary):
        if score.state != "skipped":
            (graded if score.value is not None else failed).add(score.conversation)
    red = {place[0] for place in context.red}
    asked, unsure, marked = set[str](), set[str](), set[str]()
    for conversation in results.conversations:
        question = question_key(conversation.case)
        # A conversation that broke off, or without a grade, does not show that an answer is right now.
        complete = conversation.id in graded and conversation.id not in failed
        complete &= conversation.ended in COMPLETE
        (asked if complete else unsure).add(question)
        if complete and len(conversation.turns) > 1:
            asked.add(f"{question}{LATER}")
        if conversation.id in red:
            marked.add(question)
    return frozenset(asked - unsure), frozenset(marked)


def _archive_sheet(context: ReportContext) -> Worksheet:
    """What left the other worksheets: filled while it is written, for only the sheet knows what was there."""
    return worksheet("archive", context.text, (), context.wording)


def summary_sheet(context: ReportContext, said: InDocument) -> Worksheet:
    """The verdict with the people's decision beside it, then every figure with what it rests on.

    The team's decision stands beside the automatic one and changes nothing in the program.
    """
    decision = {
        "item": SheetCell(text=context.text(_("Decision ({run})", run=context.results.run.id))),
        "value": _verdict_cell(context, context.gate, trial=context.summary.trial),
        "explanation": SheetCell(text=context.text(verdict(context.gate, trial=context.summary.trial))),
    }
    decided = said.decision or ReleaseDecision()
    picked = CHOICES["decision"].get(decided.verdict, decided.verdict)
    typed = zip(_DECISION, (picked, decided.by, decided.on, decided.reason), strict=True)
    decision |= {column: text_cell(context.text(text)) for column, text in typed if text}
    before = said.decision_read or ReleaseDecision()
    texts_read = zip(_DECISION, (before.verdict, before.by, before.on, before.reason), strict=True)
    read = {column: CellRead(text, decided.by) for column, text in texts_read}
    standing = {"item": _("Judge"), "explanation": standing_text(context.summary.standing)}
    rows = [
        SheetRow(key=context.key("decision"), cells=decision, read=read),
        SheetRow(
            key="standing", cells={name: SheetCell(text=context.text(t)) for name, t in standing.items()}
        ),
    ]
    for asked in context.contested:
        about = {
            "item": _("What does the desk want here?"),
            "explanation": _(
                "Reviewers call the answer to this question good and bad: {question} Write a rule into the"
                " column Why, for `learn` to try.",
                question=asked.question,
            ),
        }
        cells = {name: SheetCell(text=context.text(text)) for name, text in about.items()}
        rows.append(SheetRow(key=f"{asked.key}/{DESK_QUESTION}", cells=cells))
    if context.change:
        since = _("{change} (since {run})", change=change_text(context.change), run=context.change.earlier)
        texts = {"item": _("Last run"), "explanation": since}
        cells = {name: SheetCell(text=context.text(text)) for name, text in texts.items()}
        rows.append(SheetRow(key="change", cells=cells))
    for key, title, value, basis in (*_means(context), *_course(context)):
        explanation = context.text(basis)
        # ▲ for those who see no colour; the figure itself is a number, and cannot carry it.
        cells = {
            "item": SheetCell(text=context.text(title)),
            "value": value,
            "explanation": SheetCell(text=f"▲ {explanation}" if value.mark == "red" else explanation),
        }
        rows.append(SheetRow(key=key, cells=cells))
    # What became of the rows that the team had, which is counted while the sheet is written.
    for key, title in _OUTCOMES.items():
        counted = {"item": SheetCell(text=context.text(title)), "value": number_cell(0)}
        rows.append(SheetRow(key=key, cells=counted))
    return worksheet("summary", context.text, tuple(rows), context.wording)


def _verdict_cell(context: ReportContext, gate: Gate, *, trial: bool) -> SheetCell:
    """The verdict in a word, with a colour for what may be relied on: a trial has none."""
    marks: dict[str | None, CellMark] = {"passed": "good", "missed": "red", "undecided": "warn", None: ""}
    mark = "" if trial else marks[gate.decision]
    word = _("No target") if gate.decision is None else verdict_word(gate, trial=trial)
    return text_cell(context.text(word), mark)


def _means(context: ReportContext) -> Iterator[_Figure]:
    """The score, what needs review, and the means of judges and customers."""
    summary, titles, limit = context.summary, context.titles, context.summary.red.rules.overall
    if notice := trial_notice(summary, rows=summary.rows):
        yield "standin", _("Played by simple versions (no AI)"), SheetCell(text="–", mark="warn"), notice
    basis = [_held(summary.scores.graded, summary.planned)]
    if interval := interval_text(context):
        basis.append(interval)
    if context.gate.target is not None:
        basis.append(_("Target {target}", target=target_points(context.gate.target)))
    yield "score", _("Score (0-100)"), _mean(summary.scores.score, limit), _("{parts:dots}", parts=basis)
    yield "red", _("Answers to review"), number_cell(summary.red.count), _red_of(summary)
    if summary.red.lapses:
        kinds = counts_text({kind: n for kind, n in summary.red.lapses.items() if n}, "lapse")
        n = sum(summary.red.lapses.values())
        yield "lapses", _("Lapses between answers"), number_cell(n), kinds
    if outcomes := summary.red.expectations:
        unmet = number_cell(outcomes["unmet"])
        yield "expectations", _("Expectations not met"), unmet, expectations_text(outcomes)
    for name, judge in summary.scores.judges.items():
        title = _("Judge: {judge}", judge=titles("judge", name))
        basis = [_("graded {n} of {planned}", n=judge.n, planned=judge.planned)]
        basis += [_("skipped {n}", n=judge.skipped)] if judge.skipped else []
        basis += [_("failed {n}", n=judge.failed)] if judge.failed else []
        basis += [_("not reached {n}", n=judge.unreached)] if judge.unreached else []
        if retest := judge.retest:
            basis.append(_("graded twice {n}, changed {flips}", n=retest.n, flips=retest.flips))
        yield f"judge.{name}", title, _mean(judge.mean, limit), _("{parts:dots}", parts=basis)
    for person in summary.scores.personas:
        persona, key = titles("persona", person.persona), f"persona.{person.persona}"
        title = _("Customer: {persona}", persona=persona)
        yield key, title, _mean(person.score, limit), _held(person.graded, person.conversations)


def _red_of(summary: Summary) -> Message:
    """Of how many turns so many are red, and how many of them are disputed."""
    text = _("{n} of {turns} answers", n=summary.red.count, turns=summary.turns)
    disputed = disputed_count(summary)
    return _("{red} ({disputed})", red=text, disputed=disputed) if disputed else text


def _held(n: int, planned: int) -> Message:
    return _("{n} of {planned} conversations", n=n, planned=planned)


def _course(context: ReportContext) -> Iterator[_Figure]:
    """How the run went: endings, failures, what sections say first, time and cost."""
    summary, titles = context.summary, context.titles
    # Rows of a data set are asked once, and all end alike.
    for how, count in () if summary.rows else summary.ended.items():
        yield f"ended.{how}", _("Ended: {how}", how=titles("ended", how)), number_cell(count), ""
    silent = sum(summary.bot_failures.values())
    answers = number_cell(silent, "warn" if silent else "")
    yield "no_answer", _("No answer"), answers, _("{n} of {turns} answers", n=silent, turns=summary.turns)
    for section in context.sections:
        if section.line:
            yield section.key, section.title, SheetCell(), section.line
    minutes, seconds = divmod(round(summary.seconds), 60)
    took = _("{minutes} min {seconds} s") if minutes else _("{seconds} s")
    took = took.format(minutes=minutes, seconds=seconds)
    yield "seconds", _("Duration"), SheetCell(text=context.text(took)), ""
    cost = (
        money(summary.money.spent)
        if summary.money.spending
        else _("no model was called for customers or grading")
    )
    yield "cost", _("Cost"), SheetCell(text=context.text(cost)), ""


def _mean(value: float | None, limit: float | None) -> SheetCell:
    """A mean on the scale to 100; marked where it is below the limit for red."""
    if value is None:
        return SheetCell(text="–", mark="failed")
    mark: CellMark = "red" if limit and value < limit else ""
    # The worksheet rounds to what it shows; of 70.46 given as 70.5 it would make 71.
    return SheetCell(text=points(value, against=limit), number=round(100 * value, 4), mark=mark)


def history_sheet(context: ReportContext, runs: Sequence[PastRun]) -> Worksheet:
    """The row of this run below those of earlier ones."""
    rows = tuple(SheetRow(key=run.run, cells=_history_cells(run, context)) for run in runs)
    return worksheet("history", context.text, rows, context.wording)


def _history_cells(run: PastRun, context: ReportContext) -> dict[str, SheetCell]:
    cells = {
        "date": SheetCell(text=reader_time(run.created, context.language)),
        "red": number_cell(run.red),
        "turns": number_cell(run.turns),
        "no_answer": number_cell(run.no_answer),
        "seconds": number_cell(round(run.seconds)),
    }
    if run.gate:
        cells["verdict"] = _verdict_cell(context, run.gate, trial=run.trial)
    if run.release_decision:
        cells["decision"] = text_cell(context.text(decision_text(run.release_decision)))
    if run.cost_usd is not None:
        cells["cost"] = number_cell(round(run.cost_usd, 4))
    # Left empty where there is none, and not a 0.
    for key, share in (("score", run.score), ("target", run.gate.target if run.gate else None)):
        if share is not None:
            cells[key] = number_cell(round(100 * share, 1))
    return cells


def trends_sheet(context: ReportContext, runs: Sequence[PastRun]) -> Worksheet:
    """How every question did in the runs that were graded as this one was, what fell most first."""
    rows = []
    for course in question_courses(runs)[:MAX_QUOTED]:
        cells = {
            "question": text_cell(course.question),
            "trend": SheetCell(sparkline(course.scores[-LAST:])),
            "score": number_cell(round(100 * course.scores[-1], 1)),
            "runs": number_cell(len(course.scores)),
            "run": SheetCell(course.run),
        }
        if course.change is not None:
            cells["change"] = number_cell(round(100 * course.change, 1))
        rows.append(SheetRow(safe_text(course.case), cells))
    return worksheet("trends", context.text, tuple(rows), context.wording)


def questions_sheet(context: ReportContext, tests: Sequence[Case] = ()) -> Worksheet:
    """The questions of this run, in use and approved, for the team to add to, and its tests.

    A test that asks what a question of this run asks is that question.
    """
    # Those of a large data set stay in its own file.
    results, summary = context.results, context.summary
    left_out = results.is_sampled and (summary.rows or len(summary.scores.cases) > MAX_QUOTED)
    conversations = () if left_out else results.conversations
    cases = tuple({conversation.case.id: conversation.case for conversation in conversations}.values())
    asked = {(folded(case.question), len(case.history)) for case in cases}
    cases += tuple(test for test in tests if (folded(test.question), len(test.history)) not in asked)
    return cases_sheet(cases, context.text, context.language, approved="yes")


def cases_sheet(
    cases: Sequence[Case], text: Callable[[Text], str], language: Language, *, approved: str
) -> Worksheet:
    """A row for each case, with titles as `text` shows them; `approved` is what is picked there."""
    rows = LazyRows(cases, lambda case: _question_row(case, text, language, approved=approved))
    return worksheet("questions", text, rows)


def _question_row(case: Case, text: Callable[[Text], str], language: Language, *, approved: str) -> SheetRow:
    """A question as it is first written; from then on it is the team's."""
    picked = {"handover": case.handover, "use": "yes", "approved": approved}
    if case.answerable is not None:
        picked["answerable"] = "yes" if case.answerable else "no"
    texts = {
        "question": case.question,
        "reference": "|".join(case.references_at(1)),
        "category": "|".join(case.tags),
        "expect": "\n".join(case.expect),
        "gold": "|".join(case.passages),
        "goal": case.goal or "",
        "facts": "\n".join([*case.facts.knows, *(f"unknown: {fact}" for fact in case.facts.unknown)]),
        "history": history_lines(case.history, language),
    }
    cells = {column: text_cell(said) for column, said in texts.items()}
    cells |= {column: SheetCell(text=text(CHOICES[column][choice])) for column, choice in picked.items()}
    return SheetRow(key=case.id, cells=cells)


def history_lines(history: Sequence[ChatMessage], language: Language) -> str:
    """Who said what before the question, line by line, as a question file has it."""
    return "\n".join(f"{SPEAKERS[language][line.role]}: {line.content}" for line in history)


def conversations_sheet(context: ReportContext) -> Worksheet:
    """One row per conversation: config, then question, answer and grade, turn by turn."""
    # As many columns as the longest conversation has turns; those that were never begun have nothing to show.
    conversations = context.results.conversations.select("begun")
    longest = max(conversations.lengths(), default=0)
    rows = LazyRows(conversations, lambda conversation: _conversation_row(conversation, context))
    return worksheet("conversations", context.text, rows, context.wording, range(1, longest + 1))


def _score_cell(conversation: Conversation, whole: Score | None, context: ReportContext) -> SheetCell:
    """The score of a conversation: its own grade, else the mean of its turns by the deciding judge."""
    if whole and whole.value is not None:
        values = [whole.value]
    else:
        graded = (context.scores(conversation.id, turn.index) for turn in conversation.turns)
        scores = (scores.get(context.summary.scores.primary) for scores in graded)
        values = [score.value for score in scores if score and score.value is not None]
    return _mean(sum(values) / len(values) if values else None, context.summary.red.rules.overall)


def _conversation_row(conversation: Conversation, context: ReportContext) -> SheetRow:
    last = context.scores(conversation.id, len(conversation.turns)) if conversation.turns else {}
    whole = last.get(CONVERSATION)
    about = text_cell("\n".join(_about(conversation, whole, context)), note=whole.reason if whole else "")
    cells = {"config": about, "score": _score_cell(conversation, whole, context)}
    if conversation.ended and not context.summary.rows:
        cells["ended"] = text_cell(context.text(context.titles("ended", context.endings[conversation.id])))
    sampled = context.results.is_sampled
    if context.summary.rows:
        cells["reference"] = text_cell(expected_text(conversation.case))
    for turn in conversation.turns:
        red, score, reason = _judged(conversation, turn, context)
        # Of a large run, the red turns that are quoted.
        noted = context.summary.turns <= NOTED_TURNS or (red and (red.reason or not sampled))
        cells[f"user{turn.index}"] = text_cell(turn.user)
        cells[f"assistant{turn.index}"] = _answer_cell(turn, red, reason if noted else "", context)
        cells[f"check{turn.index}"] = _grade_cell(score, context)
    return SheetRow(key=context.key(conversation.id), cells=cells)


def _about(conversation: Conversation, whole: Score | None, context: ReportContext) -> Iterator[str]:
    """Who came with which question, how it ended and when it was, a line each; `whole` is its own grade."""
    text, titles = context.text, context.titles
    if not context.summary.rows:
        yield text(_("Customer: {persona}", persona=titles("persona", conversation.persona)))
    yield text(_("Question: {case}", case=conversation.case.id))
    if conversation.case.details:
        yield text(details_text(conversation.case))
    if whole and whole.state == "scored":
        grade = text(grade_text(whole)).replace(" ", "")
        yield text(_("{judge} {grade}", judge=titles("judge", CONVERSATION), grade=grade))
        for lapse in lapses_of(whole):
            at = _("answer {n}", n=lapse.turn)
            name = titles("lapse", lapse.kind)
            yield text(_("{kind} ({at}): {what}", kind=name, at=at, what=excerpt(lapse.what)))
    yield reader_time(context.results.run.created, context.language)
    yield text(_("Run: {run}", run=context.results.run.id))


def _judged(
    conversation: Conversation, turn: Turn, context: ReportContext
) -> tuple[RedTurn | None, Score | None, str]:
    """Why a turn is red, the deciding judge's verdict, and the reason to be read first."""
    place = conversation.id, turn.index
    red, score = context.red.get(place), context.scores(*place).get(context.summary.scores.primary)
    return red, score, (red.reason if red else "") or (score.reason if score else "")


def _answer_cell(turn: Turn, red: RedTurn | None, note: str, context: ReportContext) -> SheetCell:
    """The answer, which begins with the marks of a red turn: "▲ Low grade, Incorrect", on a line.

    One that is disputed is grey, and begins with △.
    """
    text = context.text(answer_text(turn, turn_failure(turn)))
    if red is None:
        return text_cell(text, note=note)
    mark: CellMark = "disputed" if red.is_disputed else "red"
    return text_cell(f"{context.text(mark_text(red))}\n{text}", mark, note)


def _grade_cell(score: Score | None, context: ReportContext) -> SheetCell:
    """The deciding judge's grade, conclusion and steps."""
    if score is None:
        return SheetCell(text=context.text(_("not graded")), mark="failed")
    judge = context.text(context.titles("judge", score.judge))
    graded = f"{judge} {context.text(grade_text(score)).replace(' ', '')}"
    if score.response is not None and score.response != "answered":
        graded = f"{graded} · {context.text(context.titles('response', score.response))}"
    steps = score.detail.get("steps")
    listed = [f"{n}. {step}" for n, step in enumerate(steps if isinstance(steps, list) else [], start=1)]
    mark: CellMark = "failed" if score.state == "failed" else ""
    return text_cell("\n".join([graded, score.reason, *listed]), mark)


def review_sheet(context: ReportContext, said: InDocument) -> Worksheet:
    """One row per distinct answer that needs review, gravest first, then the worst of those that do not.

    The latter are few: whoever looks for answers that should be red and are not starts there, and with the
    worksheet to grade blind.
    """
    # A large run is read conversation by conversation, so all its answers could not be ranked here.
    conversations: Iterable[Conversation] = context.results.conversations
    most = MAX_QUOTED if context.results.is_sampled else None
    if most:
        reddest = dict.fromkeys(red.conversation for red in context.summary.red.answers[:most])
        conversations = context.results.conversations.with_ids(list(reddest))
    key_of = review_keys(context.results, context.summary)
    ranked_red = (red.key for turns in red_questions(context.summary) for red in turns)
    places = {place: rank for rank, place in enumerate(ranked_red)}
    answers: dict[str, list[_Reviewed]] = {}
    for conversation in conversations:
        for turn in conversation.turns:
            rank = places.get((conversation.id, turn.index), len(places))
            score = context.scores(conversation.id, turn.index).get(context.summary.scores.primary)
            value = score.value if score and score.value is not None else -1.0
            # What is not graded has -1, and stands before what was graded well.
            reviewed = _Reviewed(rank, value, conversation.id, turn.index, conversation, turn)
            answers.setdefault(key_of(conversation, turn), []).append(reviewed)
    ranked = sorted(((sorted(turns), key) for key, turns in answers.items()), key=itemgetter(0))
    red = sum(turns[0].rank < len(places) for turns, _key in ranked)
    # Only the worst of them may be over the line by mistake.
    ranked = ranked[: most or red + NOT_RED_SHOWN]
    rows = LazyRows(ranked, lambda answer: _review_row(answer[1], answer[0], context, said))
    sheet = worksheet("review", context.text, rows, context.wording)
    if most is None:
        return sheet
    part = _("The run is large: here are its {n} most serious answers.", n=len(rows))
    return sheet.model_copy(update={"help": context.text(sentences(part, sheet.help))})


class _Reviewed(NamedTuple):
    """A turn to review: they sort by rank among red turns, then by grade; ungraded before good ones.

    No two have the same id and number.
    """

    rank: int
    value: float
    id: str
    number: int
    conversation: Conversation
    turn: Turn


def _review_row(key: str, turns: Sequence[_Reviewed], context: ReportContext, said: InDocument) -> SheetRow:
    """The row of an answer: what is said of the first of the turns in which it was given."""
    conversation, turn = turns[0].conversation, turns[0].turn
    place, text = (conversation.id, turn.index), context.text
    red, _score, reason = _judged(conversation, turn, context)
    scores = context.scores(*place)
    grades = {n: text(grade_text(scores[n])) for n in context.summary.scores.judges if n in scores}
    graded = [
        _("{judge} {grade}", judge=context.titles("judge", name), grade=grade.replace(" / ", "/"))
        for name, grade in grades.items()
    ]
    line: Text = turn.user
    if turn.index > 1:  # after the question that it is about
        asked = excerpt(conversation.case.question)
        line = _("{question} → message {n}: {line}", question=asked, n=turn.index, line=line)
    cause = context.cause_sentence(*place)  # beside the team's own
    references = conversation.case.references_at(turn.index)
    places = [(turn.id, turn.number) for turn in turns]
    spoken = next(filter(None, map(said.words.get, places)), None)
    word = spoken.word if spoken else None
    cells = {
        "severity": SheetCell(text=text(SEVERITIES[worst_severity(red.marks)]) if red else ""),
        "state": SheetCell(text=text(CHOICES["state"][_state(red)]) if red else ""),
        "disputed": text_cell(text(dispute_text(red.dispute))) if red and red.dispute else SheetCell(),
        "persona": text_cell(text(_customers(turns, context))),
        "times": number_cell(len(turns)),
        "conversation": replace(text_cell(_places_of(turns)), row=context.key(conversation.id)),
        "reference": text_cell("\n".join(references)),
        "question": text_cell(text(line)),
        "answer": _answer_cell(turn, red, reason if context.summary.turns <= NOTED_TURNS else "", context),
        "reason": text_cell(reason),
        "expect": text_cell(
            "\n".join((*_expected(conversation, context), *_expected_by_team(word, turns, context)))
        ),
        "likely_cause": text_cell(text(cause)) if cause else SheetCell(),
        "scores": text_cell(text(_("{parts}", parts=graded))),
        "passages": text_cell(_passages(turn)),
        "earlier": text_cell(_earlier(conversation, turn, context)),
        "since": SheetCell(text=context.results.run.id),
        "run": SheetCell(text=context.results.run.id),
    }
    # The worksheet of a data set has no such column.
    if context.summary.rows:
        del cells["persona"]
    read = _read(spoken, said.document) if spoken else {}
    return SheetRow(key=key, cells=cells | _said(word, context), read=read)


def _said(word: HumanVerdict | None, context: ReportContext) -> dict[str, SheetCell]:
    """What the team has said of an answer so far, in the columns that are its own."""
    texts = _texts(word) if word else {}
    return {
        name: text_cell(context.text(CHOICES.get(name, {}).get(text, text)))
        for name, text in texts.items()
        if text
    }


def _read(spoken: Spoken, document: str) -> dict[str, CellRead]:
    """What the team's cells of an answer said when the document was last read or written."""
    before = spoken.read.get(document)
    texts = _texts(before) if before else dict.fromkeys(_texts(spoken.word), "")
    writers: dict[str, str] = {name: row.reviewer for name, row in spoken.by.items()}
    return {name: CellRead(text, writers.get(name, "")) for name, text in texts.items()}


def _texts(word: HumanVerdict) -> dict[str, str]:
    """The team's cells of an answer: ids of what was picked, and texts."""
    texts: dict[str, str] = {name: getattr(word, name) or "" for name in WORDS if name != "expect"}
    return texts | {"make_test": "yes" if word.make_test else ""}


def _expected_by_team(
    word: HumanVerdict | None, turns: Sequence[_Reviewed], context: ReportContext
) -> Iterator[str]:
    """What the team wrote that the answer should have done, a sentence a line, less what the case says."""
    for line in word.expect.splitlines() if word else ():
        if line.strip() and line not in turns[0].conversation.case.expect:
            yield context.text(_("{sentence} (your team)", sentence=safe_text(line.strip())))


def _state(red: RedTurn) -> str:
    """What this run says of a red answer, as far as it knows of no earlier one."""
    return "disputed" if red.is_disputed else "new"


def _expected(conversation: Conversation, context: ReportContext) -> Iterator[str]:
    """What the case expects, a sentence a line, with what became of each where a judge looked."""
    states = {row["sentence"]: row["state"] for row in context.expected(conversation.id)}
    for sentence in conversation.case.expect:
        said = safe_text(sentence)
        if state := states.get(sentence):
            outcome = context.titles("outcome", state)
            said = context.text(_("{sentence} ({state})", sentence=said, state=outcome))
        yield said


def _customers(turns: Sequence[_Reviewed], context: ReportContext) -> Message:
    """Who got an answer and how often, the gravest first; of a red one also for whom it is not red."""
    red = [(turn.conversation.id, turn.turn.index) in context.red for turn in turns]
    counts = Counter(zip((turn.conversation.persona for turn in turns), red, strict=True))
    named = []
    for (persona, is_red), n in counts.items():
        name: Text = context.titles("persona", persona)
        name = name if is_red or not any(red) else _("{customer} (not marked)", customer=name)
        named.append(name if n == 1 else _("{customer} × {n}", customer=name, n=n))
    return _("{parts}", parts=named)


def _places_of(turns: Sequence[_Reviewed]) -> str:
    """The conversations, as their rows are called in the worksheet of conversations, each with its turns."""
    numbers: dict[str, list[str]] = {}
    for turn in turns:
        numbers.setdefault(turn.id, []).append(str(turn.number))
    places = [f"{name} ({', '.join(sorted(turns_of))})" for name, turns_of in numbers.items()]
    return "\n".join(places[:MOST_PLACES] + (["…"] if len(places) > MOST_PLACES else []))


def _passages(turn: Turn) -> str:
    """The passages that the bot retrieved, in their order, as far as they fit."""
    return "\n\n".join(f"[{passage.id}] {passage.text}" for passage in turn.answer.passages)[:LONGEST]


def _earlier(conversation: Conversation, turn: Turn, context: ReportContext) -> str:
    """The turns before this one; the newest are kept where there are too many."""
    names = (_("Question"), _("Answer")) if context.wording else (_("Customer"), _("Bot"))
    customer, desk = map(context.text, names)
    earlier = (turn_before for turn_before in conversation.turns if turn_before.index < turn.index)
    lines = (f"{customer}: {turn_before.user}\n{desk}: {turn_before.answer.text}" for turn_before in earlier)
    return "\n".join(lines)[-LONGEST:]


def blind_sheet(context: ReportContext) -> Worksheet:
    """A sample to be graded without sight of any score, in an order that says nothing.

    No colour, no reason, no mark: who sees a grade first comes close to it. Which turns are drawn, and how
    the sample is weighted back, is the business of `results/review.py`.
    """
    sample = blind_sample(context.results, context.summary)
    drawn_from = {drawn.conversation for drawn in sample}
    # Read in the order of the plan, shown in the order of the sample.
    turns = {
        (conversation.id, turn.index): (conversation, turn)
        for _n, conversation in select_conversations(context.results, drawn_from)
        for turn in conversation.turns
    }
    rows = []
    for conversation, turn in (turns[drawn.conversation, drawn.turn] for drawn in sample):
        cells = {
            "earlier": text_cell(_earlier(conversation, turn, context)),
            "question": text_cell(turn.user),
            "passages": text_cell(_passages(turn)),
            "answer": _answer_cell(turn, None, "", context),
        }
        rows.append(SheetRow(key=context.key(conversation.id, turn.index), cells=cells))
    return worksheet("blind", context.text, tuple(rows), context.wording)


def _fixes_sheet(context: ReportContext) -> Worksheet:
    """What to fix, the largest gain first."""
    improvements = context.improvements
    fixes = [*improvements.fixes] if improvements else []
    # A last row says how many others there are, so that nobody takes the list for all.
    rest = [improvements.left_out] if improvements and improvements.left_out else []
    conversations = context.results.conversations if fixes else ()
    questions = {conversation.case.id: question_key(conversation.case) for conversation in conversations}
    rows = LazyRows([*fixes, *rest], lambda fix: _fix_row(fix, improvements, questions, context))
    return worksheet("fixes", context.text, rows, context.wording)


def _fix_row(
    fix: Fix | int, improvements: Improvements | None, questions: Mapping[str, str], context: ReportContext
) -> SheetRow:
    """A fix; or how many others there are, and the command that shows them.

    `questions` are those of the cases, as the review knows them: asked again, they show whether it is done.
    """
    if isinstance(fix, int):
        text = rest_text(fix, context.results.run.id)
        return SheetRow(key=context.key("more"), cells={"what": text_cell(context.text(text))})
    first = fix.examples[0]
    cells = {
        "what": text_cell(context.text(fix.what)),
        "where": text_cell(context.text(fix.where)),
        "found_cause": text_cell(
            context.text(TITLES["cause"][fix.cause]), note=context.text(changed(first.cause, excerpt))
        ),
        "sure": SheetCell(text=context.text(standing_name(*fix.standings))),
        "turns": number_cell(len(fix.turns)),
        **({"turns_disputed": number_cell(fix.disputed)} if fix.disputed else {}),
        **({} if context.summary.rows else {"customers": number_cell(len(fix.personas))}),
        "question": text_cell(first.question),
        "answer": text_cell(context.text(failure_text(first.failure)) or first.answer),
        "reason": text_cell(first.reason),
        "state": SheetCell(text=context.text(CHOICES["state"]["disputed" if fix.is_disputed else "new"])),
        "since": SheetCell(text=context.results.run.id),
        "run": text_cell(context.results.run.id),
        "rests_on": SheetCell(text=" ".join(sorted({questions[case] for case in fix.cases}))),
    }
    if fix.rank:
        cells["rank"] = number_cell(fix.rank)
    if fix.rank and improvements and improvements.foretells:
        cells["gain"] = number_cell(round(100 * fix.gain, 1))
    return SheetRow(key=safe_text(fix.key), cells=cells)
