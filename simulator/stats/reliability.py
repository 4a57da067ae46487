"""How reliably a bot does right: what became of questions that were asked several times."""

from collections.abc import Iterable
from math import comb
from statistics import fmean
from typing import Any

from simulator.core.types import Value


def pass_hat(passed: int, finished: int, k: int) -> float:
    """The chance that `k` of the `finished` repeats of a question, drawn without replacement, all passed.

    C(passed, k) / C(finished, k): pass^k of tau-bench (Yao et al., 2024), an unbiased estimate of the chance
    that k repeats all pass. It takes k <= finished.
    """
    return comb(passed, k) / comb(finished, k)


class Reliability(Value):
    """What became of questions that each customer asked `k` times.

    `counts` has of each question how many of its conversations passed, and how many can say so. A
    conversation passes when none of its turns is red. One that was not held to its end, or that the deciding
    judge could not grade, counts as neither, and is one of `lost`.
    """

    k: int
    counts: dict[str, tuple[int, int]]
    lost: int = 0

    @classmethod
    def of(cls, known: Iterable[tuple[str, bool | None]], k: int, unbegun: int = 0) -> "Reliability":
        """From conversations that have begun: their question, and whether they passed (None: neither)."""
        counts: dict[str, tuple[int, int]] = {}
        lost = unbegun
        for case, passed in known:
            right, of = counts.get(case, (0, 0))
            counts[case] = (right + bool(passed), of + (passed is not None))
            lost += passed is None
        return cls(k=k, counts=counts, lost=lost)

    def passes(self, k: int) -> dict[str, float]:
        """pass^k of each question that has so many finished repeats."""
        return {case: pass_hat(*counted, k) for case, counted in self.counts.items() if counted[1] >= k}

    def mean(self, k: int) -> float | None:
        """pass^k of the run: the mean over the questions with so many finished repeats; None without any."""
        found = self.passes(k)
        return fmean(found.values()) if found else None

    @property
    def enough(self) -> dict[str, tuple[int, int]]:
        """The questions with all their repeats, which can be called always, sometimes or never passed."""
        return {case: counted for case, counted in self.counts.items() if counted[1] >= self.k}

    @property
    def always(self) -> list[str]:
        """The questions that passed every time."""
        return [case for case, (passed, of) in self.enough.items() if passed == of]

    @property
    def sometimes(self) -> list[str]:
        """Those that passed, but not every time; the least reliable first."""
        mixed = {case: passed / of for case, (passed, of) in self.enough.items() if 0 < passed < of}
        return sorted(mixed, key=mixed.__getitem__)

    @property
    def never(self) -> list[str]:
        """Those that never passed."""
        return [case for case, (passed, _of) in self.enough.items() if not passed]

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints of it."""
        means = {str(k): self.mean(k) for k in range(1, self.k + 1)}
        return {
            "k": self.k,
            "pass": {k: mean if mean is None else round(mean, 4) for k, mean in means.items()},
            "always": len(self.always),
            "sometimes": self.sometimes,
            "never": self.never,
            "lost": self.lost,
        }
