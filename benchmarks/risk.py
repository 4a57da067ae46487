"""`make bench-risk`: how far verdicts of the judge `risk` agree with labels written before its prompt.

risk.toml has the answers and their labels, risk_replies.json what readers wrote who saw the requests alone.
`python -m benchmarks.risk --record NAME` asks the usual endpoint instead, and keeps its replies under NAME.
"""

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulator.shelves.judges.risk import risk

from simulator.core import shelves
from simulator.core.concurrency import for_each
from simulator.core.roles import endpoints
from simulator.core.settings import load_settings
from simulator.core.templates import fingerprint, read_toml
from simulator.core.types import Answer, Case, ChatMessage, GradingContext, Language, Passage, Score, Turn
from simulator.grading.model_judge import FormFiller
from simulator.grading.rubric import PromptFrame, load_form, read_rules
from simulator.models.by_role import Models
from simulator.models.limiter import GRADING
from simulator.models.pricing import Ledger

HERE = Path(__file__).parent
REPLIES = HERE / "risk_replies.json"
LANGUAGES: tuple[Language, ...] = ("ja", "en")
FRAME = PromptFrame(shelves.JUDGES / "_frame.toml", shelves.JUDGES / "_guidelines.toml")
FORM, RULES = load_form("risk"), read_rules(None)


class Labelled(NamedTuple):
    """An answer, and the rules that its writer says it breaks, or keeps where it had occasion to."""

    context: GradingContext
    broken: frozenset[str]
    kept: frozenset[str]


def labelled() -> list[Labelled]:
    """The rows, Japanese ones first."""
    tables = read_toml(HERE / "risk.toml")
    return [_labelled(row, language) for language in LANGUAGES for row in tables[language]]


def _labelled(row: Mapping[str, Any], language: Language) -> Labelled:
    roles = ("user", "assistant")
    lines = enumerate(row.get("earlier", ()))
    history = tuple(ChatMessage(role=roles[at % 2], content=line) for at, line in lines)
    case = Case(id=row["id"], question=row["question"], language=language, history=history)
    passages = tuple(Passage(id=str(at), text=text) for at, text in enumerate(row["passages"], 1))
    answer = Answer(text=row["answer"], passages=passages, shows_passages=True)
    turn = Turn(index=1, user=case.question, answer=answer)
    context = GradingContext(conversation=case.id, case=case, persona="-", turn=turn)
    return Labelled(context, frozenset(row["broken"]), frozenset(row["kept"]))


def request_of(row: Labelled) -> list[dict[str, str]]:
    """The messages that the judge sends."""
    return FRAME.prompt(row.context, [FORM], alone=True)


def prompt_hash(rows: Sequence[Labelled]) -> str:
    """Stands for all requests."""
    return fingerprint(*(json.dumps(request_of(row), ensure_ascii=False) for row in rows))


async def verdicts_on(row: Labelled, reply: Mapping[str, Any]) -> dict[str, str]:
    """What the judge makes of a reply: a verdict for every rule."""

    async def fill(_context: GradingContext, _name: str) -> Any:
        return FORM.form.model_validate(reply)

    score: Score = await risk(row.context, RULES, fill)
    found: Any = score.detail["rules"]
    return {each["rule"]: each["verdict"] for each in found}


async def record(rows: Sequence[Labelled]) -> dict[str, Any]:
    """The replies of the judge's model, row by row."""
    settings = load_settings({})
    models = Models(endpoints(settings), settings, Ledger.of(settings))
    model = models.role("judge", temperature=0.0, priority=GRADING)
    if model is None:
        raise SystemExit("no endpoint: set OPENAI_API_KEY or OPENAI_BASE_URL")
    fill = FormFiller(lambda name, _case: load_form(name), FRAME, model, settings.seed)

    async def replied(row: Labelled) -> tuple[str, Any]:
        return row.context.case.id, (await fill(row.context, "risk")).model_dump()

    try:
        return dict(await for_each(rows, replied, settings.calls))
    finally:
        await models.close()


async def figures(rows: Sequence[Labelled], replies: Mapping[str, Any]) -> list[str]:
    """How many of the broken rules were found, how many alarms were right, and every difference."""
    hits = alarms = labels = red = agreed = occasions = 0
    differences = []
    for row in rows:
        found = await verdicts_on(row, replies[row.context.case.id])
        broken = {rule for rule, verdict in found.items() if verdict == "broken"}
        hits, alarms, labels = hits + len(broken & row.broken), alarms + len(broken), labels + len(row.broken)
        red += bool(broken) == bool(row.broken)
        occasions += len(row.kept)
        agreed += sum(found[rule] == "kept" for rule in row.kept)
        for sign, rules in (("missed", row.broken - broken), ("alarm", broken - row.broken)):
            differences += [f"    {sign}: {row.context.case.id} {rule}" for rule in sorted(rules)]
    return [
        f"  broken rules found {hits} of {labels}, alarms that are right {hits} of {alarms}",
        f"  answers on the right side (red or not) {red} of {len(rows)}",
        f"  kept rules recognised as kept, not untested {agreed} of {occasions}",
        *differences,
    ]


def main() -> None:
    """Prints the figures of every reader in both languages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", metavar="NAME", help="ask the endpoint, and keep its replies")
    name, rows = parser.parse_args().record, labelled()
    kept = json.loads(REPLIES.read_text(encoding="utf-8")) if REPLIES.is_file() else {}
    if name:
        kept[name] = {"prompt": prompt_hash(rows), "replies": asyncio.run(record(rows))}
        REPLIES.write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")
    if not kept:
        print("risk                skipped: nobody has answered its requests yet (--record NAME)")
    for reader, reading in kept.items():
        edited = "" if reading["prompt"] == prompt_hash(rows) else ", of an EARLIER prompt"
        for language in LANGUAGES:
            part = [row for row in rows if row.context.case.language == language]
            print(f"{reader}, {language}: {len(part)} answers{edited}")
            print("\n".join(asyncio.run(figures(part, reading["replies"]))))


if __name__ == "__main__":
    main()
