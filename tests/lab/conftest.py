"""Tests of the lab name its judges, as the command line does."""

import pytest

from simulator import plugins
from simulator.core.shelves import offer_judges


@pytest.fixture(autouse=True)
def _judges_of_plugins() -> None:
    offer_judges(plugins.Judges())
