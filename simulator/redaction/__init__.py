"""Personal data out of texts: names, addresses, numbers somebody is known by, in Japanese and English."""

from simulator.redaction.redactor import Redacted, Redactor
from simulator.redaction.structured import redacted_case, redacted_json, redacted_value

__all__ = ["Redacted", "Redactor", "redacted_case", "redacted_json", "redacted_value"]
