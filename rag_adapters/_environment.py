"""Values of settings from the environment, which are masked in messages."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from string import Template

from simulator import InputError, _, is_telling


@dataclass(frozen=True)
class Environment:
    """The `${VARIABLES}` of the settings; masks them, and secrets that were added later."""

    values: Mapping[str, str] = field(repr=False)
    _learnt: set[str] = field(default_factory=set, repr=False)

    @classmethod
    def of(cls, used: Iterable[str], dialogue: Collection[str]) -> "Environment":
        """The variables in `used` that are not the dialogue's. Raises InputError for one that is not set."""
        names = set(used) - set(dialogue)
        for name in sorted(names):
            if name not in os.environ:
                variables = ", ".join(f"${each}" for each in dialogue)
                msg = _(
                    "${name} is not set in the environment, and the dialogue fills only {variables}.",
                    name=name,
                    variables=variables,
                )
                raise InputError(msg)
        return cls({name: os.environ[name].strip() for name in names})

    def filled(self, text: str, **values: str) -> str:
        """A text with its variables filled in. Raises KeyError for an unknown variable."""
        return Template(text).substitute({**values, **self.values})

    def learn(self, secret: str) -> None:
        """Masks this secret from now on."""
        self._learnt.add(secret)

    def masked(self, text: str) -> str:
        """A text with secret values masked; values that could be ordinary words stay."""
        for value in (*self.values.values(), *self._learnt):
            if is_telling(value):
                text = text.replace(value, "***")
        return text
