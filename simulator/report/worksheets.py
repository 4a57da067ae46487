"""A run as worksheets: what the team sees in a Google Sheet or an Excel workbook."""

import json
from collections.abc import Iterable, Iterator, Sequence

from simulator.core.document import JST, Notes, Section, Table, Tone
from simulator.core.document import Facts as FactList
from simulator.core.translations import points, safe_text, target_points
from simulator.core.types import Case, Conversation, Facts, Language, Message, Score, Turn
from simulator.report import fixes
from simulator.report.comparison import TEXTS, replay_note
from simulator.report.context import ReportContext, verdict
from simulator.report.customers import customers_section
from simulator.report.fixes import cause_text
from simulator.report.gate import conditions_table
from simulator.report.tables import answer_text, expected_text, grade_text, mark_text
from simulator.sheets.model import (
    Chart,
    Column,
    LazyRows,
    Mark,
    Row,
    SheetCell,
    SheetWords,
    Worksheet,
    text_cell,
)
from simulator.stats.figures import JudgeSummary, Summary
from simulator.stats.gate import Gate
from simulator.stats.red import RANK, worst_severity
from simulator.stats.review import blind_sample
from simulator.stats.summary import MAX_QUOTED, turn_failure
from simulator.storage.results import select_conversations
from simulator.storage.runs import replay_of

MINUTE = 60
_MARKS: dict[Tone, Mark] = {"alarm": "warn", "good": "good"}


def summary_sheet(context: ReportContext) -> Worksheet:
    """The verdict with the people's decision beside it, then every figure with what it rests on."""
    words = context.words
    columns = (
        words.column("key", width=8),
        words.column("item", width=30),
        words.column("value", width=16),
        words.column("explanation", width=40, wrap=True),
        words.team("decision", "decision", width=16),
        words.team("approver", width=14),
        words.team("decided", kind="date", width=12),
        words.team("why", width=34, wrap=True),
    )
    return Worksheet(
        name="summary",
        title=words("sheet", "summary"),
        columns=columns,
        rows=tuple(_summary_rows(context)),
        frozen_columns=2,
        help=words("help", "summary"),
    )


def _summary_rows(context: ReportContext) -> Iterator[Row]:
    summary, words = context.summary, context.words
    yield _decision(context)
    if summary.offline:
        nothing = SheetCell(text="–", mark="warn")
        yield _row("standin", context.names("standin"), nothing, context.names("standin_why"))
    if conditions := conditions_table(context.gate, context.names):
        yield from _table_rows(Section("gate", conditions.title), conditions.model_copy(update={"title": ""}))
    yield _row("score", words("item", "score"), _number(summary.score, context), _score_basis(context))
    of_turns = words("text", "of_turns", n=summary.red, turns=summary.turns)
    yield _row("red", words("item", "red"), _count(summary.red), of_turns)
    for name, judge in summary.judges.items():
        title = words("item", "judge", judge=context.names.name("judge", name))
        yield _row(f"judge.{name}", title, _number(judge.mean, context), _judge_basis(judge, context))
    for person in summary.personas:
        persona = context.names.name("persona", person.persona)
        graded = words("text", "conversations_n", n=person.graded, planned=person.conversations)
        value = _number(person.score, context)
        yield _row(f"persona.{person.persona}", words("item", "persona", persona=persona), value, graded)
        for name, mean in person.judges.items():
            title = words("item", "persona_judge", persona=persona, judge=context.names.name("judge", name))
            coverage = words("text", "graded", n=mean.n, planned=mean.planned)
            yield _row(f"persona.{person.persona}.{name}", title, _number(mean.mean, context), coverage)
    yield from _course_rows(context)


def _decision(context: ReportContext) -> Row:
    """The automatic verdict; the team's own stands beside it and changes nothing in the program."""
    key, mark = _verdict_key(context.gate, context.summary)
    explanation = verdict(context.gate, context.summary.score, context.names)
    return Row(
        key=context.key("decision"),
        cells={
            "item": SheetCell(text=context.words("item", "decision", run=context.results.run.id)),
            "value": SheetCell(text=context.words("verdict", key), mark=mark),
            "explanation": text_cell(explanation),
        },
    )


