"""A JSON answer in its parts: each named output has judges and thresholds of its own."""
