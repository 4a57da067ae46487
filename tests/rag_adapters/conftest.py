"""Adapters load what users wrote: a test's own modules do not outlive it."""

import pytest


@pytest.fixture(autouse=True)
def forgotten(apart: None) -> None:
    """What is imported from the test's folder is forgotten afterwards."""