def _verdict_key(gate: Gate, summary: Summary) -> tuple[str, Mark]:
    if gate.passed is None:
        return "no_target", ""
    if gate.passed:
        return "passed", "good"
    unclear = gate.incomplete or summary.score is None or (gate.conditions and gate.decision == "undecided")
    return ("undecided", "warn") if unclear else ("missed", "red")


def _score_basis(context: ReportContext) -> str:
    summary, words = context.summary, context.words
    parts = [words("text", "conversations_n", n=summary.graded, planned=summary.planned)]
    if summary.interval:
        low, high = map(points, summary.interval)
        parts.append(words("text", "interval", low=low, high=high))
    if context.gate.target is not None:
        parts.append(f"{words('column', 'target')} {target_points(context.gate.target)}")
    return " / ".join(parts)


def _judge_basis(judge: JudgeSummary, context: ReportContext) -> str:
    words = context.words
    parts = [words("text", "graded", n=judge.n, planned=judge.planned)]
    parts += [words("text", "skipped", n=judge.skipped)] if judge.skipped else []
    parts += [words("text", "failed", n=judge.failed)] if judge.failed else []
    return " / ".join(parts)


def _course_rows(context: ReportContext) -> Iterator[Row]:
    summary, words = context.summary, context.words
    if replay := replay_note(context.results.run, context.language):
        origin = SheetCell(text=safe_text(replay_of(context.results.run) or ""))
        yield _row("replay_of", TEXTS(context.language, "note_replay"), origin, replay)
    for how, count in () if summary.rows else summary.ended.items():
        title = words("item", "ended", how=context.names.name("ended", how))
        yield _row(f"ended.{how}", title, _count(count), "")
    for name, judge in summary.judges.items():
        if judge.failed:
            title = words("item", "failed_judge", judge=context.names.name("judge", name))
            yield _row(f"failed.{name}", title, _count(judge.failed), "")
    silent = sum(summary.bot_failures.values())
    of_turns = words("text", "of_turns", n=silent, turns=summary.turns)
    yield _row("no_answer", words("item", "no_answer"), _count(silent, "warn" if silent else ""), of_turns)
    played = None if summary.rows else customers_section(summary.simulator, context.names, {})
    for section in (*([played] if played else []), *context.answerable, *context.sections):
        yield from _section_rows(section)
    yield _row("seconds", words("item", "seconds"), SheetCell(text=_duration(summary.seconds, context)), "")
    yield _row("cost", words("item", "cost"), SheetCell(text=_cost(summary, context)), "")


def _section_rows(section: Section) -> Iterator[Row]:
    """What a section says; each row of its tables with the figure that counts, the other cells beside it."""
    yield _row(section.key, section.title, SheetCell(text=""), section.line)
    for block in section.blocks:
        if isinstance(block, Table):
            yield from _table_rows(section, block)
        elif isinstance(block, FactList):
            for fact in block.facts:
                names = tuple(filter(None, (block.title, fact.name)))
                key, title = ".".join((section.key, *names)), "：".join((section.title, *names))
                yield _row(key, title, SheetCell(text=""), fact.text)
        elif isinstance(block, Notes):
            alarms = (line.text for line in block.lines if line.tone == "alarm")
            for number, text in enumerate(alarms, 1):
                yield _row(
                    f"{section.key}.caution.{number}", section.title, SheetCell(text="", mark="warn"), text
                )


