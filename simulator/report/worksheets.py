"""A run as worksheets: what the team sees in a Google Sheet or an Excel workbook.

Each is made of rows with keys that say what happens to a row when the next run is written into the same
sheet (`sheets/merge.py`):

    worksheet       key of a row, for example                      with the next run
    summary         score, judge.turn, 20261121-090400-x/decision  figures are replaced, decisions archived
    review          answer-9d6fc3c2aaddaee7-first-...-red          stays one row where it is the same again
    fixes           invented/prompt                                stays one row where it is found again
    conversations   20261121-090400-x/angry/fees-01#1              are replaced
    blind           20261121-090400-x/angry/cancel-03#1/3          stay where somebody has graded them
    questions       fees-01, the id of the case                    the team's: new questions are added
    history         20261121-090400-x                              a new row
    trends          fees-01, the id of the case                    figures are replaced
    archive         review/answer-9d6fc3c2aaddaee7-...             what left the others, with the team's words

Which columns they have, and who owns them, is in `sheets/model.py`; here are their cells. Rows of
conversations, answers and fixes are made one at a time, while they are written (`LazyRows`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from simulator.core.document import Text, excerpt, points, sparkline, target_points, zoned_time
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
from simulator.report.context import (
    ReportContext,
    change_text,
    counts_text,
    expectations_text,
    interval_text,
    trial_notice,
)
from simulator.report.gate import verdict, verdict_word
from simulator.report.notes import failures
from simulator.report.people import decision_text, dispute_text, disputed_count
from simulator.report.tables import (
    SEVERITIES,
    answer_text,
    details_text,
    expected_text,
    failure_text,
    grade_text,
    mark_text,
    right_answers,
)
from simulator.results.causes import STANDING_NAMES, cause_sentence
from simulator.results.certificate import standing_text
from simulator.results.figures import RedTurn, Summary, turn_failure
from simulator.results.gate import Gate
from simulator.results.history import LAST, PastRun, question_courses
from simulator.results.recommendations import Fix
from simulator.results.red import red_questions, worst_severity
from simulator.results.red_answers import MAX_QUOTED
from simulator.results.review import blind_sample, review_keys
from simulator.results.review_files import DECISION_COLUMNS
from simulator.sheets.model import (
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
from simulator.storage.results import select_turns
from simulator.storage.words import WORDS, InDocument, Spoken

# How texts are shown, and what a cell is made of; one of None is left out.
Shown = Callable[[Text], str]
Content = Text | float | SheetCell | None
# Earlier turns and passages of a row are cut to this, in characters.
LONGEST = 4000
# Conversations that a row of the review names.
MOST_PLACES = 5
# Answers that do not need review and stand below those that do.
NOT_RED_SHOWN = 20
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
    sheets = (
        _summary_sheet(context, said),
        _review_sheet(context, said),
        _fixes_sheet(context),
        _conversations_sheet(context),
        blind_sheet(context),
        _questions_sheet(context, tests),
        _history_sheet(context, runs),
        _trends_sheet(context, runs),
        # What left the others: only a sheet that is written knows what was there.
        _worksheet("archive", context, ()),
    )
    asked, red = _asked_questions(context)
    run = {"run": context.results.run.id, "asked": asked, "red": red}
    return tuple(sheet.model_copy(update=run) for sheet in sheets)


def _worksheet(
    name: str, context: ReportContext, rows: Sequence[SheetRow], turns: Iterable[int] = ()
) -> Worksheet:
    return worksheet(name, context.text, rows, context.wording, turns)


def _cells(text: Shown, **values: Content) -> dict[str, SheetCell]:
    """Cells by column: texts as they are shown, numbers, and what is a cell already."""
    cells = {}
    for column, value in values.items():
        if isinstance(value, SheetCell):
            cells[column] = value
        elif isinstance(value, int | float):
            cells[column] = number_cell(value)
        elif value is not None:
            cells[column] = text_cell(text(value))
    return cells


def _row(context: ReportContext, key: str, **values: Content) -> SheetRow:
    return SheetRow(key, _cells(context.text, **values))


def _asked_questions(context: ReportContext) -> tuple[frozenset[str], frozenset[str]]:
    """The questions that this run asked, with every answer graded, and those of them that need review.

    Those that were followed up in a further turn are there a second time, with `LATER` behind them.
    """
    results, primary = context.results, context.summary.scores.primary
    graded, failed = set[str](), set[str]()
    for score in results.scores.of_judge(primary):
        if score.state != "skipped":
            (graded if score.value is not None else failed).add(score.conversation)
    red = {place[0] for place in context.red}
    asked, followed_up, unsure, marked = (set[str]() for _set in range(4))
    for conversation in results.conversations:
        question = question_key(conversation.case)
        # A conversation that broke off, or without a grade, does not show that an answer is right now.
        complete = conversation.id in graded and conversation.id not in failed
        complete &= conversation.ended in COMPLETE
        (asked if complete else unsure).add(question)
        if complete and len(conversation.turns) > 1:
            followed_up.add(question)
        if conversation.id in red:
            marked.add(question)
    asked -= unsure
    return frozenset(asked | {f"{question}{LATER}" for question in asked & followed_up}), frozenset(marked)


# --- Summary ---


def _summary_sheet(context: ReportContext, said: InDocument) -> Worksheet:
    """The verdict with the people's decision beside it, then every figure with what it rests on."""
    rows = [_decision_row(context, said)]
    if failed := "\n".join(map(context.text, failures(context))):
        rows.append(_row(context, "failed", item=_("Why it failed"), explanation=failed))
    standing = context.summary.standing
    model = _("Simple scoring (no AI)") if standing and standing.stand_in else None
    known = standing_text(standing)
    rows.append(_row(context, "standing", item=_("Judge"), value=model, explanation=known))
    for asked in context.contested:
        wanted = _(
            "Reviewers call the answer to this question good and bad: {question} Write a rule into the"
            " column Why, for `learn` to try.",
            question=asked.question,
        )
        item = _("What does the desk want here?")
        rows.append(_row(context, f"{asked.key}/{DESK_QUESTION}", item=item, explanation=wanted))
    if context.change:
        since = _("{change} (since {run})", change=change_text(context.change), run=context.change.earlier)
        rows.append(_row(context, "change", item=_("Last run"), explanation=since))
    rows += [*_means(context), *_course(context)]
    # What became of the rows that the team had, which is counted while the sheet is written.
    rows += [_row(context, key, item=title, value=0) for key, title in _OUTCOMES.items()]
    return _worksheet("summary", context, tuple(rows))


