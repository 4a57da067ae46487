"""Thresholds for scores, from answers that people said are right or wrong."""