def _table_rows(section: Section, table: Table) -> Iterator[Row]:
    title = "：".join(filter(None, (section.title, table.title)))
    for row in table.rows:
        name, figure = row[0], row[table.counts]
        cells = enumerate(zip(table.columns, row, strict=True))
        others = [
            f"{column} {cell.text}"
            for place, (column, cell) in cells
            if cell.text and place not in (0, table.counts)
        ]
        explanation = " / ".join([*filter(None, [figure.note]), *others])
        mark: Mark = "red" if figure.red else _MARKS.get(figure.tone, "")
        value = SheetCell(text=figure.text, number=figure.number, mark=mark)
        key = f"{section.key}.{table.name}.{name.text}"
        yield _row(key, f"{title}：{name.text} ({table.columns[table.counts]})", value, explanation)


def _duration(seconds: float, context: ReportContext) -> str:
    minutes, rest = divmod(round(seconds), MINUTE)
    if not minutes:
        return context.words("text", "seconds", seconds=rest)
    return context.words("text", "minutes", minutes=minutes, seconds=rest)


def _cost(summary: Summary, context: ReportContext) -> str:
    if not summary.spending:
        return context.words("text", "no_calls")
    if summary.cost_usd is None:
        return context.words("text", "unknown")
    return context.words("text", "usd", amount=f"{summary.cost_usd:.2f}")


def _row(key: str, title: str, value: SheetCell, explanation: str) -> Row:
    if value.mark == "red":
        explanation = f"▲ {explanation}"
    return Row(
        key=key,
        cells={
            "item": SheetCell(text=safe_text(title)),
            "value": value,
            "explanation": text_cell(explanation),
        },
    )


def _count(n: int, mark: Mark = "") -> SheetCell:
    return SheetCell(text=str(n), number=n, mark=mark)


def _number(value: float | None, context: ReportContext) -> SheetCell:
    """A mean on the scale to 100; marked where it is below the limit for red."""
    if value is None:
        return SheetCell(text="–", mark="failed")
    limit = context.summary.rules.overall
    return SheetCell(
        text=points(value, against=limit),
        number=round(100 * value, 1),
        mark="red" if limit and value < limit else "",
    )


def history_sheet(context: ReportContext) -> Worksheet:
    """The row of this run, which goes to those of earlier ones, with a picture of how the score developed."""
    words = context.words
    shown_columns = ("date", "score", "target", "verdict", "red", "turns", "no_answer", "seconds", "cost")
    numeric = {"score", "target", "red", "turns", "no_answer", "seconds", "cost"}
    columns = (
        words.column("key", width=30),
        *(words.column(key, width=16, kind="number" if key in numeric else "text") for key in shown_columns),
    )
    return Worksheet(
        name="history",
        title=words("sheet", "history"),
        columns=columns,
        rows=(_history_row(context),),
        chart=Chart(title=words("column", "score"), x="date", ys=("score", "target")),
        help=words("help", "history"),
    )


def _history_row(context: ReportContext) -> Row:
    summary, gate, run = context.summary, context.gate, context.results.run
    key, mark = _verdict_key(gate, summary)
    silent = sum(summary.bot_failures.values())
    figures: dict[str, float | None] = {
        "score": None if summary.score is None else round(100 * summary.score, 1),
        "target": None if gate.target is None else round(100 * gate.target, 1),
        "red": summary.red,
        "turns": summary.turns,
        "no_answer": silent,
        "seconds": round(summary.seconds),
        "cost": None if summary.cost_usd is None else round(summary.cost_usd, 4),
    }
    cells = {key: SheetCell(text=f"{n:g}", number=n) for key, n in figures.items() if n is not None}
    created = run.created.astimezone(JST)
    cells |= {
        "date": SheetCell(text=f"{created:%Y/%m/%d %H:%M}"),
        "verdict": SheetCell(text=context.words("verdict", key), mark=mark),
    }
    return Row(key=run.id, cells=cells)


def technical_sheet(context: ReportContext) -> Worksheet:
    """Models, versions, prompt hashes, settings, tokens and statistics, by name."""
    words = context.words
    columns = (
        words.column("key", width=30),
        words.column("value", width=60, wrap=True),
    )
    rows = tuple(Row(key=key, cells={"value": text_cell(value)}) for key, value in _technical(context))
    return Worksheet(
        name="technical",
        title=words("sheet", "technical"),
        columns=columns,
        rows=rows,
        help=words("help", "technical"),
    )


