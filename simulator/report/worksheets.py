"""A run as worksheets: what the team sees in a Google Sheet or an Excel workbook."""

import json
from collections.abc import Iterable, Iterator, Sequence

from simulator.core.document import JST
from simulator.core.translations import goal, plain, points
from simulator.core.types import Case, Conversation, Facts, Language, Message, Results, Score, Turn
from simulator.report import customers, features, fixes
from simulator.report.comparison import TEXTS, replay_note
from simulator.report.context import ReportContext
from simulator.report.context import verdict as in_words
from simulator.report.extras import load_text
from simulator.report.fixes import cause_text
from simulator.report.gate import condition_text, decision_text, range_text, rests_on, value_text
from simulator.report.run import sections
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
from simulator.stats.red import RANK, worst
from simulator.stats.review import blind_sample
from simulator.stats.summary import QUOTED, turn_failure
from simulator.storage.results import StoredConversations, picked
from simulator.storage.runs import replay_of

MINUTE = 60


def summary_sheet(told: ReportContext) -> Worksheet:
    """The verdict with the people's decision beside it, then every figure with what it rests on."""
    words = told.words
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
        rows=tuple(_summary_rows(told)),
        frozen_columns=2,
        help=words("help", "summary"),
    )


def _summary_rows(told: ReportContext) -> Iterator[Row]:
    summary, words = told.summary, told.words
    yield _decision(told)
    if summary.offline:
        nothing = SheetCell(text="–", mark="warn")
        yield _row("standin", told.names("standin"), nothing, told.names("standin_why"))
    yield from _conditions(told)
    yield _row("score", words("item", "score"), _number(summary.score, told), _score_rests_on(told))
    of_turns = words("text", "of_turns", n=summary.red, turns=summary.turns)
    yield _row("red", words("item", "red"), SheetCell(text=str(summary.red), number=summary.red), of_turns)
    for name, judge in summary.judges.items():
        title = words("item", "judge", judge=told.names.name("judge", name))
        yield _row(f"judge.{name}", title, _number(judge.mean, told), _counts(judge, told))
    for person in summary.personas:
        called = told.names.name("persona", person.persona)
        held = words("text", "conversations_n", n=person.graded, planned=person.conversations)
        value = _number(person.score, told)
        yield _row(f"persona.{person.persona}", words("item", "persona", persona=called), value, held)
        for name, mean in person.judges.items():
            title = words("item", "persona_judge", persona=called, judge=told.names.name("judge", name))
            rests = words("text", "graded", n=mean.n, planned=mean.planned)
            yield _row(f"persona.{person.persona}.{name}", title, _number(mean.mean, told), rests)
    yield from _how_it_went(told)


def _decision(told: ReportContext) -> Row:
    """The automatic verdict; the team's own stands beside it and changes nothing in the program."""
    verdict, mark = _verdict(told.gate, told.summary)
    text = told.words("verdict", verdict)
    why = in_words(told.gate, told.summary.score, told.names)
    return Row(
        key=told.key("decision"),
        cells={
            "item": SheetCell(text=told.words("item", "decision", run=told.results.run.id)),
            "value": SheetCell(text=text, mark=mark),
            "explanation": text_cell(why),
        },
    )


def _verdict(gate: Gate, summary: Summary) -> tuple[str, Mark]:
    if gate.passed is None:
        return "no_target", ""
    if gate.passed:
        return "passed", "good"
    unclear = gate.incomplete or summary.score is None or (gate.conditions and gate.decision == "undecided")
    return ("undecided", "warn") if unclear else ("missed", "red")


def _conditions(told: ReportContext) -> Iterator[Row]:
    """What the gate asked for, where it is more than one thing."""
    marks: dict[str, Mark] = {"passed": "good", "missed": "red", "undecided": "warn"}
    conditions = told.gate.conditions if len(told.gate.conditions) > 1 else ()
    for checked in conditions:
        verdict = decision_text(checked, told.names, told.gate.confidence)
        decision = SheetCell(text=verdict, mark=marks[checked.decision])
        said = (
            value_text(checked, told.names),
            range_text(checked, told.names),
            rests_on(checked, told.names),
        )
        rests = " / ".join(text for text in said if text)
        yield _row(f"gate.{checked.condition.text}", condition_text(checked, told.names), decision, rests)


