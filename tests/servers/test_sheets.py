"""The Sheets server of the tests knows no request that Google does not know."""

from tests.servers.sheets_api import METHODS
from tests.servers.sheets_requests import HANDLERS
from tests.servers.sheets_schema import document, methods


def test_every_method_and_request_is_in_googles_document() -> None:
    """Nothing is made up."""
    assert METHODS.keys() < {method.name for method in methods()}
    assert document()["schemas"]["Request"].keys() > HANDLERS.keys()