def _technical(context: ReportContext) -> Iterator[tuple[str, str]]:
    run, summary = context.results.run, context.summary
    yield "run", run.id
    yield "created", run.created.isoformat()
    yield "offline", str(run.offline).lower()
    for table, values in (("version", run.versions), ("model", run.models), ("prompt", run.prompts)):
        for key, value in sorted(values.items()):
            yield f"{table}.{key}", value
    for key, setting in sorted(run.settings.items()):
        yield (
            f"setting.{key}",
            setting if isinstance(setting, str) else json.dumps(setting, ensure_ascii=False),
        )
    for role, spent in summary.spending.items():
        yield f"calls.{role}", f"{spent.calls} (+{spent.cached} cached)"
        yield f"tokens.{role}", f"{spent.tokens_in} in, {spent.tokens_out} out"
        for model, each in summary.usage.get(role, {}).items():
            cost = "price unknown" if each.cost_usd is None else f"{each.cost_usd:.4f} USD"
            yield f"usage.{role}.{model}", f"{each.tokens_in} in, {each.tokens_out} out, {cost}"
    for name, judge in summary.judges.items():
        yield f"judge.{name}.stderr", "" if judge.stderr is None else f"{judge.stderr:.4f}"
        yield f"judge.{name}.raw_mean", "" if judge.raw_mean is None else f"{judge.raw_mean:.4f}"
        yield f"judge.{name}.rubric", ", ".join(judge.rubrics)


# Who speaks, as question files name them.
SPEAKERS: dict[Language, dict[str, str]] = {
    "ja": {"user": "お客様", "assistant": "窓口"},
    "en": {"user": "User", "assistant": "Assistant"},
}


def questions_sheet(context: ReportContext, proposed: tuple[Case, ...] = ()) -> Worksheet:
    """The questions of this run, in use and approved; `proposed` ones wait for approval below them."""
    # The questions of a large data set stay in its own file.
    shown = () if context.results.is_sampled else context.results.conversations
    asked = {conversation.case.id: conversation.case for conversation in shown}
    cases = [(case, True) for case in asked.values()]
    cases += [(case, False) for case in proposed if case.id not in asked]
    return _questions_sheet(cases, context.words)


def proposals_sheet(cases: Sequence[Case], language: Language) -> Worksheet:
    """Questions that wait for approval, without a run."""
    return _questions_sheet([(case, False) for case in cases], SheetWords(language))


def _questions_sheet(cases: Sequence[tuple[Case, bool]], words: SheetWords) -> Worksheet:
    """Each case, and whether it is approved."""
    columns = (
        words.column("key", width=8),
        words.team("question", width=44, wrap=True),
        words.team("reference", width=44, wrap=True),
        words.team("answerable", "answerable", width=14),
        words.team("handover", "handover", width=14),
        words.team("category", width=16),
        words.team("use", "use", width=12),
        words.team("approved", "approved", width=12),
        words.team("gold", width=22, wrap=True),
        words.team("goal", width=30, wrap=True),
        words.team("facts", width=30, wrap=True),
        words.team("history", width=30, wrap=True),
    )
    return Worksheet(
        name="questions",
        title=words("sheet", "questions"),
        columns=columns,
        rows=LazyRows(cases, lambda case: question_row(case[0], words, approved=case[1])),
        frozen_columns=2,
        help=words("help", "questions"),
    )


def question_row(case: Case, words: SheetWords, *, approved: bool) -> Row:
    """A question as it is first written; from then on it is the team's."""
    answerable = "" if case.answerable is None else words("answerable", "yes" if case.answerable else "no")
    cells = {
        "question": text_cell(case.question),
        "reference": text_cell("|".join(case.references_at(1))),
        "answerable": SheetCell(text=answerable),
        "handover": SheetCell(text=words("handover", case.handover)),
        "category": text_cell("|".join(case.tags)),
        "use": SheetCell(text=words("use", "yes")),
        "approved": SheetCell(text=words("approved", "yes" if approved else "no")),
        "gold": text_cell("|".join(case.passages)),
        "goal": text_cell(case.goal or ""),
        "facts": text_cell(_facts(case.facts)),
        "history": text_cell(history_lines(case.history, words.language)),
    }
    return Row(key=case.id, cells=cells)


