"""Data sets x prompts x models: each cell a run of its own, all of them in one table."""
