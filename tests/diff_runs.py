"""Two runs for tests of `diff`: questions, personas and grades, turn by turn."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from simulator.core import shelves
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import (
    Answer,
    Case,
    Conversation,
    Ended,
    Passage,
    RedRules,
    Results,
    Run,
    Score,
    Turn,
    Utterance,
)
from simulator.results.comparison import RunComparison, RunFigures
from simulator.results.figures import Summary
from simulator.results.gate import Gate, gate_of
from simulator.results.summary import figures_of, summarise
from simulator.storage.run_file import RunFile

Key = tuple[str, str, int]
Grades = Mapping[Key, Sequence[float]]
START = datetime(2026, 11, 21, 9, tzinfo=UTC)


def grades_of(values: Mapping[str, float] | Sequence[float], persona: str = "calm") -> dict[Key, list[float]]:
    """One turn each: by case, or case-0, case-1, ... in order."""
    named = values if isinstance(values, Mapping) else {f"case-{i}": v for i, v in enumerate(values)}
    return {(case, persona, 1): [value] for case, value in named.items()}


def a_result(
    grades: Grades,
    run: str = "before",
    *,
    days: int = 0,
    judges: Sequence[str] = ("turn",),
    rubric: str = "r1",
    tags: Mapping[str, tuple[str, ...]] | None = None,
    lines: str = "質問",
    **settings: Any,
) -> Results:
    """A finished run with these grades (0..1), the same by every judge."""
    conversations = [
        _talk(key, values, (tags or {}).get(key[0], ()), lines) for key, values in grades.items()
    ]
    scores = [
        Score(
            judge=judge, conversation=conversation.id, turn=index, state="scored", value=value, raw=5 * value,
            rubric=f"{judge}-{rubric}", reason=f"{run} {value:g}",
        )
        for conversation, values in zip(conversations, grades.values(), strict=True)
        for index, value in enumerate(values, 1)
        for judge in judges
    ]  # fmt: skip
    whole = Settings(**({"judges": judges, "offline": True} | settings)).stored_values()
    about = Run(
        id=run, created=START + timedelta(days=days), settings=whole, status="finished",
        models={"user": "m", "judge": "m"}, prompts={"user:calm": "p"},
    )  # fmt: skip
    return Results(
        run=about, planned=len(conversations), conversations=tuple(conversations), scores=tuple(scores)
    )


def _talk(key: Key, values: Sequence[float], tags: tuple[str, ...], lines: str) -> Conversation:
    case, persona, repeat = key
    asked = Case(id=case, question=f"{case}ですか", references=("はい",), language="ja", tags=tags)
    turns = tuple(
        Turn(
            index=i,
            user=asked.question if i == 1 else f"{lines}{i}",
            answer=Answer(text=f"{case}は{v:g}です"),
        )
        for i, v in enumerate(values, 1)
    )
    return Conversation(
        id=f"{persona}/{case}#{repeat}", case=asked, persona=persona, repeat=repeat, turns=turns,
        ended=Ended.TURN_LIMIT,
    )  # fmt: skip


def with_cases(results: Results, **fields: Mapping[str, Any]) -> Results:
    """The run with other fields of these cases, by id; `case_0` is case-0."""
    by_case = {name.replace("_", "-"): update for name, update in fields.items()}
    talks = (
        talk.model_copy(update={"case": talk.case.model_copy(update=by_case.get(talk.case.id, {}))})
        for talk in results.conversations
    )
    return results.model_copy(update={"conversations": tuple(talks)})


def with_answers(results: Results, answers: Sequence[str]) -> Results:
    """The run with these first answers, one for each conversation."""
    talks = []
    for talk, text in zip(results.conversations, answers, strict=True):
        first, *later = talk.turns
        answer = first.answer.model_copy(update={"text": text})
        turns = (first.model_copy(update={"answer": answer}), *later)
        talks.append(talk.model_copy(update={"turns": turns}))
    return results.model_copy(update={"conversations": tuple(talks)})


def with_passages(results: Results, came: Sequence[Sequence[str]]) -> Results:
    """The run with passages of these ids for the first answer of each conversation."""
    talks = []
    for talk, ids in zip(results.conversations, came, strict=True):
        first, *later = talk.turns
        passages = tuple(Passage(id=id_, text=id_) for id_ in ids)
        answer = first.answer.model_copy(update={"passages": passages})
        turns = (first.model_copy(update={"answer": answer}), *later)
        talks.append(talk.model_copy(update={"turns": turns}))
    return results.model_copy(update={"conversations": tuple(talks)})


def a_side(grades: Grades, run: str = "before", **more: Any) -> RunFigures:
    """The run with its figures."""
    return side_of(a_result(grades, run, **more))


def side_of(results: Results) -> RunFigures:
    """Figures by the usual rules, in the order in which the judges graded."""
    judges = tuple(dict.fromkeys(score.judge for score in results.scores))
    return RunFigures(results, summarise(results, rules=RedRules(), judges=judges, seed=42))


def measured(results: Results) -> tuple[Summary, Gate]:
    """Figures and gate of a run by its own settings."""
    settings = stored_settings(results.run.settings)
    summary = figures_of(results, settings)
    return summary, gate_of(results, summary, settings)


def compare(before: RunFigures, after: RunFigures) -> RunComparison:
    """What `diff` works out of two runs."""
    return RunComparison(before, after)


def stored(results: Results, runs: Path = Path("runs")) -> Path:
    """The run as a run file."""
    unplayed = {"turns": (), "ended": None}
    plan = [conversation.model_copy(update=unplayed) for conversation in results.conversations]
    names = dict.fromkeys(conversation.persona for conversation in plan)
    personas = [shelves.persona(name) for name in names if name != "scripted"]
    file = RunFile.create(runs / results.run.id, results.run, plan, personas)
    for conversation in results.conversations:
        for turn in conversation.turns:
            file.save_utterance(conversation.id, turn.index, Utterance(text=turn.user))
            file.save_answer(conversation.id, turn.index, turn.answer)
        if conversation.ended:
            file.save_ending(conversation.id, conversation.ended, "", "")
    file.save_scores(results.scores)
    file.close()
    return file.path