def _facts(facts: Facts) -> str:
    """One fact a line, as a question file has them."""
    return "\n".join([*facts.knows, *(f"unknown: {text}" for text in facts.unknown)])


def history_lines(history: Sequence[Message], language: Language) -> str:
    """Who said what before the question, line by line, as a question file has it."""
    return "\n".join(f"{SPEAKERS[language][line.role]}: {line.content}" for line in history)


# Earlier turns and passages of a row are cut to this, in characters.
LONGEST = 4000
NOT_RED = 9
# In larger runs the reason stands in its own column only: notes are most of the size of a workbook.
NOTED_TURNS = 5_000


def conversations_sheet(context: ReportContext) -> Worksheet:
    """One row per conversation: config, then question, answer and grade, turn by turn."""
    words, conversations = context.words, context.results.conversations.select("begun")
    longest = max(conversations.lengths(), default=0)
    turn_columns = [
        Column(key=f"{kind}{n}", title=words("column", kind, n=n), width=34, wrap=True)
        for n in range(1, longest + 1)
        for kind in ("user", "assistant", "check")
    ]
    columns = (
        words.column("key", width=8),
        words.column("config", kind="json", width=24, wrap=True),
        *(() if not context.summary.rows else (words.column("reference", width=34, wrap=True),)),
        *turn_columns,
    )
    return Worksheet(
        name="conversations",
        title=words("sheet", "conversations"),
        columns=columns,
        rows=LazyRows(conversations, lambda conversation: _conversation_row(conversation, context)),
        frozen_columns=2,
        help=words("help", "conversations"),
    )


def _conversation_row(conversation: Conversation, context: ReportContext) -> Row:
    cells = {"config": SheetCell(text=config(conversation, context))}
    if context.summary.rows:
        cells["reference"] = text_cell(expected_text(conversation.case))
    for turn in conversation.turns:
        red = context.red.get((conversation.id, turn.index))
        verdict = context.scores.get((conversation.id, turn.index), {}).get(context.summary.primary)
        mark, answer = _answer_cell(conversation, turn, context)
        note = safe_text((red.reason if red else "") or (verdict.reason if verdict else ""))
        cells[f"user{turn.index}"] = text_cell(turn.user)
        cells[f"assistant{turn.index}"] = SheetCell(text=answer, mark=mark, note=note)
        cells[f"check{turn.index}"] = _grade_cell(verdict, context)
    return Row(key=context.key(conversation.id), cells=cells)


def config(conversation: Conversation, context: ReportContext) -> str:
    """Date (in Japan), persona, case, run and ending, as the JSON of the first column."""
    created = context.results.run.created.astimezone(JST)
    about = {
        "date": f"{created:%Y/%m/%d %H:%M:%S}",
        "persona": conversation.persona,
        "case": conversation.case.id,
        "run": context.results.run.id,
        "ended": conversation.ended.value if conversation.ended else None,
    }
    if context.summary.rows:
        about = {key: about[key] for key in ("date", "case", "run")}
    return safe_text(json.dumps(about, ensure_ascii=False))


def _answer_cell(conversation: Conversation, turn: Turn, context: ReportContext) -> tuple[Mark, str]:
    """How the cell of the answer is marked, and its text, which begins with the marks of a red turn."""
    red = context.red.get((conversation.id, turn.index))
    text = answer_text(turn, turn_failure(turn), context.names)
    return ("red", f"{mark_text(red, context.names)}\n{text}") if red else ("", text)


