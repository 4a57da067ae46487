"""The worksheets that hold figures: what came of the run, how runs developed, and how to repeat it."""

import json
from collections.abc import Iterator

from simulator.core.document import JST
from simulator.core.translations import goal, plain, points
from simulator.core.types import Results
from simulator.reports import answerable, customers
from simulator.reports.change_words import TEXTS, replay_note
from simulator.reports.extras import load_text
from simulator.reports.gate_words import condition_text, decision_text, range_text, rests_on, value_text
from simulator.reports.notes import verdict as in_words
from simulator.reports.sections import sections
from simulator.reports.told import Told
from simulator.sheets.model import Chart, Mark, Row, SheetCell, Worksheet, text_cell
from simulator.stats.figures import JudgeSummary, Summary
from simulator.stats.gate import Gate
from simulator.storage.runs import replay_of

MINUTE = 60


def summary_sheet(told: Told) -> Worksheet:
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


def _summary_rows(told: Told) -> Iterator[Row]:
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


def _decision(told: Told) -> Row:
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


def _conditions(told: Told) -> Iterator[Row]:
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


def _score_rests_on(told: Told) -> str:
    summary, words = told.summary, told.words
    said = [words("text", "conversations_n", n=summary.graded, planned=summary.planned)]
    if summary.interval:
        low, high = map(points, summary.interval)
        said.append(words("text", "interval", low=low, high=high))
    if told.gate.target is not None:
        said.append(f"{words('column', 'target')} {goal(told.gate.target)}")
    return " / ".join(said)


def _counts(judge: JudgeSummary, told: Told) -> str:
    words = told.words
    said = [words("text", "graded", n=judge.n, planned=judge.planned)]
    said += [words("text", "skipped", n=judge.skipped)] if judge.skipped else []
    said += [words("text", "failed", n=judge.failed)] if judge.failed else []
    return " / ".join(said)


def _how_it_went(told: Told) -> Iterator[Row]:
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


def _load(told: Told) -> Iterator[Row]:
    """What a load rehearsal came to: of times the 95th percentile, in seconds."""
    load = load_text(told.results, told.summary, told.names)
    if load is None:
        return
    yield _row("load", load.title, SheetCell(text=""), load.headline)
    for fact in load.facts:
        yield _row(f"load.{fact.key}", fact.item, SheetCell(text=fact.p95_text, number=fact.p95), fact.value)
    for number, each in enumerate(load.cautions, 1):
        yield _row(f"load.caution.{number}", load.title, SheetCell(text="", mark="warn"), each)


def _answerable(told: Told) -> Iterator[Row]:
    """What was answered and declined, handed over and kept where it should be, in percent."""
    for grid in answerable.grids(told.results, told.language):
        for row in grid.rows:
            counts = [f"{name} {n}" for name, n in zip(grid.columns, row.counts, strict=True)]
            rests = " / ".join(filter(None, (*counts, row.interval)))
            percent = None if row.rate is None else round(100 * row.rate, 1)
            value = SheetCell(text="–" if percent is None else f"{percent:g}", number=percent)
            yield _row(f"answered.{row.key}", f"{grid.title}：{row.title} (%)", value, rests)


def _sections(told: Told) -> Iterator[Row]:
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


def _customers(told: Told) -> Iterator[Row]:
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


def _time(seconds: float, told: Told) -> str:
    minutes, rest = divmod(round(seconds), MINUTE)
    if not minutes:
        return told.words("text", "seconds", seconds=rest)
    return told.words("text", "minutes", minutes=minutes, seconds=rest)


def _cost(summary: Summary, told: Told) -> str:
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


def _number(value: float | None, told: Told) -> SheetCell:
    """A mean on the scale to 100; marked where it is below the limit for red."""
    if value is None:
        return SheetCell(text="–", mark="failed")
    limit = told.summary.rules.overall
    return SheetCell(
        text=points(value, against=limit),
        number=round(100 * value, 1),
        mark="red" if limit and value < limit else "",
    )


def history_sheet(told: Told) -> Worksheet:
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


def _history(results: Results, summary: Summary, gate: Gate, told: Told) -> Row:
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


def technical_sheet(told: Told) -> Worksheet:
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


def _technical(told: Told) -> Iterator[tuple[str, str]]:
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
