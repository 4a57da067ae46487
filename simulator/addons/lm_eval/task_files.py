"""What an evaluation is asked for, and tasks of lm_eval, written from data sets."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, Self

import yaml
from pydantic import Field

from simulator import __version__
from simulator.addons.lm_eval.tasks import TASK_SETTINGS, current_session, documents
from simulator.core import shelves
from simulator.core.errors import InputError, RunFileError
from simulator.core.messages import _
from simulator.core.settings import RowSettings, Settings, stored_settings
from simulator.core.types import Value

_FUNCTIONS = Path(__file__).with_name("functions.txt")
# Settings that may name a file.
_PATHS = ("prompt", "outputs", "guidelines", "contacts", "ng_words", "rules")
_NAME = re.compile(r"[^\w.-]+")
# A bot's answers have paragraphs: by default lm_eval would cut them at the first one.
_GENERATION = {"until": [], "max_gen_toks": 4096}
_CHOICE_METRICS = ("acc", "acc_norm")


class TaskRequest(Value):
    """Tasks by name or file, data sets that become tasks, and the settings of their rows.

    `limit` is how many documents of each task, `shots` how many examples lm_eval puts before each.
    """

    tasks: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    filters: dict[str, str] = Field({})
    rows: dict[str, Any] = Field({})
    limit: int | None = None
    shots: int | None = None

    @classmethod
    def of(cls, settings: Settings, filters: dict[str, str], **named: tuple[str, ...]) -> Self:
        """A request with whole file names, so that a run can be resumed from any folder."""
        known = {key: tuple(map(_whole, names)) for key, names in named.items()}
        if not known["tasks"] and not known["cases"]:
            msg = _("harness needs tasks: --tasks NAME or FILE.yaml; or a data set: harness questions.jsonl")
            raise InputError(msg)
        rows = changed_settings(settings) if known["cases"] else {}
        shots = None if known["cases"] else settings.shots  # else they are the prompt's
        return cls(**known, filters=filters, rows=rows, limit=settings.limit, shots=shots)

    @property
    def title(self) -> str:
        """What is evaluated, in a few words."""
        return ", ".join(Path(name).name for name in (*self.tasks, *self.cases))

    def task_settings(self, settings: Settings) -> Settings:
        """The settings for writing the tasks of the data sets."""
        usual = {name: getattr(settings, name) for name in Settings.model_fields if name not in TASK_SETTINGS}
        return stored_settings({**usual, **self.rows})


def _whole(name: str) -> str:
    """A file or folder with the folder it is in; a task of the same name as a folder is a task."""
    is_path = Path(name).suffix or "/" in name or "\\" in name
    return str(Path(name).resolve()) if is_path and Path(name).exists() else resolved_name(name)


def bot_settings(settings: Settings) -> Settings:
    """The settings for asking the bot; those about rows and judges belong to the tasks."""
    names = (*RowSettings.model_fields, "judges", "cases")
    return settings.model_copy(update={name: Settings.model_fields[name].get_default() for name in names})


class _Function(str):
    """A function of the file beside the task."""


class _Dumper(yaml.SafeDumper):
    """Plain values, and functions by name."""


_Dumper.add_representer(_Function, lambda dumper, name: dumper.represent_scalar("!function", str(name)))


def write_tasks(
    target: Path, cases: Sequence[str], settings: Settings, filters: Mapping[str, str]
) -> tuple[Path, ...]:
    """Writes `target` with its functions; returns the task files, the group last if there are several.

    `filters` maps names to regular expressions: the part of an answer that each finds is graded.
    """
    if settings.repeats > 1:
        raise InputError(_("--repeats is not for tasks of lm_eval: add `repeats: N` to the written YAML."))
    if target.suffix not in (".yaml", ".yml"):
        msg = _(
            "--write-task {target}: a task of lm_eval is a YAML file; name it {name}.yaml.",
            target=target,
            name=target.stem,
        )
        raise InputError(msg)
    name = _NAME.sub("_", target.stem)
    several = len(cases) > 1
    names = [f"{name}_{_NAME.sub('_', Path(each).stem)}" for each in cases] if several else [name]
    if len(set(names)) < len(names):
        msg = _(
            "two data sets would be {names}: rename a file.",
            names=next(n for n in names if names.count(n) > 1),
        )
        raise InputError(msg)
    functions = target.with_name(f"{name}_functions.py")
    pairs = zip(names, cases, strict=True)
    tasks = [task_of(each, path, settings, filters, functions.stem) for each, path in pairs]
    written = [(target.with_name(f"{each['task']}.yaml") if several else target, each) for each in tasks]
    if several:
        written.append((target, group_of(name, tasks)))
    root = Template(_FUNCTIONS.read_text(encoding="utf-8")).substitute(root=repr(str(shelves.ROOT)))
    _write(functions, root)
    for path, task in written:
        _write(path, yaml.dump(task, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110))
    return tuple(path for path, _unused in written)


def task_of(
    name: str, cases: str, settings: Settings, filters: Mapping[str, str], functions: str
) -> dict[str, Any]:
    """The YAML of one task, as a mapping; raises InputError for a data set that cannot be used."""
    changed = changed_settings(settings) | {"cases": resolved_name(cases)}
    rows = documents(name, changed)
    stored = changed | {"judges": list(rows.settings.judges)}
    task: dict[str, Any] = {
        "task": name,
        "custom_dataset": _Function(f"{functions}.rows"),
        "dataset_kwargs": {"rehearsal": {"task": name, "settings": stored}},
        "test_split": "test",
        "fewshot_split": "test",
        "doc_to_text": "text",
        "metadata": {"version": __version__, "rows": len(rows.rows)},
    }
    if settings.choosing == "likelihood":
        # Japanese continues without a space.
        between = "" if any(row["language"] == "ja" for row in rows.rows) else " "
        metrics: Sequence[str] = _CHOICE_METRICS
        task |= {
            "output_type": "multiple_choice",
            "doc_to_choice": "choices",
            "doc_to_target": "gold",
            "target_delimiter": between,
        }
    else:
        outputs, metrics = _judges(rows.settings)
        task |= {
            "output_type": "generate_until",
            "doc_to_target": "target",
            "generation_kwargs": dict(_GENERATION),
            "process_results": _Function(f"{functions}.judged"),
            "filter_list": [*_filters(filters), *outputs],
        }
    metric_list = [{"metric": each, "aggregation": "mean", "higher_is_better": True} for each in metrics]
    return task | {"metric_list": metric_list}


def group_of(name: str, tasks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The YAML of a group: its tasks, and each of their metrics over all their rows."""
    filters: dict[str, dict[str, None]] = {}
    for task in tasks:
        there = [each["name"] for each in task.get("filter_list", ({"name": "none"},))]
        for metric in task["metric_list"]:
            filters.setdefault(metric["metric"], {}).update(dict.fromkeys(there))
    return {
        "group": name,
        "task": [task["task"] for task in tasks],
        "aggregate_metric_list": [
            {"metric": metric, "aggregation": "mean", "weight_by_size": True, "filter_list": list(each)}
            for metric, each in filters.items()
        ],
        "metadata": {"version": __version__},
    }