def _score_rests_on(told: ReportContext) -> str:
    summary, words = told.summary, told.words
    said = [words("text", "conversations_n", n=summary.graded, planned=summary.planned)]
    if summary.interval:
        low, high = map(points, summary.interval)
        said.append(words("text", "interval", low=low, high=high))
    if told.gate.target is not None:
        said.append(f"{words('column', 'target')} {goal(told.gate.target)}")
    return " / ".join(said)


def _counts(judge: JudgeSummary, told: ReportContext) -> str:
    words = told.words
    said = [words("text", "graded", n=judge.n, planned=judge.planned)]
    said += [words("text", "skipped", n=judge.skipped)] if judge.skipped else []
    said += [words("text", "failed", n=judge.failed)] if judge.failed else []
    return " / ".join(said)


def _how_it_went(told: ReportContext) -> Iterator[Row]:
    summary, words = told.summary, told.words
    if replay := replay_note(told.results.run, told.language):
        origin = SheetCell(text=plain(replay_of(told.results.run) or ""))
        yield _row("replay_of", TEXTS(told.language, "note_replay"), origin, replay)
    for how, count in () if summary.rows else summary.ended.items():
        title = words("item", "ended", how=told.names.name("ended", how))
        yield _row(f"ended.{how}", title, SheetCell(text=str(count), number=count), "")
    for name, judge in summary.judges.items():
        if judge.failed:
            title = words("item", "failed_judge", judge=told.names.name("judge", name))
            yield _row(f"failed.{name}", title, SheetCell(text=str(judge.failed), number=judge.failed), "")
    silent = sum(summary.bot_failures.values())
    mark: Mark = "warn" if silent else ""
    of_turns = words("text", "of_turns", n=silent, turns=summary.turns)
    value = SheetCell(text=str(silent), number=silent, mark=mark)
    yield _row("no_answer", words("item", "no_answer"), value, of_turns)
    yield from () if summary.rows else _customers(told)
    yield from _answerable(told)
    yield from _sections(told)
    yield from _load(told)
    yield _row("seconds", words("item", "seconds"), SheetCell(text=_time(summary.seconds, told)), "")
    yield _row("cost", words("item", "cost"), SheetCell(text=_cost(summary, told)), "")


def _load(told: ReportContext) -> Iterator[Row]:
    """What a load rehearsal came to: of times the 95th percentile, in seconds."""
    load = load_text(told.results, told.summary, told.names)
    if load is None:
        return
    yield _row("load", load.title, SheetCell(text=""), load.headline)
    for fact in load.facts:
        yield _row(f"load.{fact.key}", fact.item, SheetCell(text=fact.p95_text, number=fact.p95), fact.value)
    for number, each in enumerate(load.cautions, 1):
        yield _row(f"load.caution.{number}", load.title, SheetCell(text="", mark="warn"), each)


def _answerable(told: ReportContext) -> Iterator[Row]:
    """What was answered and declined, handed over and kept where it should be, in percent."""
    for grid in features.grids(told.results, told.language):
        for row in grid.rows:
            counts = [f"{name} {n}" for name, n in zip(grid.columns, row.counts, strict=True)]
            rests = " / ".join(filter(None, (*counts, row.interval)))
            percent = None if row.rate is None else round(100 * row.rate, 1)
            value = SheetCell(text="–" if percent is None else f"{percent:g}", number=percent)
            yield _row(f"answered.{row.key}", f"{grid.title}：{row.title} (%)", value, rests)


