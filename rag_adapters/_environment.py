"""Values that settings take from the environment, and what of them must not be shown."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from string import Template

from simulator import InputError, is_telling


@dataclass(frozen=True)
class Environment:
    """The `${VARIABLES}` that the settings use; masks them, and what was learnt of secrets since."""

    values: Mapping[str, str] = field(repr=False)
    _learnt: set[str] = field(default_factory=set, repr=False)

    @classmethod
    def of(cls, used: Iterable[str], dialogue: Collection[str]) -> "Environment":
        """The variables in `used` that are not the dialogue's; raises InputError for one that is not set."""
        names = set(used) - set(dialogue)
        for name in sorted(names):
            if name not in os.environ:
                filled_in = ", ".join(f"${each}" for each in dialogue)
                msg = f"${name} is not set in the environment, and the dialogue fills only {filled_in}."
                raise InputError(msg)
        return cls({name: os.environ[name].strip() for name in names})

    def filled(self, text: str, **told: str) -> str:
        """A text with its variables filled in; raises KeyError for one that is neither here nor in `told`."""
        return Template(text).substitute({**told, **self.values})

    def learn(self, secret: str) -> None:
        """From now on this is masked as well."""
        self._learnt.add(secret)

    def masked(self, text: str) -> str:
        """A text without the values that came from the environment; words may well be meant otherwise."""
        for value in (*self.values.values(), *self._learnt):
            if is_telling(value):
                text = text.replace(value, "***")
        return text