def _decision_row(context: ReportContext, said: InDocument) -> SheetRow:
    """The team's decision beside the automatic one, in which it changes nothing."""
    decided, before = said.decision or ReleaseDecision(), said.decision_read or ReleaseDecision()
    row = _row(
        context,
        context.key("decision"),
        item=_("Decision ({run})", run=context.results.run.id),
        value=_verdict_cell(context, context.gate, trial=context.summary.trial),
        explanation=verdict(context.gate, trial=context.summary.trial),
        **{column: getattr(decided, field) or None for field, column in DECISION_COLUMNS.items()},
    )
    read = {column: getattr(before, field) for field, column in DECISION_COLUMNS.items()}
    return replace(row, read={column: CellRead(text, decided.by) for column, text in read.items()})


def _verdict_cell(context: ReportContext, gate: Gate, *, trial: bool) -> SheetCell:
    """The verdict in a word, with a colour for what may be relied on: a trial has none."""
    marks: dict[str | None, CellMark] = {"passed": "good", "missed": "red", "undecided": "warn", None: ""}
    mark = "" if trial else marks[gate.decision]
    word = _("No target") if gate.decision is None else verdict_word(gate, trial=trial)
    return text_cell(context.text(word), mark)


def _figure(context: ReportContext, key: str, item: Text, value: Content, basis: Text = "") -> SheetRow:
    """A row of the summary: what it is about, the figure, and what that rests on."""
    explanation = context.text(basis)
    # ▲ for those who see no colour; the figure itself is a number, and cannot carry it.
    if isinstance(value, SheetCell) and value.mark == "red":
        explanation = f"▲ {explanation}"
    return _row(context, key, item=item, value=value, explanation=explanation)


