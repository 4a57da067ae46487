"""What an evaluation by lm_eval was asked for: enough to begin it, and to go on with it from anywhere."""

from pathlib import Path
from typing import Any, Self

from pydantic import Field

from simulator.core.errors import InputError
from simulator.core.settings import RowSettings, Settings, from_run
from simulator.core.types import Value
from simulator.harness.rows import OF_A_TASK
from simulator.harness.writing import given_for_a_task, whole_name


class Asked(Value):
    """Tasks by name or file, data sets that are made tasks, and what they are told of their rows.

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
        """Names of files with their folders, so that a run can be taken up elsewhere."""
        known = {key: tuple(map(_whole, names)) for key, names in named.items()}
        if not known["tasks"] and not known["cases"]:
            msg = "harness needs tasks: --tasks NAME or FILE.yaml; or a data set: harness questions.jsonl"
            raise InputError(msg)
        rows = given_for_a_task(settings) if known["cases"] else {}
        shots = None if known["cases"] else settings.shots  # else they are the prompt's
        return cls(**known, filters=filters, rows=rows, limit=settings.limit, shots=shots)

    @property
    def title(self) -> str:
        """What is evaluated, in a few words."""
        return ", ".join(Path(name).name for name in (*self.tasks, *self.cases))

    def task_settings(self, settings: Settings) -> Settings:
        """The settings for writing the tasks of the data sets."""
        usual = {name: getattr(settings, name) for name in Settings.model_fields if name not in OF_A_TASK}
        return from_run({**usual, **self.rows})


def _whole(name: str) -> str:
    """A file or folder with the folder it is in; a task of the same name as a folder is a task."""
    is_path = Path(name).suffix or "/" in name or "\\" in name
    return str(Path(name).resolve()) if is_path and Path(name).exists() else whole_name(name)


def of_the_bot(settings: Settings) -> Settings:
    """The settings for who asks the bot: what is said of rows and their judges belongs to the tasks."""
    names = (*RowSettings.model_fields, "judges", "cases")
    return settings.model_copy(update={name: Settings.model_fields[name].get_default() for name in names})