def _grade_cell(verdict: Score | None, context: ReportContext) -> SheetCell:
    """The deciding judge's grade, conclusion and steps; with `--check json` its whole reply."""
    if verdict is None:
        return SheetCell(text=context.names("failed"), mark="failed")
    if context.check == "json":
        return text_cell(json.dumps(verdict.detail, ensure_ascii=False))
    graded = (
        f"{context.names.name('judge', verdict.judge)} {grade_text(verdict, context.names).replace(' ', '')}"
    )
    steps = verdict.detail.get("steps")
    listed = [f"{n}. {step}" for n, step in enumerate(steps if isinstance(steps, list) else [], start=1)]
    mark: Mark = "failed" if verdict.state == "failed" else ""
    return text_cell("\n".join([graded, verdict.reason, *listed]), mark)


def review_sheet(context: ReportContext) -> Worksheet:
    """One row per turn, reddest first, with the columns in which the team answers.

    Of a large data set only the gravest red rows are there.
    """
    words = context.words
    columns = (
        words.column("key", width=8),
        words.column("severity", width=10),
        *(() if context.summary.rows else (words.column("persona", width=14),)),
        words.column("question", width=34, wrap=True),
        words.column("answer", width=44, wrap=True),
        words.column("reason", width=40, wrap=True),
        words.team("judge_is", "judge_is", width=16, help=words("column_help", "judge_is")),
        words.column("likely_cause", width=18),
        words.team("cause", "cause", width=14),
        words.team("correct_answer", width=34, wrap=True, help=words("column_help", "correct_answer")),
        words.team("comment", width=28, wrap=True),
        words.team("assignee", width=12),
        words.team("checked", kind="date", width=12),
        words.team("status", "status", width=14),
        words.column("scores", width=26, wrap=True),
        words.column("passages", width=44, wrap=True),
        words.column("earlier", width=34, wrap=True),
        words.column("run", width=16),
    )
    turns = sorted(_turns(context), key=lambda pair: _gravity(pair[0], pair[1], context))
    return Worksheet(
        name="review",
        title=words("sheet", "review"),
        columns=columns,
        rows=LazyRows(turns, lambda pair: _review_row(pair[0], pair[1], context)),
        frozen_columns=2,
        help=words("help", "review"),
    )


def _turns(context: ReportContext) -> Iterator[tuple[Conversation, Turn]]:
    conversations: Iterable[Conversation] = context.results.conversations
    if context.results.is_sampled:  # nobody reviews more rows than these
        reddest = context.summary.reddest[:MAX_QUOTED]
        conversations = context.results.conversations.with_ids([red.conversation for red in reddest])
    for conversation in conversations:
        for turn in conversation.turns:
            yield conversation, turn


def _gravity(conversation: Conversation, turn: Turn, context: ReportContext) -> tuple[int, float, str, int]:
    """Red before the others, gravest first, then the lowest grade; ungraded turns before good ones."""
    red = context.red.get((conversation.id, turn.index))
    verdict = context.scores.get((conversation.id, turn.index), {}).get(context.summary.primary)
    value = verdict.value if verdict and verdict.value is not None else -1.0
    return RANK[worst_severity(red.marks)] if red else NOT_RED, value, conversation.id, turn.index


def _review_row(conversation: Conversation, turn: Turn, context: ReportContext) -> Row:
    red = context.red.get((conversation.id, turn.index))
    verdict = context.scores.get((conversation.id, turn.index), {}).get(context.summary.primary)
    mark, answer = _answer_cell(conversation, turn, context)
    reason = (red.reason if red else "") or (verdict.reason if verdict else "")
    note = safe_text(reason) if context.summary.turns <= NOTED_TURNS else ""
    cells = {
        "severity": SheetCell(text=context.words("severity", worst_severity(red.marks)) if red else ""),
        **(
            {}
            if context.summary.rows
            else {"persona": text_cell(context.names.name("persona", conversation.persona))}
        ),
        "question": text_cell(turn.user),
        "answer": SheetCell(text=answer, mark=mark, note=note),
        "reason": text_cell(reason),
        "likely_cause": _likely_cause(conversation, turn, context),
        "scores": text_cell(scores_text(conversation, turn, context)),
        "passages": text_cell(passages_text(turn)),
        "earlier": text_cell(earlier_text(conversation, turn, context)),
        "run": SheetCell(text=context.results.run.id),
    }
    return Row(key=context.key(conversation.id, turn.index), cells=cells)


