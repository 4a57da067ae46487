"""The metric file: which judges grade which output, and the scores from which on it is right.

`{"default": ["em"], "path": [{"name": "gpt_similarity", "threshold": 1}]}` as JSON, or the same as TOML.
Read with the line of every mistake; written with new thresholds in its own shape.
"""

import contextlib
import json
import math
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from simulator.core import shelves
from simulator.core.errors import CaseFileError, InputError, UnknownName
from simulator.core.messages import Message, _
from simulator.core.shelves import ARTICLE_NAMES, canonical_judge
from simulator.core.templates import fingerprint
from simulator.core.types import Value
from simulator.data.files import printable, quote, read_text, temporary_path
from simulator.grading.judge import scale_of
from simulator.grading.rubric import Rubric, load_judge

# These say right or wrong: without a threshold of their own they are right at the top of their scale.
BINARY_JUDGES = frozenset({"exact_match", "contains", "llm_correctness", "label", "choice"})
# These compare texts. A text that is the reference after normalisation is right for them, whatever their
# score (METEOR of identical texts is below 1) and whatever the threshold.
COMPARING_JUDGES = frozenset({
    "exact_match", "contains", "token_f1", "rouge_l", "meteor", "chrf", "cosine", "cosine_similarity",
})  # fmt: skip
# Stands for the outputs that the file does not name, and for an answer that is plain text.
DEFAULT = "default"


class Metric(Value):
    """A judge of an output, under the name that the file gives it.

    A score (on the judge's own `scale`) at or above `threshold` is right; without a threshold the output is
    measured, and nothing is decided. `line` is its place in the file.
    """

    name: str
    judge: str
    scale: tuple[float, float]
    threshold: float | None = None
    line: int = 0

    @property
    def score_name(self) -> str:
        """The name of its scores after that of the output: as in the file, without a folder."""
        return self.name if canonical_judge(self.name) != self.name else shelves.judge_name(self.name)


class MetricFile(Value):
    """The judges of the outputs that the file names, and of all others."""

    path: str
    named: dict[str, tuple[Metric, ...]]
    lines: dict[str, int] = Field(default={})

    @property
    def default(self) -> tuple[Metric, ...]:
        """The judges of the outputs that the file does not name."""
        return self.named.get(DEFAULT, ())

    def metrics(self, output: str) -> tuple[Metric, ...]:
        """The judges of an output."""
        return self.named.get(output, self.default)

    @property
    def decides(self) -> bool:
        """Whether there is any threshold, and so a verdict on whole rows."""
        return any(metric.threshold is not None for each in self.named.values() for metric in each)

    def files(self, name: str) -> bool:
        """Whether a score may have this name: OUTPUT.JUDGE."""
        output, _unused, judge = name.rpartition(".")
        return bool(output) and judge in [metric.score_name for metric in self.metrics(output)]

    @property
    def fingerprint(self) -> str:
        """A hash of all judges and thresholds."""
        judges = {name: [(m.name, m.threshold) for m in metrics] for name, metrics in self.named.items()}
        return fingerprint(json.dumps(judges, ensure_ascii=False))


class Entry(NamedTuple):
    """A value of the file, and the line on which it begins."""

    value: Any
    line: int


def read_metric_file(path: str | Path) -> MetricFile:
    """The metric file; CaseFileError names the file, the line in it and what is wrong there."""
    path = Path(path)
    text = read_text(path)
    entries = _toml_entries(path, text) if path.suffix.lower() == ".toml" else _json_entries(path, text)
    named: dict[str, tuple[Metric, ...]] = {}
    lines: dict[str, int] = {}
    for output, entry, items in entries:
        if output in named:
            raise _fault(
                path,
                entry.line,
                _("{output} stands here twice; put its judges in one list.", output=quote(output)),
            )
        named[output] = _metrics(path, output, entry, items)
        lines[output] = entry.line
    if not named:
        raise _fault(path, 1, _('it names no output; write {{"{default}": ["em"]}}.', default=DEFAULT))
    return MetricFile(path=str(path), named=named, lines=lines)


