"""Painters: each draws any `Report` for one kind of reader, and computes nothing."""
