"""A mix of customers: how often each kind comes, and what is known of how these behave.

A file beside those of personas, called like one (`--persona mix.toml`). Of each case one customer is drawn.

    [[customers]]
    persona = "angry"       # a name of the shelf, or a file beside this one
    frequency = 1           # relative to the others: 1 of 5
    patience = 1            # anything of `Conduct`, in place of what the persona's file says

    [[customers]]
    persona = "calm"
    frequency = 4

A desk whose customers are mostly calm is not measured by as many angry ones: its score is that of the
customers it has. `cases make --from-logs` writes such a file.
"""

from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import resolve_path
from simulator.core.templates import read_toml
from simulator.core.types import Conduct, Persona, Text, Value


class Share(Conduct):
    """A kind of customer in a mix; what else it sets goes before what the persona's file says."""

    persona: Text
    frequency: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class MixFile(Value):
    """The file."""

    id: Text
    customers: Annotated[tuple[Share, ...], Field(min_length=1)]


class Mix(NamedTuple):
    """The personas, and how often each comes relative to the others."""

    personas: list[Persona]
    frequencies: list[float]


def read_mix(name: str) -> Mix | None:
    """The mix in `folder/mix.toml`, None for a name that is no such file; InputError for a wrong one."""
    path = Path(name)
    if path.suffix != ".toml" or not path.is_file() or "customers" not in read_toml(path):
        return None
    # Also an `id` is allowed, as in every file of a shelf.
    rows = shelves.read_model(path, MixFile, _("See docs/personas.md.")).customers
    personas = [_persona(path, row) for row in rows]
    ids = [persona.id for persona in personas]
    if twice := [id_ for id_ in ids if ids.count(id_) > 1]:
        msg = _(
            "{path}: '{persona}' is in it twice: give each customer one row.", path=path, persona=twice[0]
        )
        raise InputError(msg)
    return Mix(personas, [row.frequency for row in rows])


def _persona(path: Path, row: Share) -> Persona:
    # Only what the row says: defaults of `Conduct` must not override the persona's file.
    changes = {name: getattr(row, name) for name in row.model_fields_set - {"persona", "frequency"}}
    return shelves.persona(resolve_path(path, row.persona)).model_copy(update=changes)
