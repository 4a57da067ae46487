"""The models of a run by role.

models.role("judge", temperature=0.2)     a Model, or None where a stand-in plays the judge
await model.ask(messages, Form, again)    a filled-in form
await model.say(messages)                 text and usage
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from simulator.core.roles import Endpoint
from simulator.core.settings import Settings
from simulator.core.types import Role
from simulator.models.client import Model
from simulator.models.connections import Connections
from simulator.models.pricing import Ledger
from simulator.models.providers import ProviderModel

# Makes the model at an endpoint, as the class `Model` does.
ModelMaker = Callable[..., Model]


class Models:
    """The models by role; a role without one is played by a lexical stand-in."""

    def __init__(
        self,
        endpoints: Mapping[Role, Endpoint | None],
        settings: Settings,
        ledger: Ledger,
        make: ModelMaker | None = None,
    ) -> None:
        """Connects to nothing until a model is called; `make` has models that are called in another way."""
        self.endpoints, self.settings, self.ledger, self._make = endpoints, settings, ledger, make

    @cached_property
    def connections(self) -> Connections:
        """The connections of all these models."""
        made = Connections.of(self.settings)
        # All of them before the first call, though most are made later.
        for endpoint in filter(None, self.endpoints.values()):
            made.check(endpoint)
        return made

    def role(self, role: Role, **options: Any) -> Model | None:
        """The model of a role, with these options of `Model`; None where a stand-in plays it."""
        endpoint = self.endpoints[role]
        return self.at(endpoint, **options) if endpoint else None

    def at(self, endpoint: Endpoint, **options: Any) -> Model:
        """The model at an endpoint; one of another provider (`anthropic:...`) is called through LangChain."""
        make = self._make or (ProviderModel if endpoint.of_provider else Model)
        return make(endpoint, self.connections, self.ledger, **options)

    async def back(self) -> None:
        """Waits while one of the models answers nobody. Raises Outage where that outlasts --patience."""
        if "connections" in vars(self):
            await self.connections.back()

    async def close(self) -> None:
        """Closes the connections, if there are any."""
        if "connections" in vars(self):
            await self.connections.close()