def _likely_cause(conversation: Conversation, turn: Turn, context: ReportContext) -> SheetCell:
    """The likely cause as a suggestion beside the team's own; its note says why."""
    blame = context.causes.get((conversation.id, turn.index))
    if blame is None:
        return SheetCell()
    return text_cell(cause_text(blame.cause, blame.sure, context.language), note=blame.evidence)


def scores_text(conversation: Conversation, turn: Turn, context: ReportContext) -> str:
    """Every judge's grade, one after the other."""
    graded = context.scores.get((conversation.id, turn.index), {})
    listed = [name for name in context.summary.judges if name in graded]
    grades = [(context.names.name("judge", name), grade_text(graded[name], context.names)) for name in listed]
    return context.names("comma").join(f"{name} {grade.replace(' / ', '/')}" for name, grade in grades)


def passages_text(turn: Turn) -> str:
    """The passages that the bot retrieved, in their order, as far as they fit."""
    return "\n\n".join(f"[{passage.id}] {passage.text}" for passage in turn.answer.passages)[:LONGEST]


def earlier_text(conversation: Conversation, turn: Turn, context: ReportContext) -> str:
    """The turns before this one; the newest are kept where there are too many."""
    customer, desk = context.words("text", "customer"), context.words("text", "desk")
    lines = [
        line
        for before in conversation.turns
        if before.index < turn.index
        for line in (f"{customer}: {before.user}", f"{desk}: {before.answer.text}")
    ]
    return "\n".join(lines)[-LONGEST:]


def blind_sheet(context: ReportContext) -> Worksheet:
    """A sample to be graded without sight of any score, in an order that says nothing."""
    words = context.words
    scale = words("column_help", "grade")
    columns = (
        words.column("key", width=8),
        words.column("earlier", width=34, wrap=True),
        words.column("question", width=34, wrap=True),
        words.column("passages", width=44, wrap=True),
        words.column("answer", width=44, wrap=True),
        words.team("grade_1", "grade", width=14, help=scale),
        words.team("comment_1", width=28, wrap=True),
        words.team("grade_2", "grade", width=14, help=scale),
        words.team("comment_2", width=28, wrap=True),
    )
    sample = blind_sample(context.results, context.summary)
    conversations = select_conversations(context.results, {drawn.conversation for drawn in sample})
    turns = {
        (conversation.id, turn.index): (conversation, turn)
        for _, conversation in conversations
        for turn in conversation.turns
    }
    return Worksheet(
        name="blind",
        title=words("sheet", "blind"),
        columns=columns,
        rows=tuple(_blind_row(*turns[drawn.conversation, drawn.turn], context) for drawn in sample),
        help=words("help", "blind"),
    )


def _blind_row(conversation: Conversation, turn: Turn, context: ReportContext) -> Row:
    cells = {
        "earlier": text_cell(earlier_text(conversation, turn, context)),
        "question": text_cell(turn.user),
        "passages": text_cell(passages_text(turn)),
        "answer": text_cell(answer_text(turn, turn_failure(turn), context.names)),
    }
    return Row(key=context.key(conversation.id, turn.index), cells=cells)


def worksheets(context: ReportContext) -> tuple[Worksheet, ...]:
    """All worksheets, in the order of their tabs: what decides first, technical details last."""
    return (
        summary_sheet(context),
        review_sheet(context),
        fixes.fixes_sheet(context),
        conversations_sheet(context),
        blind_sheet(context),
        questions_sheet(context),
        history_sheet(context),
        technical_sheet(context),
    )
