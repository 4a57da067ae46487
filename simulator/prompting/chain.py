"""A chain: prompts that are asked one after the other, each with what the ones before it came to."""

from typing import Annotated, Any

from pydantic import Field, JsonValue

from simulator.core.types import Text, Value

# The whole among the names of its links.
WHOLE = "chain"


class Link(Value):
    """One prompt of a chain; `settings` are what its own run is told, by the names of rehearsal.toml."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
    prompt: Text
    cases: str | None = None
    adapter: str | None = None
    set: dict[str, str] = Field(default={})
    settings: dict[str, JsonValue] = Field(default={})

    @property
    def told(self) -> dict[str, Any]:
        """What a run of this link alone is told beside what all are told."""
        own = {"prompt": self.prompt, "cases": self.cases, "adapter": self.adapter, "set": self.set}
        return {**self.settings, **{key: value for key, value in own.items() if value}}


class Chain(Value):
    """The links in their order. `settings` are those of every run, `whole` those of the whole alone."""

    path: str
    title: str = ""
    settings: dict[str, JsonValue] = Field(default={})
    whole: dict[str, JsonValue] = Field(default={})
    links: Annotated[tuple[Link, ...], Field(min_length=1)]

    @property
    def cases(self) -> str | None:
        """The rows of the whole."""
        named = self.whole.get("cases")
        return None if named is None else str(named)

    def before(self, name: str) -> tuple[str, ...]:
        """The names of the links that are asked before one."""
        names = [link.name for link in self.links]
        return tuple(names[: names.index(name)])