def _means(context: ReportContext) -> Iterator[SheetRow]:
    """The score, what needs review, and the means of judges and customers."""
    summary, titles, limit = context.summary, context.titles, context.summary.red.rules.overall
    figure = partial(_figure, context)
    if notice := trial_notice(summary):
        yield figure("standin", _("Played by simple versions (no AI)"), SheetCell("–", mark="warn"), notice)
    basis = [_held(summary.scores.graded, summary.planned)]
    if interval := interval_text(context):
        basis.append(interval)
    if context.gate.target is not None:
        basis.append(_("Target {target}", target=target_points(context.gate.target)))
    score = _mean(summary.scores.score, limit)
    yield figure("score", _("Score (0-100)"), score, _("{parts:dots}", parts=basis))
    yield figure("red", _("Answers to review"), summary.red.count, _red_of(summary))
    if summary.red.lapses:
        kinds = counts_text({kind: n for kind, n in summary.red.lapses.items() if n}, "lapse")
        yield figure("lapses", _("Lapses between answers"), sum(summary.red.lapses.values()), kinds)
    if outcomes := summary.red.expectations:
        unmet = outcomes["unmet"]
        yield figure("expectations", _("Expectations not met"), unmet, expectations_text(outcomes))
    for name, judge in summary.scores.judges.items():
        item = _("Judge: {judge}", judge=titles("judge", name))
        graded = _("graded {n} of {planned}", n=judge.n, planned=judge.planned)
        yield figure(f"judge.{name}", item, _mean(judge.mean, limit), graded)
    for person in summary.scores.personas:
        item = _("Customer: {persona}", persona=titles("persona", person.persona))
        held = _held(person.graded, person.conversations)
        yield figure(f"persona.{person.persona}", item, _mean(person.score, limit), held)


def _red_of(summary: Summary) -> Message:
    """Of how many turns so many are red, and how many of them are disputed."""
    text = _("{n} of {turns} answers", n=summary.red.count, turns=summary.turns)
    disputed = disputed_count(summary)
    return _("{red} ({disputed})", red=text, disputed=disputed) if disputed else text


def _held(n: int, planned: int) -> Message:
    return _("{n} of {planned} conversations graded", n=n, planned=planned)


def _course(context: ReportContext) -> Iterator[SheetRow]:
    """Answers that never came, and what sections say first."""
    summary, silent = context.summary, sum(context.summary.bot_failures.values())
    basis = _("{n} of {turns} answers", n=silent, turns=summary.turns)
    none = number_cell(silent, "warn" if silent else "")
    yield _figure(context, "no_answer", _("No answer"), none, basis)
    for section in context.sections:
        if section.line and not section.folded:
            yield _figure(context, section.key, section.title, None, section.line)


def _mean(value: float | None, limit: float | None) -> SheetCell:
    """A mean on the scale to 100; marked where it is below the limit for red."""
    if value is None:
        return SheetCell(text="–", mark="failed")
    mark: CellMark = "red" if limit and value < limit else ""
    # The worksheet rounds to what it shows; of 70.46 given as 70.5 it would make 71.
    return SheetCell(text=points(value, against=limit), number=round(100 * value, 4), mark=mark)


# --- History, and how every question did over the runs ---


def _history_sheet(context: ReportContext, runs: Sequence[PastRun]) -> Worksheet:
    """The row of this run below those of earlier ones; what a run has not is empty, and not a 0."""

    def row(run: PastRun) -> SheetRow:
        decided, target = run.release_decision, run.gate.target if run.gate else None
        return _row(
            context,
            run.run,
            date=zoned_time(run.created),
            score=None if run.score is None else _rounded(run.score),
            target=None if target is None else _rounded(target),
            verdict=_verdict_cell(context, run.gate, trial=run.trial) if run.gate else None,
            decision=decision_text(decided) if decided else None,
            red=run.red,
            turns=run.turns,
            no_answer=run.no_answer,
            seconds=round(run.seconds),
            cost=None if run.cost_usd is None else round(run.cost_usd, 4),
        )

    return _worksheet("history", context, tuple(map(row, runs)))


def _trends_sheet(context: ReportContext, runs: Sequence[PastRun]) -> Worksheet:
    """How every question did in the runs that were graded as this one was, what fell most first."""
    rows = [
        _row(
            context,
            safe_text(course.case),
            question=course.question,
            trend=sparkline(course.scores[-LAST:]),
            score=_rounded(course.scores[-1]),
            change=None if course.change is None else _rounded(course.change),
            runs=len(course.scores),
            run=course.run,
        )
        for course in question_courses(runs)[:MAX_QUOTED]
    ]
    return _worksheet("trends", context, rows)


