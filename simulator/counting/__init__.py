"""Judging by counting: the measures and the wording of the stand-ins that need no model.

Nothing here does I/O beyond reading its own two TOML files, and everything is a function of its texts.
"""