def _metrics(path: Path, output: str, entry: Entry, items: list[Entry]) -> tuple[Metric, ...]:
    if not output.strip() or printable(output) != output:
        raise _fault(path, entry.line, _("{output} is no name for an output.", output=quote(output)))
    if not items:
        raise _fault(path, entry.line, _("{output}: names no judge.", output=output))
    metrics: dict[str, Metric] = {}
    for item in items:
        metric = _metric(path, output, item)
        if metric.judge in metrics:
            raise _fault(
                path, item.line, _("{output}: {metric} stands here twice.", output=output, metric=metric.name)
            )
        metrics[metric.judge] = metric
    return tuple(metrics.values())


def metric_file_of(names: Iterable[str]) -> MetricFile:
    """The same judges for every output and for plain texts, without any file."""
    entries = [Entry(name, 1) for name in names]
    return MetricFile(
        path="--judges", named={DEFAULT: _metrics(Path("--judges"), DEFAULT, entries[0], entries)}
    )


def _metric(path: Path, output: str, item: Entry) -> Metric:
    table = {"name": item.value} if isinstance(item.value, str) else item.value
    if not isinstance(table, dict):
        what = _(
            '{output}: {table} is no judge; write "em", or {{"name": "em", "threshold": 1}}.',
            output=output,
            table=quote(table),
        )
        raise _fault(path, item.line, what)
    if "name" not in table and any(isinstance(value, list | dict) for value in table.values()):
        what = _(
            "{output}: an output inside of an output; they stand side by side, those inside as"
            " 'outer.inner'.",
            output=output,
        )
        raise _fault(path, item.line, what)
    if strange := [key for key in table if key not in ("name", "threshold")]:
        raise _fault(
            path,
            item.line,
            _(
                "{output}: unknown key {key}; there are name, threshold.",
                output=output,
                key=quote(strange[0]),
            ),
        )
    name = table.get("name")
    if not isinstance(name, str) or not name.strip():
        what = _("{output}: {name} is no name of a judge.", output=output, name=quote(name))
        if name is None:
            what = _("{output}: its name is missing.", output=output)
        raise _fault(path, item.line, what)
    return _checked(path, output, name.strip(), table, item.line)


def _checked(path: Path, output: str, name: str, table: Mapping[str, Any], line: int) -> Metric:
    """The metric with its judge's scale; its threshold lies on it."""
    try:
        judge = load_judge(canonical_judge(name))
    except UnknownName:
        error = UnknownName(_("judge"), name, {*shelves.judge_names(), *ARTICLE_NAMES})
        raise _fault(path, line, f"{output}: {error}") from None
    except InputError as error:
        raise _fault(path, line, f"{output}: {error}") from None
    scale = judge.scale if isinstance(judge, Rubric) else scale_of(judge)
    threshold = table.get("threshold")
    if threshold is None:
        if "threshold" in table:
            raise _fault(
                path,
                line,
                _(
                    "{output}: {name}: the threshold is null; leave it out for none.",
                    output=output,
                    name=name,
                ),
            )
        threshold = scale[1] if canonical_judge(name) in BINARY_JUDGES else None
    elif (
        isinstance(threshold, bool) or not isinstance(threshold, int | float) or not math.isfinite(threshold)
    ):
        raise _fault(
            path,
            line,
            _(
                "{output}: {name}: threshold {threshold} is not a number.",
                output=output,
                name=name,
                threshold=quote(threshold),
            ),
        )
    elif not scale[0] <= threshold <= scale[1]:
        what = _(
            "{output}: {name}: threshold {threshold} is outside of its scale, {lowest} to {highest}.",
            output=output,
            name=name,
            threshold=f"{threshold:g}",
            lowest=f"{scale[0]:g}",
            highest=f"{scale[1]:g}",
        )
        raise _fault(path, line, what)
    limit = None if threshold is None else float(threshold)
    return Metric(name=name, judge=canonical_judge(name), scale=scale, threshold=limit, line=line)