def _rounded(share: float) -> float:
    """A share on the scale to 100, to one decimal."""
    return round(100 * share, 1)


# --- Questions ---


def _questions_sheet(context: ReportContext, tests: Sequence[Case]) -> Worksheet:
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


def cases_sheet(cases: Sequence[Case], text: Shown, language: Language, *, approved: str) -> Worksheet:
    """A row for each case, with titles as `text` shows them; `approved` is what is picked there."""
    rows = LazyRows(cases, lambda case: _question_row(case, text, language, approved=approved))
    return worksheet("questions", text, rows)


def _question_row(case: Case, text: Shown, language: Language, *, approved: str) -> SheetRow:
    """A question as it is first written; from then on it is the team's."""
    picked = {"handover": case.handover, "use": "yes", "approved": approved}
    if case.answerable is not None:
        picked["answerable"] = "yes" if case.answerable else "no"
    cells = _cells(
        text,
        question=case.question,
        reference="|".join(case.references_at(1)),
        category="|".join(case.tags),
        expect="\n".join(case.expect),
        gold="|".join(case.passages),
        goal=case.goal or "",
        facts="\n".join([*case.facts.knows, *(f"unknown: {fact}" for fact in case.facts.unknown)]),
        history=history_lines(case.history, language),
        **picked,
    )
    return SheetRow(case.id, cells)


def history_lines(history: Sequence[ChatMessage], language: Language) -> str:
    """Who said what before the question, line by line, as a question file has it."""
    return "\n".join(f"{SPEAKERS[language][line.role]}: {line.content}" for line in history)


# --- Conversations ---


def _conversations_sheet(context: ReportContext) -> Worksheet:
    """One row per conversation: config, then question, answer and grade, turn by turn."""
    # As many columns as the longest conversation has turns; those that were never begun have nothing to show.
    conversations = context.results.conversations.select("begun")
    longest = max(conversations.lengths(), default=0)
    rows = LazyRows(conversations, lambda conversation: _conversation_row(conversation, context))
    return _worksheet("conversations", context, rows, range(1, longest + 1))


def _conversation_row(conversation: Conversation, context: ReportContext) -> SheetRow:
    last = context.scores(conversation.id, len(conversation.turns)) if conversation.turns else {}
    whole, is_rows = last.get(CONVERSATION), context.summary.rows
    # The mean of these is the score of the run.
    score = context.summary.scores.by_conversation.get(conversation.id)
    values: dict[str, Content] = {
        "config": _about_cell(conversation, whole, context),
        "score": _mean(score, context.summary.red.rules.overall),
        "reference": expected_text(conversation.case) if is_rows else None,
    }
    if conversation.ended and not is_rows:
        values["ended"] = context.titles("ended", context.endings[conversation.id])
    for turn in conversation.turns:
        red, grade, _reason = _judged(conversation, turn, context)
        values[f"user{turn.index}"] = turn.user
        values[f"assistant{turn.index}"] = _answer_cell(turn, red, context)
        values[f"check{turn.index}"] = _grade_cell(grade, context)
    return _row(context, context.key(conversation.id), **values)


def _about_cell(conversation: Conversation, whole: Score | None, context: ReportContext) -> SheetCell:
    """Who came with which question, and when it was, a line each; `whole` is its own grade."""
    lines: list[Text] = []
    if not context.summary.rows:
        lines.append(_("Customer: {persona}", persona=context.titles("persona", conversation.persona)))
    lines.append(_("Question: {case}", case=conversation.case.id))
    if conversation.case.details:
        lines.append(details_text(conversation.case))
    if whole and whole.state == "scored":
        lines.append(_grade(CONVERSATION, whole, context))
    lines.append(zoned_time(context.results.run.created))
    lines.append(_("Run: {run}", run=context.results.run.id))
    return text_cell("\n".join(map(context.text, lines)), note=whole.reason if whole else "")


def _judged(
    conversation: Conversation, turn: Turn, context: ReportContext
) -> tuple[RedTurn | None, Score | None, str]:
    """Why a turn is red, the deciding judge's verdict, and the reason to be read first."""
    place = conversation.id, turn.index
    red, score = context.red.get(place), context.scores(*place).get(context.summary.scores.primary)
    return red, score, (red.reason if red else "") or (score.reason if score else "")


