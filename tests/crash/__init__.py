"""Runs in processes of their own that are killed, and what must still be true afterwards."""