def _judges(settings: Settings) -> tuple[list[dict[str, Any]], list[str]]:
    """A filter for each output that a metric file names, and all judges whose grades are metrics."""
    grading = current_session().grading(settings)
    if grading.outputs is None:
        return [], list(grading.names)
    named = grading.outputs.file.named
    filed = dict.fromkeys(metric.score_name for metrics in named.values() for metric in metrics)
    filters = [
        {
            "name": each,
            "filter": [{"function": "take_first"}, {"function": "rehearsal_output", "output": each}],
        }
        for each in named
        if each != "default"
    ]
    return filters, list(dict.fromkeys([*grading.names, *filed]))


def _filters(patterns: Mapping[str, str]) -> list[dict[str, Any]]:
    """The filters for the whole answer, or for the part that each pattern finds."""
    graded = [{"function": "take_first"}, {"function": "rehearsal_judges"}]
    if not patterns:
        return [{"name": "none", "filter": graded}]
    return [
        {"name": name, "filter": [{"function": "regex", "regex_pattern": pattern, "fallback": ""}, *graded]}
        for name, pattern in patterns.items()
    ]


def changed_settings(settings: Settings) -> dict[str, Any]:
    """A task's settings that are not the defaults; files with whole paths, for lm_eval may run anywhere."""
    defaults = Settings()
    stored = settings.model_dump(mode="json", include=set(TASK_SETTINGS))
    changed = {
        key: value for key, value in stored.items() if getattr(settings, key) != getattr(defaults, key)
    }
    changed.pop("cases", None)
    if settings.redacts:
        changed["redact"] = "on"  # for every bot: lm_eval's command line may have another adapter
    if "judges" in settings.model_fields_set:
        changed["judges"] = [resolved_name(name) for name in settings.judges]
    if (own := Path("prompts", f"{settings.prompt}.toml")).is_file():
        changed["prompt"] = str(own.resolve())
    return {key: resolved_name(value) if key in _PATHS else value for key, value in changed.items()}


def resolved_name(name: str) -> str:
    """`mine.toml`, `mine.py:strict` and `rows.xlsx#sheet` with their folder; other names as they are."""
    parts = (name.rpartition(sign) for sign in (":", "#"))
    file, sign, rest = next((each for each in parts if Path(each[0]).is_file()), (name, "", ""))
    return f"{Path(file).resolve()}{sign}{rest}" if Path(file).is_file() else name


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        msg = _("{path}: cannot be written ({strerror}).", path=path, strerror=error.strerror)
        raise RunFileError(msg) from None
