"""ROUGE-L: the longest common subsequence of two texts (Lin, 2004, "ROUGE", sections 3.1 and 3.2)."""

from collections import Counter
from collections.abc import Sequence

from simulator.metrics.overlap import Overlap, overlap

Tokens = Sequence[str]


def lcs_length(one: Tokens, other: Tokens) -> int:
    """How many tokens stand in both texts in the same order.

    Bit-parallel (Crochemore et al., 2001; Hyyrö, 2004): a column of the usual table is one integer, in
    which a 0 bit stands for a step upwards.
    """
    places: dict[str, int] = {}
    for position, token in enumerate(one):
        places[token] = places.get(token, 0) | 1 << position
    column = full = (1 << len(one)) - 1
    for token in other:
        if token in places:
            matching = column & places[token]
            column = (column + matching | column - matching) & full
    return len(one) - column.bit_count()


def lcs_overlap(answer: Tokens, reference: Tokens, beta: float = 1.0) -> Overlap:
    """ROUGE-L, 0..1: P = LCS / answer, R = LCS / reference, F = (1 + b²)PR / (b²P + R).

    With b = 1 the values of ROUGE-1.5.5 and the rouge_score package; COCO's captions use b = 1.2.
    """
    return overlap(lcs_length(answer, reference), len(answer), len(reference), beta)


def lcs_sum_overlap(answer: Sequence[Tokens], reference: Sequence[Tokens]) -> Overlap:
    """ROUGE-Lsum, 0..1: for each sentence of the reference the union of its LCS with each of the answer's.

    No token counts more often than both texts have it, as in ROUGE-1.5.5.
    """
    ours, theirs = (Counter(token for each in text for token in each) for text in (answer, reference))
    found: Counter[str] = Counter()
    for sentence in reference:
        union = {place for each in answer for place in _lcs_places(sentence, each)}
        found.update(sentence[place] for place in union)
    return overlap((found & ours & theirs).total(), ours.total(), theirs.total())


def _lcs_places(one: Tokens, other: Tokens) -> list[int]:
    """Where in `one` a longest common subsequence stands: of several the one that ROUGE-1.5.5 takes."""
    table = [[0] * (len(other) + 1)]
    for token in one:
        row = [0]
        for column, match in enumerate(other):
            row.append(table[-1][column] + 1 if token == match else max(table[-1][column + 1], row[-1]))
        table.append(row)
    places, above, left = [], len(one), len(other)
    while above and left:
        if one[above - 1] == other[left - 1]:
            above, left = above - 1, left - 1
            places.append(above)
        elif table[above][left - 1] > table[above - 1][left]:
            left -= 1
        else:
            above -= 1
    return places
