"""Tests of the pages to work on."""