def _sections(told: ReportContext) -> Iterator[Row]:
    """What only runs of this kind have: each row of a table with its figure, the others beside it."""
    for section in sections(told.results, told.language):
        yield _row(section.key, section.title, SheetCell(text=""), section.line)
        for table in section.tables:
            title = "：".join(filter(None, (section.title, table.title)))
            for row in table.rows:
                name, figure = row[0], row[table.counts]
                beside = [f"{c} {o.text}" for c, o in zip(table.columns, row, strict=True)]
                others = [text for at, text in enumerate(beside) if at not in (0, table.counts)]
                rests = " / ".join([*filter(None, [figure.note]), *others])
                value = SheetCell(text=figure.text, number=figure.number, mark="red" if figure.red else "")
                key = f"{section.key}.{table.name}.{name.text}"
                yield _row(key, f"{title}：{name.text} ({table.columns[table.counts]})", value, rests)


def _customers(told: ReportContext) -> Iterator[Row]:
    """How the customers were played: what stands out, then each figure in percent."""
    played, title = told.summary.simulator, customers.TEXT(told.language, "title")
    if said := customers.sentences(played, told.language):
        faults = sum(played.customers.faults.values())
        value = SheetCell(text=str(faults), number=faults, mark="warn" if faults else "")
        yield _row("customers", title, value, " / ".join(said))
    for row in customers.figure_rows(played.customers, told.language):
        rests = " / ".join(filter(None, (row.rests_on, row.goal)))
        value = SheetCell(text=row.value, number=row.percent, mark="warn" if row.met is False else "")
        yield _row(f"customers.{row.key}", f"{title}：{row.name} (%)", value, rests)


def _time(seconds: float, told: ReportContext) -> str:
    minutes, rest = divmod(round(seconds), MINUTE)
    if not minutes:
        return told.words("text", "seconds", seconds=rest)
    return told.words("text", "minutes", minutes=minutes, seconds=rest)


def _cost(summary: Summary, told: ReportContext) -> str:
    if not summary.spending:
        return told.words("text", "no_calls")
    if summary.cost_usd is None:
        return told.words("text", "unknown")
    return told.words("text", "usd", amount=f"{summary.cost_usd:.2f}")


def _row(key: str, title: str, value: SheetCell, explanation: str) -> Row:
    if value.mark == "red":
        explanation = f"▲ {explanation}"
    return Row(
        key=key,
        cells={"item": SheetCell(text=plain(title)), "value": value, "explanation": text_cell(explanation)},
    )


def _number(value: float | None, told: ReportContext) -> SheetCell:
    """A mean on the scale to 100; marked where it is below the limit for red."""
    if value is None:
        return SheetCell(text="–", mark="failed")
    limit = told.summary.rules.overall
    return SheetCell(
        text=points(value, against=limit),
        number=round(100 * value, 1),
        mark="red" if limit and value < limit else "",
    )


def history_sheet(told: ReportContext) -> Worksheet:
    """A row for each run, the newest first, with a picture of how the score developed."""
    words = told.words
    shown = ("date", "score", "target", "verdict", "red", "turns", "no_answer", "seconds", "cost")
    numeric = {"score", "target", "red", "turns", "no_answer", "seconds", "cost"}
    columns = (
        words.column("key", width=30),
        *(words.column(key, width=16, kind="number" if key in numeric else "text") for key in shown),
    )
    runs = [(told.results, told.summary, told.gate), *told.past]
    ordered = sorted(runs, key=lambda each: each[0].run.id, reverse=True)
    return Worksheet(
        name="history",
        title=words("sheet", "history"),
        columns=columns,
        rows=tuple(_history(*each, told) for each in ordered),
        chart=Chart(title=words("column", "score"), x="date", ys=("score", "target")),
        help=words("help", "history"),
    )


def _history(results: Results, summary: Summary, gate: Gate, told: ReportContext) -> Row:
    verdict, mark = _verdict(gate, summary)
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
    created = results.run.created.astimezone(JST)
    cells |= {
        "date": SheetCell(text=f"{created:%Y/%m/%d %H:%M}"),
        "verdict": SheetCell(text=told.words("verdict", verdict), mark=mark),
    }
    return Row(key=results.run.id, cells=cells)


