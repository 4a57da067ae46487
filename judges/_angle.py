"""The angle between two embeddings, for the judges that compare them."""

import math
from collections.abc import Sequence


def cosine_of(vector: Sequence[float], other: Sequence[float]) -> float:
    """0 when one of the two is all zeros; rounding errors do not push it over 1."""
    lengths = math.hypot(*vector) * math.hypot(*other)
    product = sum(a * b for a, b in zip(vector, other, strict=True))
    return max(-1.0, min(1.0, product / lengths)) if lengths else 0.0