def _fault(path: Path, line: int, what: Message | str) -> InputError:
    return CaseFileError(_("{path}, line {line:d}: {what}", path=path, line=line, what=what))


# An output's name, its value, and the judges in it.
OutputEntry = tuple[str, Entry, list[Entry]]
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


def _json_entries(path: Path, text: str) -> Iterator[OutputEntry]:
    """Every output with the line of each of its judges."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        what = _("not valid JSON ({problem}, character {column:d}).", problem=error.msg, column=error.colno)
        raise _fault(path, error.lineno, what) from None
    except (RecursionError, ValueError):
        raise _fault(
            path, 1, _("not valid JSON (nested too deeply, or a number of too many digits).")
        ) from None
    if not isinstance(whole, dict):
        raise _fault(path, 1, _('not an object; write {{"{default}": ["em"]}}.', default=DEFAULT))
    for key, start, at in objects_in(text):
        value = _DECODER.raw_decode(text, at)[0]
        items = [Entry(item, _line(text, place)) for place, item, _unused in items_of(text, at)]
        yield key, Entry(value, _line(text, start)), items


def objects_in(text: str) -> Iterator[tuple[str, int, int]]:
    """Every output of a file of valid JSON: its name, and where name and value begin."""
    return _members(text, _skip(text, 0))


def items_of(text: str, at: int) -> Iterator[tuple[int, Any, int]]:
    """The judges of the output whose value begins there: where each begins, what it is, where it ends."""
    for place in _items(text, at) if text[at] == "[" else [at]:
        value, end = _DECODER.raw_decode(text, place)
        yield place, value, end


def members_of(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Every key of the object that begins there, and where its value begins and ends."""
    for key, _unused, value in _members(text, at):
        yield key, value, _DECODER.raw_decode(text, value)[1]


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Key, place of the key and place of the value, of the object that begins there; it is valid JSON."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, end) + 1)
        yield key, at, value
        at = _next(text, value)