def technical_sheet(told: ReportContext) -> Worksheet:
    """Models, versions, prompt hashes, settings, tokens and statistics, by name."""
    words = told.words
    columns = (
        words.column("key", width=30),
        words.column("value", width=60, wrap=True),
    )
    rows = tuple(Row(key=key, cells={"value": text_cell(value)}) for key, value in _technical(told))
    return Worksheet(
        name="technical",
        title=words("sheet", "technical"),
        columns=columns,
        rows=rows,
        help=words("help", "technical"),
    )


def _technical(told: ReportContext) -> Iterator[tuple[str, str]]:
    run, summary = told.results.run, told.summary
    yield "run", run.id
    yield "created", run.created.isoformat()
    yield "offline", str(run.offline).lower()
    for table, values in (("version", run.versions), ("model", run.models), ("prompt", run.prompts)):
        for key, value in sorted(values.items()):
            yield f"{table}.{key}", value
    for key, setting in sorted(run.settings.items()):
        shown = setting if isinstance(setting, str) else json.dumps(setting, ensure_ascii=False)
        yield f"setting.{key}", shown
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


def questions_sheet(told: ReportContext, proposed: tuple[Case, ...] = ()) -> Worksheet:
    """The questions of this run, in use and approved; `proposed` ones wait for approval below them."""
    conversations = told.results.conversations
    kept = (
        () if isinstance(conversations, StoredConversations) else conversations
    )  # a large data set stays in its own file
    asked = {conversation.case.id: conversation.case for conversation in kept}
    cases = [(case, True) for case in asked.values()]
    cases += [(case, False) for case in proposed if case.id not in asked]
    return _sheet(cases, told.words)


def proposals_sheet(cases: Sequence[Case], language: Language) -> Worksheet:
    """Questions that wait for approval, without a run."""
    words = SheetWords(language)
    return _sheet([(case, False) for case in cases], words)


def _sheet(cases: Sequence[tuple[Case, bool]], words: SheetWords) -> Worksheet:
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
        rows=LazyRows(cases, lambda each: question_row(each[0], words, approved=each[1])),
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


# Earlier turns and passages that a row shows at most, in characters.
LONGEST = 4000
NOT_RED = 9
# In larger runs the reason stands in its own column only: notes are the larger part of what a workbook takes.
NOTED_TURNS = 5_000


def conversations_sheet(told: ReportContext) -> Worksheet:
    """One row per conversation: config, then what was said and graded, turn by turn."""
    words, conversations = told.words, _begun(told)
    longest = (
        1
        if isinstance(conversations, StoredConversations)
        else max((len(conversation.turns) for conversation in conversations), default=0)
    )
    spoken = [
        Column(key=f"{kind}{n}", title=words("column", kind, n=n), width=34, wrap=True)
        for n in range(1, longest + 1)
        for kind in ("user", "assistant", "check")
    ]
    columns = (
        words.column("key", width=8),
        words.column("config", kind="json", width=24, wrap=True),
        *(() if not told.summary.rows else (words.column("reference", width=34, wrap=True),)),
        *spoken,
    )
    return Worksheet(
        name="conversations",
        title=words("sheet", "conversations"),
        columns=columns,
        rows=LazyRows(conversations, lambda conversation: _conversation(conversation, told)),
        frozen_columns=2,
        help=words("help", "conversations"),
    )


def _begun(told: ReportContext) -> Sequence[Conversation]:
    """The conversations with a turn; those of a large data set are read one by one."""
    conversations = told.results.conversations
    return (
        conversations.begun()
        if isinstance(conversations, StoredConversations)
        else [conversation for conversation in conversations if conversation.turns]
    )