def _answer_cell(turn: Turn, red: RedTurn | None, context: ReportContext) -> SheetCell:
    """The answer; a red one begins with its marks on a line ("▲ Low grade, Incorrect"), its reason a note.

    One that is disputed is grey, and begins with △.
    """
    text = context.text(answer_text(turn, turn_failure(turn)))
    if red is None:
        return text_cell(text)
    mark: CellMark = "disputed" if red.is_disputed else "red"
    return text_cell(f"{context.text(mark_text(red))}\n{text}", mark, red.reason)


def _grade(judge: str, score: Score, context: ReportContext) -> Message:
    """What a judge gave: "Overall 4/5"."""
    grade = context.text(grade_text(score)).replace(" / ", "/")
    return _("{judge} {grade}", judge=context.titles("judge", judge), grade=grade)


def _grade_cell(score: Score | None, context: ReportContext) -> SheetCell:
    """The deciding judge's grade, conclusion and steps."""
    if score is None:
        return SheetCell(context.text(_("not graded")), mark="failed")
    graded = context.text(_grade(score.judge, score, context))
    if score.response is not None and score.response != "answered":
        graded = f"{graded} · {context.text(context.titles('response', score.response))}"
    steps = score.detail.get("steps")
    listed = [f"{n}. {step}" for n, step in enumerate(steps if isinstance(steps, list) else [], start=1)]
    return text_cell("\n".join([graded, score.reason, *listed]), "failed" if score.state == "failed" else "")


# --- Review ---


def _review_sheet(context: ReportContext, said: InDocument) -> Worksheet:
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
            # What is not graded has -1, and stands before what was graded well.
            value = score.value if score and score.value is not None else -1.0
            order = rank, value, conversation.id, turn.index
            reviewed = _Reviewed(order, conversation, turn)
            answers.setdefault(key_of(conversation, turn), []).append(reviewed)
    ranked = sorted(((sorted(turns), key) for key, turns in answers.items()), key=lambda each: each[0][0])
    red = sum(turns[0].order[0] < len(places) for turns, _key in ranked)
    # Only the worst of them may be over the line by mistake.
    ranked = ranked[: most or red + NOT_RED_SHOWN]
    rows = LazyRows(ranked, lambda answer: _review_row(answer[1], answer[0], context, said))
    sheet = _worksheet("review", context, rows)
    if most is None:
        return sheet
    part = _("The run is large: here are its {n} most serious answers.", n=len(rows))
    return sheet.model_copy(update={"help": context.text(sentences(part, sheet.help))})


class _Reviewed(NamedTuple):
    """A turn to review, in the order of rank among red turns, then grade; no two have the same order."""

    order: tuple[int, float, str, int]
    conversation: Conversation
    turn: Turn


def _review_row(key: str, turns: Sequence[_Reviewed], context: ReportContext, said: InDocument) -> SheetRow:
    """The row of an answer: what is said of the first of the turns in which it was given."""
    _order, conversation, turn = turns[0]
    run = context.results.run.id
    red, _score, reason = _judged(conversation, turn, context)
    question: Text = turn.user
    if turn.index > 1:  # after the question that it is about
        asked = excerpt(conversation.case.question)
        question = _("{question} → message {n}: {line}", question=asked, n=turn.index, line=turn.user)
    spoken = next(filter(None, (said.words.get((t.conversation.id, t.turn.index)) for t in turns)), None)
    word = spoken.word if spoken else None
    picked = _texts(word) if word else {}
    row = _row(
        context,
        key,
        severity=SEVERITIES[worst_severity(red.marks)] if red else "",
        state=("disputed" if red.is_disputed else "new") if red else "",
        disputed=dispute_text(red.dispute) if red and red.dispute else "",
        # The worksheet of a data set has no such column.
        persona=None if context.summary.rows else _customers(turns, context),
        conversation=SheetCell(safe_text(_places_of(turns)), row=context.key(conversation.id)),
        reference="\n".join(map(context.text, right_answers(conversation.case, turn.index))),
        question=question,
        answer=_answer_cell(turn, red, context),
        reason=reason,
        expect="\n".join(_expected(conversation, word, context)),
        # Beside the team's own.
        likely_cause=context.cause_sentence(conversation.id, turn.index) if red else "",
        passages=_passages(turn),
        earlier=_earlier(conversation, turn, context),
        since=run,
        run=run,
        **{name: text for name, text in picked.items() if text},
    )
    return replace(row, read=_read(spoken, said.document) if spoken else {})