def _items(text: str, at: int) -> Iterator[int]:
    """The places of the values of the list that begins there."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        yield at
        at = _next(text, at)


def _next(text: str, value: int) -> int:
    """Where the next one begins after the value at this place, or the bracket that closes."""
    at = _skip(text, _DECODER.raw_decode(text, value)[1])
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _toml_entries(path: Path, text: str) -> Iterator[OutputEntry]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"line (\d+)", str(error))
        line = int(where[1]) if where else text.rstrip().count("\n") + 1
        raise _fault(path, line, _("not valid TOML ({error}).", error=error)) from None
    for key, value in tables.items():
        places = _toml_lines(text, key)
        items = value if isinstance(value, list) else [value]
        lines = places if len(places) == len(items) else places[:1] * len(items)
        yield key, Entry(value, lines[0] if lines else places[0]), list(map(Entry, items, lines))


def _toml_lines(text: str, key: str) -> list[int]:
    """The lines of a key: one for a list, one for each table of a list of tables."""
    place = re.compile(rf"^[ \t]*\[{{0,2}}[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*(?:\]|=|\.)", re.MULTILINE)
    return [_line(text, found.start()) for found in place.finditer(text)] or [1]


# Thresholds by output and judge, as the file names both.
Thresholds = Mapping[tuple[str, str], float]


def write_thresholds(path: Path, thresholds: Thresholds) -> None:
    """Writes these thresholds into the file, in its own shape and atomically; creates a missing file."""
    if not path.exists():
        text = _new(thresholds)
    elif path.suffix.lower() == ".toml":
        text = _in_toml(path, read_text(path), thresholds)
    else:
        text = _in_json(read_text(path), thresholds)
    _write(path, text)


def threshold_text(value: float) -> str:
    """A threshold as people write it, with at most four decimals."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _new(thresholds: Thresholds) -> str:
    outputs: dict[str, list[str]] = {}
    for (output, name), value in thresholds.items():
        entry = f'{{"name": {_quoted(name)}, "threshold": {threshold_text(value)}}}'
        outputs.setdefault(output, []).append(entry)
    lines = [
        f"  {_quoted(output)}: [\n    " + ",\n    ".join(each) + "\n  ]" for output, each in outputs.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _in_json(text: str, thresholds: Thresholds) -> str:
    """The text with each threshold put where its judge stands, from the end so that no place moves."""
    for start, end, new in sorted(_json_edits(text, thresholds), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _json_edits(text: str, thresholds: Thresholds) -> Iterator[tuple[int, int, str]]:
    for output, _unused, at in objects_in(text):
        for start, value, end in items_of(text, at):
            name = value if isinstance(value, str) else value["name"]
            limit = thresholds.get((output, name.strip()))
            if limit is None:
                continue
            if isinstance(value, str):
                yield start, end, f'{{"name": {_quoted(value)}, "threshold": {threshold_text(limit)}}}'
            else:
                yield _inside(text, start, end, threshold_text(limit))


def _inside(text: str, start: int, end: int, limit: str) -> tuple[int, int, str]:
    """Its threshold replaced, or put behind what stands in the object."""
    for key, at, after in members_of(text, start):
        if key == "threshold":
            return at, after, limit
    last = len(text[start : end - 1].rstrip()) + start
    return last, last, f', "threshold": {limit}'


def _in_toml(path: Path, text: str, thresholds: Thresholds) -> str:
    """One threshold after the other; an edit is taken only if the file then parses to what is wanted."""
    for (output, name), value in thresholds.items():
        wanted = _with(tomllib.loads(text), output, name, float(threshold_text(value)))
        if wanted is None:
            continue
        limit = threshold_text(value)
        text = next((new for new in _toml_edits(text, name, limit) if _has(new, wanted)), "")
        if not text:
            msg = _(
                '{path}: its form cannot be changed; put threshold = {limit} to {output}, "{name}".',
                path=path,
                limit=limit,
                output=output,
                name=name,
            )
            raise CaseFileError(msg)
    return text


def _toml_edits(text: str, name: str, limit: str) -> Iterator[str]:
    """The texts that differ from this one in a threshold: replaced, put behind a name, or instead of it."""
    quoted = rf"[\"']{re.escape(name)}[\"']"
    for found in re.finditer(r"(threshold\s*=\s*)[-+\w.]+", text):
        yield text[: found.start()] + found[1] + limit + text[found.end() :]
    for found in re.finditer(rf"name\s*=\s*{quoted}", text):
        for between in (", ", "\n"):
            yield f"{text[: found.end()]}{between}threshold = {limit}{text[found.end() :]}"
    for found in re.finditer(quoted, text):
        entry = f"{{ name = {found[0]}, threshold = {limit} }}"
        yield text[: found.start()] + entry + text[found.end() :]


def _with(tables: dict[str, Any], output: str, name: str, value: float) -> dict[str, Any] | None:
    """The tables with this threshold; None if the file has no such judge for this output."""
    value_of_output = tables.get(output)
    items = value_of_output if isinstance(value_of_output, list) else [value_of_output]
    named = [each if isinstance(each, str) else (each or {}).get("name") for each in items]
    if name not in named:
        return None
    at = named.index(name)
    changed = [*items[:at], {"name": name, "threshold": value}, *items[at + 1 :]]
    return {**tables, output: changed if isinstance(value_of_output, list) else changed[0]}


def _has(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _write(path: Path, text: str) -> None:
    new = temporary_path(path)
    try:
        lines = "\r\n" if path.exists() and b"\r\n" in path.read_bytes() else "\n"
        new.write_text(text, encoding="utf-8", newline=lines)
        if path.exists():
            shutil.copymode(path, new)
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        msg = _("{path}: cannot be written ({strerror}).", path=path, strerror=error.strerror)
        raise InputError(msg) from None


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