def _conversation(conversation: Conversation, told: ReportContext) -> Row:
    cells = {"config": SheetCell(text=config(conversation, told))}
    if told.summary.rows:
        cells["reference"] = text_cell(expected_text(conversation.case))
    for turn in conversation.turns:
        red = told.red.get((conversation.id, turn.index))
        verdict = told.scores.get((conversation.id, turn.index), {}).get(told.summary.primary)
        mark, answer = _answer(conversation, turn, told)
        note = plain((red.reason if red else "") or (verdict.reason if verdict else ""))
        cells[f"user{turn.index}"] = text_cell(turn.user)
        cells[f"assistant{turn.index}"] = SheetCell(text=answer, mark=mark, note=note)
        cells[f"check{turn.index}"] = _check(verdict, told)
    return Row(key=told.key(conversation.id), cells=cells)


def config(conversation: Conversation, told: ReportContext) -> str:
    """What the conversation was held with, as the JSON of the first column; the time is that of Japan."""
    told_at = told.results.run.created.astimezone(JST)
    about = {
        "date": f"{told_at:%Y/%m/%d %H:%M:%S}",
        "persona": conversation.persona,
        "case": conversation.case.id,
        "run": told.results.run.id,
        "ended": conversation.ended.value if conversation.ended else None,
    }
    if told.summary.rows:
        about = {key: about[key] for key in ("date", "case", "run")}
    return plain(json.dumps(about, ensure_ascii=False))


def _answer(conversation: Conversation, turn: Turn, told: ReportContext) -> tuple[Mark, str]:
    """How the answer's cell is marked, and its text; a red one says so before its first word."""
    red = told.red.get((conversation.id, turn.index))
    text = answer_text(turn, turn_failure(turn), told.names)
    return ("red", f"{mark_text(red, told.names)}\n{text}") if red else ("", text)


def _check(verdict: Score | None, told: ReportContext) -> SheetCell:
    """The deciding judge's grade, conclusion and steps; or, on request, its form as it was filled in."""
    if verdict is None:
        return SheetCell(text=told.names("failed"), mark="failed")
    if told.check == "json":
        return text_cell(json.dumps(verdict.detail, ensure_ascii=False))
    graded = f"{told.names.name('judge', verdict.judge)} {grade_text(verdict, told.names).replace(' ', '')}"
    steps = verdict.detail.get("steps")
    listed = [f"{n}. {step}" for n, step in enumerate(steps if isinstance(steps, list) else [], start=1)]
    mark: Mark = "failed" if verdict.state == "failed" else ""
    return text_cell("\n".join([graded, verdict.reason, *listed]), mark)


