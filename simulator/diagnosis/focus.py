"""The failed cases as a question file of their own, and the command that asks only these again."""

import csv
import io
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.core.errors import InputError
from simulator.core.settings import Settings, flag, from_run
from simulator.core.types import Answer, Case, Results
from simulator.data.files import plain_suffix
from simulator.diagnosis.recommendations import Fix

Record = dict[str, Any]

# What a spreadsheet takes for a formula. A no-break space before it makes it text there, and is no part of
# the question when the file is read.
_FORMULA = tuple("=+-@＝＋－＠\t\r")
_SHIELD = "\u00a0"
# Joined by a bar where no item holds one.
_WORDS = frozenset({"passages", "tags"})
_SECRET = re.compile(r"key|token|secret|password|auth|header", re.IGNORECASE)
# What a short run has to share with the run it comes from, where that was not held by default.
_KEPT = (
    "adapter", "set", "turns", "repeats", "judges", "judging", "guidelines", "contacts", "ng_words",
    "voice_opening", "typos", "script", "offline", "user_model", "judge_model", "embed_model", "demo_model",
    "knowledge", "seed",
)  # fmt: skip


def failed_cases(results: Results, fixes: Iterable[Fix]) -> tuple[Case, ...]:
    """The cases behind some fixes, in the order in which the run asked them."""
    wanted = {key for fix in fixes for key in fix.cases}
    cases = {
        conversation.case.id: conversation.case
        for conversation in results.conversations
        if conversation.case.id in wanted
    }
    return tuple(cases.values())


def case_file(cases: Iterable[Case], path: Path) -> str:
    """The content of a question file with every column that a case fills; its suffix says which kind."""
    writer = _WRITERS.get(plain_suffix(path))
    if writer is None:
        msg = f"--focus {path}: write a {', '.join(_WRITERS)} file."
        raise InputError(msg)
    return writer([_record(case) for case in cases])


def again(results: Results, fixes: Iterable[Fix], path: Path) -> str:
    """The options of `run.py` that put the failed cases to the bot once more, to the personas concerned."""
    held = from_run(results.run.settings)
    bot = (
        ["--adapter", held.adapter] if held.adapter == Settings().adapter else []
    )  # asked of a file, it is named
    return shlex.join(["--cases", str(path), *_personas(results, fixes, held), *bot, *_kept(held)])


def replayed(results: Results, runs: str) -> str:
    """The options that say the very same lines again, in every conversation; `runs` is where the run is."""
    where = [] if runs == Settings().runs else [flag("runs"), runs]
    return shlex.join(["--replay", results.run.id, *_kept(from_run(results.run.settings)), *where])


def _personas(results: Results, fixes: Iterable[Fix], held: Settings) -> list[str]:
    """Who met a failure. Personas that were dealt by lot are dealt alike again: they are not named."""
    if not held.persona:
        return []
    met = {turn[0] for fix in fixes for turn in fix.turns}
    concerned = {conversation.persona for conversation in results.conversations if conversation.id in met}
    files = [name for name in held.persona if Path(name).suffix]
    known = {Path(name).stem for name in files}
    names = [*files, *sorted(concerned - known)]
    return [part for name in names for part in ("--persona", name)]


def _kept(held: Settings) -> list[str]:
    """The options that differ from their defaults."""
    usual, parts = Settings(), list[str]()
    for name in _KEPT:
        value = getattr(held, name)
        if value == getattr(usual, name):
            continue
        if isinstance(value, Mapping):
            parts += [part for key, text in value.items() for part in (flag(name), _pair(key, text))]
        elif value is True:
            parts.append(flag(name))
        else:
            parts += [flag(name), ",".join(value) if isinstance(value, tuple) else str(value)]
    return parts


def _pair(key: str, text: str) -> str:
    """A setting of the adapter; what may be a secret is not shown, and typed in again."""
    return f"{key}={'***' if _SECRET.search(key) else text}"


def _record(case: Case) -> Record:
    """The columns of a case; those that are empty are left out."""
    told = case.model_dump(mode="json", exclude={"facts", "answerable", "recorded", "history"})
    record = {key: value for key, value in told.items() if value not in (None, [], "")}
    if case.answerable is not None:
        record["answerable"] = "yes" if case.answerable else "no"
    if case.facts.knows or case.facts.unknown:
        record["facts"] = case.facts.model_dump(mode="json")
    if case.history:
        record["history"] = [line.model_dump() for line in case.history]
    if case.recorded:
        record["recorded"] = [_answer(answer) for answer in case.recorded]
    return record


def _answer(answer: Answer) -> Record:
    return {"text": answer.text, **answer.model_dump(mode="json", exclude_defaults=True)}


def _csv(records: Sequence[Record]) -> str:
    """With a byte order mark, so that spreadsheets show Japanese."""
    columns = [name for name in Case.model_fields if any(name in record for record in records)]
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([_cell(name, record.get(name, "")) for name in columns] for record in records)
    return "\ufeff" + out.getvalue()


def _cell(name: str, value: Any) -> str:
    """A text as it is, short words with bars, anything else as JSON."""
    plain = value if isinstance(value, str) else _plain(name, value)
    text = json.dumps(value, ensure_ascii=False) if plain is None else plain
    return _SHIELD + text if text.lstrip().startswith(_FORMULA) else text


def _plain(name: str, value: Any) -> str | None:
    """A list as people write it into a cell; None where that would be read as something else."""
    if name in _WORDS:
        text, marks = "|".join(value), "".join(value)
    elif name == "references" and len(value) == 1 and len(value[0]) == 1:
        text = marks = value[0][0]
    else:
        return None
    return None if {"|", "｜", "\n"} & set(marks) or text.lstrip()[:1] in {"[", "{"} else text


def _jsonl(records: Sequence[Record]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _yaml(records: Sequence[Record]) -> str:
    import yaml  # only for this kind of file

    return str(yaml.safe_dump(list(records), allow_unicode=True, sort_keys=False, width=100))


_WRITERS: Mapping[str, Callable[[Sequence[Record]], str]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".yaml": _yaml,
    ".yml": _yaml,
}