def _texts(word: HumanVerdict) -> dict[str, str]:
    """The team's cells of an answer: ids of what was picked, and texts."""
    texts: dict[str, str] = {name: getattr(word, name) or "" for name in WORDS if name != "expect"}
    return texts | {"make_test": "yes" if word.make_test else ""}


def _read(spoken: Spoken, document: str) -> dict[str, CellRead]:
    """What the team's cells of an answer said when the document was last read or written."""
    before = spoken.read.get(document)
    texts = _texts(before) if before else dict.fromkeys(_texts(spoken.word), "")
    writers: dict[str, str] = {name: row.reviewer for name, row in spoken.by.items()}
    return {name: CellRead(text, writers.get(name, "")) for name, text in texts.items()}


def _expected(conversation: Conversation, word: HumanVerdict | None, context: ReportContext) -> Iterator[str]:
    """What the case expects, a sentence a line, with what became of each where a judge looked.

    Then what the team wrote that the answer should have done.
    """
    states = {row["sentence"]: row["state"] for row in context.expected(conversation.id)}
    for sentence in conversation.case.expect:
        said = safe_text(sentence)
        if state := states.get(sentence):
            outcome = context.titles("outcome", state)
            said = context.text(_("{sentence} ({state})", sentence=said, state=outcome))
        yield said
    for line in word.expect.splitlines() if word else ():
        if line.strip() and line not in conversation.case.expect:
            yield context.text(_("{sentence} (your team)", sentence=safe_text(line.strip())))


def _customers(turns: Sequence[_Reviewed], context: ReportContext) -> Message:
    """Who got an answer and how often, the gravest first."""
    counts = Counter(context.titles("persona", turn.conversation.persona) for turn in turns)
    names = [name if n == 1 else _("{customer} × {n}", customer=name, n=n) for name, n in counts.items()]
    return _("{parts}", parts=names)


def _places_of(turns: Sequence[_Reviewed]) -> str:
    """The first conversations and answers in them, as the worksheet of conversations calls their rows."""
    places = [f"{conversation.id} ({turn.index})" for _order, conversation, turn in turns]
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
    # Read in the order of the plan, shown in the order of the sample.
    turns = {(held[0].id, held[1].index): held for held in select_turns(context.results, sample)}
    rows = [
        _row(
            context,
            context.key(conversation.id, turn.index),
            earlier=_earlier(conversation, turn, context),
            question=turn.user,
            passages=_passages(turn),
            answer=_answer_cell(turn, None, context),
        )
        for conversation, turn in (turns[place] for place in sample)
    ]
    return _worksheet("blind", context, rows)


# --- Fixes ---


def _fixes_sheet(context: ReportContext) -> Worksheet:
    """What to fix, the largest gain first."""
    improvements = context.improvements
    fixes = improvements.fixes if improvements else ()
    foretells = bool(improvements and improvements.foretells)
    # The questions of the cases, as the review knows them: asked again, they show whether a fix is done.
    conversations = context.results.conversations if fixes else ()
    questions = {conversation.case.id: question_key(conversation.case) for conversation in conversations}

    def row(fix: Fix) -> SheetRow:
        (first, root), run = fix.examples[0], context.results.run.id
        said = context.text(changed(cause_sentence(root), excerpt))
        cause = text_cell(context.text(TITLES["cause"][fix.cause]), note=said)
        return _row(
            context,
            safe_text(fix.key),
            rank=fix.rank,
            what=fix.what,
            who=fix.who,
            found_cause=cause,
            sure=STANDING_NAMES[fix.standing],
            gain=_rounded(fix.gain) if foretells else None,
            turns=len(fix.turns),
            question=first.question,
            answer=context.text(failure_text(first.failure)) or first.answer,
            reason=first.reason,
            state="disputed" if fix.is_disputed else "new",
            since=run,
            run=run,
            rests_on=" ".join(sorted({questions[case] for case in fix.cases})),
        )

    return _worksheet("fixes", context, LazyRows(fixes, row))
