"""The models of a run, one for each role, all over the same connections and on one account."""

from collections.abc import Mapping

from simulator.connections import Connections
from simulator.core.roles import Endpoint
from simulator.core.types import Role
from simulator.limits import DIALOGUE
from simulator.llm import Model
from simulator.spending import Ledger


class Models:
    """Who plays which role: a model, or nobody where a lexical stand-in does."""

    def __init__(
        self, endpoints: Mapping[Role, Endpoint | None], connections: Connections, ledger: Ledger
    ) -> None:
        """Connects to nothing yet."""
        self.endpoints, self.connections, self.ledger = endpoints, connections, ledger

    def role(self, role: Role, *, temperature: float | None = None, priority: int = DIALOGUE) -> Model | None:
        """The model of a role; None where a stand-in plays it."""
        endpoint = self.endpoints[role]
        return self.at(endpoint, temperature=temperature, priority=priority) if endpoint else None

    def at(self, endpoint: Endpoint, *, temperature: float | None, priority: int) -> Model:
        """The model at an endpoint."""
        kind: type[Model] = Model
        if endpoint.of_provider:
            from simulator.providers import ProviderModel  # LangChain: only where it is named

            kind = ProviderModel
        return kind(endpoint, self.connections, self.ledger, temperature=temperature, priority=priority)
