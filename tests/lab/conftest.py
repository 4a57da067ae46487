"""Tests of the lab name its judges, as the command line does."""

import pytest

from simulator import plugins


@pytest.fixture(autouse=True)
def _judges_of_plugins() -> None:
    plugins.offer()
