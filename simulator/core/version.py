"""The version of the program; run files and hashes of judges tell it."""

__version__ = "0.1.0"