def review_sheet(told: ReportContext) -> Worksheet:
    """One row per turn, reddest first, with the columns in which the team answers.

    Of a large data set only the gravest red rows are there.
    """
    words = told.words
    columns = (
        words.column("key", width=8),
        words.column("severity", width=10),
        *(() if told.summary.rows else (words.column("persona", width=14),)),
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
    turns = sorted(_turns(told), key=lambda each: _gravity(each[0], each[1], told))
    return Worksheet(
        name="review",
        title=words("sheet", "review"),
        columns=columns,
        rows=LazyRows(turns, lambda each: _review(each[0], each[1], told)),
        frozen_columns=2,
        help=words("help", "review"),
    )


def _turns(told: ReportContext) -> Iterator[tuple[Conversation, Turn]]:
    conversations: Iterable[Conversation] = told.results.conversations
    if isinstance(conversations, StoredConversations):  # nobody looks through more of them than these
        conversations = conversations.some([red.conversation for red in told.summary.reddest[:QUOTED]])
    for conversation in conversations:
        for turn in conversation.turns:
            yield conversation, turn


def _gravity(conversation: Conversation, turn: Turn, told: ReportContext) -> tuple[int, float, str, int]:
    """Red before the others, gravest first, then the lowest grade; ungraded turns before good ones."""
    red = told.red.get((conversation.id, turn.index))
    verdict = told.scores.get((conversation.id, turn.index), {}).get(told.summary.primary)
    value = verdict.value if verdict and verdict.value is not None else -1.0
    return RANK[worst(red.marks)] if red else NOT_RED, value, conversation.id, turn.index


def _review(conversation: Conversation, turn: Turn, told: ReportContext) -> Row:
    red = told.red.get((conversation.id, turn.index))
    verdict = told.scores.get((conversation.id, turn.index), {}).get(told.summary.primary)
    mark, answer = _answer(conversation, turn, told)
    reason = (red.reason if red else "") or (verdict.reason if verdict else "")
    note = plain(reason) if told.summary.turns <= NOTED_TURNS else ""
    cells = {
        "severity": SheetCell(text=told.words("severity", worst(red.marks)) if red else ""),
        **(
            {}
            if told.summary.rows
            else {"persona": text_cell(told.names.name("persona", conversation.persona))}
        ),
        "question": text_cell(turn.user),
        "answer": SheetCell(text=answer, mark=mark, note=note),
        "reason": text_cell(reason),
        "likely_cause": _likely_cause(conversation, turn, told),
        "scores": text_cell(scores_text(conversation, turn, told)),
        "passages": text_cell(passages_text(turn)),
        "earlier": text_cell(earlier_text(conversation, turn, told)),
        "run": SheetCell(text=told.results.run.id),
    }
    return Row(key=told.key(conversation.id, turn.index), cells=cells)


def _likely_cause(conversation: Conversation, turn: Turn, told: ReportContext) -> SheetCell:
    """The cause that was found, as a suggestion beside the team's own; its note says why."""
    blame = told.causes.get((conversation.id, turn.index))
    if blame is None:
        return SheetCell()
    return text_cell(cause_text(blame.cause, blame.sure, told.language), note=blame.evidence)


def scores_text(conversation: Conversation, turn: Turn, told: ReportContext) -> str:
    """Every judge's grade, one after the other."""
    graded = told.scores.get((conversation.id, turn.index), {})
    listed = [name for name in told.summary.judges if name in graded]
    grades = [(told.names.name("judge", name), grade_text(graded[name], told.names)) for name in listed]
    return told.names("comma").join(f"{name} {grade.replace(' / ', '/')}" for name, grade in grades)


def passages_text(turn: Turn) -> str:
    """What the bot had retrieved, whole passages first come first served."""
    return "\n\n".join(f"[{passage.id}] {passage.text}" for passage in turn.answer.passages)[:LONGEST]


def earlier_text(conversation: Conversation, turn: Turn, told: ReportContext) -> str:
    """The turns before this one; the newest are kept where there are too many."""
    customer, desk = told.words("text", "customer"), told.words("text", "desk")
    lines = [
        line
        for before in conversation.turns
        if before.index < turn.index
        for line in (f"{customer}: {before.user}", f"{desk}: {before.answer.text}")
    ]
    return "\n".join(lines)[-LONGEST:]


def blind_sheet(told: ReportContext) -> Worksheet:
    """A sample to be graded without sight of any score, in an order that says nothing."""
    words = told.words
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
    sample = blind_sample(told.results, told.summary)
    drawn_from = picked(told.results, {drawn.conversation for drawn in sample})
    turns = {
        (conversation.id, turn.index): (conversation, turn)
        for _, conversation in drawn_from
        for turn in conversation.turns
    }
    return Worksheet(
        name="blind",
        title=words("sheet", "blind"),
        columns=columns,
        rows=tuple(_blind(*turns[drawn.conversation, drawn.turn], told) for drawn in sample),
        help=words("help", "blind"),
    )


def _blind(conversation: Conversation, turn: Turn, told: ReportContext) -> Row:
    cells = {
        "earlier": text_cell(earlier_text(conversation, turn, told)),
        "question": text_cell(turn.user),
        "passages": text_cell(passages_text(turn)),
        "answer": text_cell(answer_text(turn, turn_failure(turn), told.names)),
    }
    return Row(key=told.key(conversation.id, turn.index), cells=cells)


def worksheets(told: ReportContext) -> tuple[Worksheet, ...]:
    """All worksheets, in the order of their tabs: what decides first, what repeats the run last."""
    return (
        summary_sheet(told),
        review_sheet(told),
        fixes.fixes_sheet(told),
        conversations_sheet(told),
        blind_sheet(told),
        questions_sheet(told),
        history_sheet(told),
        technical_sheet(told),
    )
