"""The failed cases of a run as a question file, and the command that asks only these again.

`fixes --focus failed.csv` writes every column that a failed case fills, so that the file asks the same
questions in the same way: references, facts, passages, tags, history. Below it stand two commands to copy:

    --cases failed.csv --persona angry --adapter demo ...    asks the failed questions, in free conversations
    --replay RUN ...                                         asks all of them, customers saying the same again

Both name what the run was started with and what is not the default now. A file is read back by
cases/cases.py, so each cell is written as that reads it: a text as it is, tags and passages with bars
between them, all else as JSON.
"""

import csv
import io
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.cases.files import plain_suffix
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings, flag, stored_settings
from simulator.core.types import Answer, Case, Results
from simulator.results.recommendations import Fix

Record = dict[str, Any]

# A spreadsheet takes these for a formula. A no-break space before them makes them text there, and is
# stripped when the file is read.
_FORMULA = tuple("=+-@＝＋－＠\t\r")
_SHIELD = "\u00a0"
# Columns whose items are joined by a bar if none of them holds one: "fees|number" is how people write tags.
_WORD_LISTS = frozenset({"passages", "tags"})
# Names of an adapter's settings whose values are not printed: api_key, token, Authorization, headers.
_SECRET = re.compile(r"key|token|secret|password|auth|header", re.IGNORECASE)
# Settings that the new run shares with the earlier one, where they are not the defaults.
_SHARED = (
    "adapter", "set", "turns", "repeats", "judges", "judging", "guidelines", "contacts", "rules",
    "voice_opening", "script", "offline", "user_model", "judge_model", "embed_model", "demo_model",
    "knowledge", "seed",
)  # fmt: skip


def failed_cases(results: Results, fixes: Iterable[Fix]) -> tuple[Case, ...]:
    """The cases behind these fixes, in the order of the run; none of attacks, which a persona brings."""
    wanted = {key for fix in fixes for key in fix.cases}
    cases = {
        conversation.case.id: conversation.case
        for conversation in results.conversations
        if conversation.case.id in wanted and not conversation.case.attack
    }
    return tuple(cases.values())


def case_file(cases: Iterable[Case], path: Path) -> str:
    """The content of a question file with every column that a case fills, in the format of the suffix.

    Raises InputError for any suffix but .csv and .jsonl.
    """
    writer = _WRITERS.get(plain_suffix(path))
    if writer is None:
        msg = _("--focus {path}: write a {writers} file.", path=path, writers=", ".join(_WRITERS))
        raise InputError(msg)
    return writer([_record(case) for case in cases])


def rerun_options(results: Results, fixes: Iterable[Fix], path: Path) -> str:
    """The options of `run.py` that ask the failed cases again, played by the personas concerned."""
    earlier = stored_settings(results.run.settings)
    # `--cases` alone would not say which bot: own questions need one that is named.
    bot = (
        ["--adapter", earlier.adapter] if earlier.adapter == Settings().adapter else []
    )  # asked of a file, it is named
    return shlex.join(["--cases", str(path), *_personas(results, fixes, earlier), *bot, *_options(earlier)])


def replay_options(results: Results, runs: Path) -> str:
    """The options that repeat every line of every conversation; `runs` is the folder of the run."""
    where = [] if runs == Settings().runs else [flag("runs"), str(runs)]
    return shlex.join(["--replay", results.run.id, *_options(stored_settings(results.run.settings)), *where])


def _personas(results: Results, fixes: Iterable[Fix], earlier: Settings) -> list[str]:
    """The options for the personas that met a failure; none if they were dealt at random, by the seed.

    A file that is named alone may be a mix, from which the same ones are drawn again.
    """
    if not earlier.persona:
        return []
    if len(earlier.persona) == 1 and Path(earlier.persona[0]).suffix:
        return ["--persona", earlier.persona[0]]
    failed = {turn[0] for fix in fixes for turn in fix.turns}
    concerned = {conversation.persona for conversation in results.conversations if conversation.id in failed}
    files = [name for name in earlier.persona if Path(name).suffix]
    on_shelf = {Path(name).stem for name in files}
    names = [*files, *sorted(concerned - on_shelf)]
    return [part for name in names for part in ("--persona", name)]


def _options(settings: Settings) -> list[str]:
    """The options that differ from their defaults; a setting of the adapter is an option of its own."""
    defaults, parts = Settings(), list[str]()
    # What plug-ins add shapes the answers and grades of a run, too.
    for name in (*_SHARED, *settings.added):
        value = settings.value(name)
        if value == defaults.value(name):
            continue
        if isinstance(value, Mapping):
            parts += [part for key, text in value.items() for part in (flag(name), _pair(key, text))]
        elif value is True:
            parts.append(flag(name))
        else:
            parts += [flag(name), ",".join(value) if isinstance(value, tuple) else str(value)]
    return parts


def _pair(key: str, text: str) -> str:
    """A setting of the adapter; a possible secret is shown as ***, to be typed in again."""
    return f"{key}={'***' if _SECRET.search(key) else text}"


def _record(case: Case) -> Record:
    """The columns of a case; those that are empty are left out."""
    # What needs a form of its own in a table is written by hand below.
    fields = case.model_dump(mode="json", exclude={"facts", "details", "answerable", "recorded", "history"})
    record = {key: value for key, value in fields.items() if value not in (None, [], "")}
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
    """CSV with a byte order mark, so that spreadsheets show Japanese."""
    columns = [name for name in Case.model_fields if any(name in record for record in records)]
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([_cell(name, record.get(name, "")) for name in columns] for record in records)
    return "\ufeff" + out.getvalue()


def _cell(name: str, value: Any) -> str:
    """A text as it is, a list of words joined by bars, anything else as JSON."""
    plain = value if isinstance(value, str) else _plain(name, value)
    text = json.dumps(value, ensure_ascii=False) if plain is None else plain
    return _SHIELD + text if text.lstrip().startswith(_FORMULA) else text


def _plain(name: str, value: Any) -> str | None:
    """A list as people write it into a cell; None if that would be read as something else.

    Tags a, b are "a|b"; the one reference x is "x"; tags with a bar in them are None, and written as JSON.
    """
    if name in _WORD_LISTS:
        text, marks = "|".join(value), "".join(value)
    elif name == "references" and len(value) == 1 and len(value[0]) == 1:
        text = marks = value[0][0]
    else:
        return None
    return None if {"|", "｜", "\n"} & set(marks) or text.lstrip()[:1] in {"[", "{"} else text


def _jsonl(records: Sequence[Record]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


_WRITERS: Mapping[str, Callable[[Sequence[Record]], str]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
}
