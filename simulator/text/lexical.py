"""Script-aware text measures without a dictionary, for Japanese and English alike.

Pure functions of simulator/text that judges and analyses may use, too.
"""

from simulator.text.acts import claims, is_handover, is_refusal
from simulator.text.evidence import (
    agreement,
    best_agreement,
    content_units,
    coverage,
    mass,
    share,
    stem,
    support,
    topic_units,
    unit_weight,
)
from simulator.text.numerals import quantities, unmatched
from simulator.text.segments import clauses, normalise, sentences, tokens

__all__ = [
    "agreement",
    "best_agreement",
    "claims",
    "clauses",
    "content_units",
    "coverage",
    "is_handover",
    "is_refusal",
    "mass",
    "normalise",
    "quantities",
    "sentences",
    "share",
    "stem",
    "support",
    "tokens",
    "topic_units",
    "unit_weight",
    "unmatched",
]
