"""An adapter around the adapter: looks its row up, fills in the prompt, and asks the bot with that."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from simulator.conversation import called
from simulator.core.errors import InputError
from simulator.core.types import Case, Conversation, Query, Rag, traits_of
from simulator.prompting.prompt import Prompt
from simulator.prompting.rendering import Rendered, Rendering

# What a bot may say of itself in its traits: that it is told of these parts of a query.
SYSTEM, HISTORY = "system", "history"
# The row of an id.
Lookup = Callable[[str], Case]


class Prompted:
    """A bot that is asked with a prompt. Has the bot's own traits and connections."""

    def __init__(self, rag: Rag, prompt: Prompt, row: Lookup, labels: Iterable[str] = ()) -> None:
        """`row` gives the case of an id; `labels` are all there are, where the prompt does not name them.

        Raises InputError for examples as turns where the bot is told of no earlier turns.
        """
        self.rag, self.prompt, self.row = rag, prompt, row
        self._rendering = Rendering(prompt, labels)
        self._takes = traits_of(rag).takes
        turns = any(shown.turns and shown.shots for shown in prompt.examples.values())
        if turns and HISTORY not in self._takes:
            msg = f'{prompt.path}: the bot is told of no earlier turns: write as = "text" and $examples.'
            raise InputError(msg)

    def __getattr__(self, name: str) -> Any:
        """Whatever else the bot has."""
        return getattr(self.rag, name)

    async def __call__(self, query: Query) -> Any:
        """What the bot says to the row's prompt."""
        return await self.ask(query, {})

    async def ask(
        self, query: Query, earlier: Mapping[str, str], contexts: tuple[str, ...] | None = None
    ) -> Any:
        """The same, where the prompt may also use what links before it came to, and what they found."""
        case = self.row(query.case)
        if contexts is not None:
            case = case.model_copy(update={"contexts": contexts})
        rendered = self._rendering(case, query.text, earlier)
        return await called(self.rag, self._sent(query, rendered))

    async def aclose(self) -> None:
        """Closes the bot's connections, if it has any."""
        closed = getattr(self.rag, "aclose", lambda: None)()
        if inspect.isawaitable(closed):
            await closed

    def _sent(self, query: Query, rendered: Rendered) -> Query:
        apart = SYSTEM in self._takes
        parts = (rendered.user,) if apart or not rendered.system else (rendered.system, rendered.user)
        return query.model_copy(
            update={
                "text": "\n\n".join(parts),
                "system": rendered.system if apart else "",
                "choices": rendered.choices,
                "history": (*rendered.history, *query.history),
            }
        )


def rows_of(plan: Sequence[Conversation]) -> Lookup:
    """The rows of a plan by their ids; those of a large data set stay where they are."""
    large = getattr(plan, "cases", None)  # a data set that is read from its file again
    if large is not None:
        return large.of_id  # type: ignore[no-any-return]
    places: dict[str, int] = {}

    def row(key: str) -> Case:
        if not places:
            places.update((talk.case.id, at) for at, talk in enumerate(plan))
        return plan[places[key]].case

    return row
