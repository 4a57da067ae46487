"""Whether a server read the whole prompt: some cut what does not fit into their context, and say nothing.

Ollama cuts to 4,096 tokens unless it is told otherwise, and answers with status 200: the rubric or the
passages are gone, and the grade looks like any other. Only the count of tokens that comes back gives it away.
But tokenizers differ by a factor of two, so a low count is a suspicion: then a third of the same text is
asked by itself, once for texts of this kind, and shows how many tokens the whole has.

    5,600 characters of Japanese and JSON, counted as 2,050 tokens       suspicious
    a third of them, counted as 1,900                                     the whole has 5,700: it was cut

A count of 0 or of a few says nothing: it is made up, or leaves out what was in a cache.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator.core.errors import RehearsalError
from simulator.core.patterns import LazyPattern

# Bytes of UTF-8 a token, as OpenAI's o200k counts our prompts in Japanese and English (within 13 %).
_BYTES = 3.75
# A count below this share of the estimate is suspicious: hardly any tokenizer joins more.
SUSPICIOUS = 0.75
# A count below this share of what a third of the text promises is that of a cut prompt.
CUT = 0.8
# The same for a count that is just what a usual context leaves: that is hardly chance.
CUT_TO_LIMIT = 0.9
# Where a third of it cannot be asked: no tokenizer joins that much.
IMPOSSIBLE = 0.4
# No context is as small: a lower count is of something else.
FEWEST = 256
# What a server has once read whole is no more than so many times as much as what it leaves of a cut prompt:
# some leave a half.
_MOST_LEFT_OUT = 2.2
# Texts whose shares of Japanese and the like differ by less are of one kind.
_ALIKE = 0.15
# Characters of each part that is asked, and of each stretch of which it is the beginning.
_PART, _STRETCH = 200, 600
# What Ollama and others leave of a cut prompt: as much as the context has, one less, or a half and two.
LIMITS = frozenset(count for n in range(11, 19) for count in (2**n, 2**n - 1, 2 ** (n - 1) + 2))
_AGAIN = LazyPattern(r"(.)\1{3,}", re.DOTALL)
_BLANKS = LazyPattern(r"\s{2,}")


@dataclass(frozen=True)
class Prompt:
    """The text of a request, with its size in estimated tokens, and how much of it has long characters."""

    text: str
    size: float
    wide: float

    @classmethod
    def of(cls, text: str) -> "Prompt":
        """Without runs of one character, which are few tokens."""
        text = _AGAIN.sub(lambda match: match[1] * 3, _BLANKS.sub(" ", text))
        size = len(text.encode("utf-8", "surrogatepass")) / _BYTES
        wide = sum(character >= "\u0370" for character in text) / max(len(text), 1)
        return cls(text, size, wide)

    def third(self) -> "Prompt":
        """A third of it, of parts from everywhere, so that it is the same mixture."""
        parts = (self.text[at : at + _PART] for at in range(0, len(self.text), _STRETCH))
        return Prompt.of("".join(parts))

    def beginning(self) -> "Prompt":
        """A few words that every context holds."""
        return Prompt.of(self.text[:_PART])


@dataclass
class ContextWindow:
    """What is known of one model's counts: tokens for each one estimated, by the kind of text."""

    most_read: int = 0
    # By the kind of text, the most tokens for each one estimated; and the size of the prompt that had most.
    usual: dict[int, float] = field(default_factory=dict)
    sizes: dict[int, float] = field(default_factory=dict)
    ratios: list[tuple[float, float | None]] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def cut(
        self, texts: Sequence[str], read: int, counted: Callable[[str], Awaitable[int]]
    ) -> float | None:
        """How many tokens a prompt has of which the server read only so many; None where it read all.

        `counted` asks the server how many tokens a text is counted as; 0 where it does not say.
        """
        if self.is_plausible(texts, read):
            return None
        prompt = Prompt.of("\n".join(texts))
        async with self.lock:
            alike = [ratio for wide, ratio in self.ratios if abs(wide - prompt.wide) < _ALIKE]
            if not alike:
                alike = [await self._asked(prompt.third(), read, counted)]
                self.ratios.append((prompt.wide, alike[0]))
        ratio = next((ratio for ratio in alike if ratio is not None), None)
        share = CUT_TO_LIMIT if read in LIMITS else CUT
        is_cut = read < (IMPOSSIBLE if ratio is None else share * ratio) * prompt.size
        return prompt.size * (ratio or 1.0) if is_cut else None

    async def _asked(self, part: Prompt, read: int, counted: Callable[[str], Awaitable[int]]) -> float | None:
        """Tokens for each one estimated of a part; 0 for counts that say nothing, None without a reply."""
        try:
            of_part = await counted(part.text)
            # As many as the whole: it was cut as well, or every request is told to have so many.
            is_made_up = of_part == read and await counted(part.beginning().text) == read
        except RehearsalError:  # then nothing tells
            return None
        return 0.0 if is_made_up else of_part / part.size

    def is_plausible(self, texts: Sequence[str], read: int) -> bool:
        """Whether a count fits at first sight; it does for nearly every call, and takes no time."""
        before, self.most_read = self.most_read, max(self.most_read, read)
        # A server that has read far more of another prompt had this one in its memory.
        if read < FEWEST or read * _MOST_LEFT_OUT < self.most_read:
            return True
        characters = sum(map(len, texts))
        sent = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
        size, kind = sent / _BYTES, round(8 * sent / max(characters, 1))
        # What others of this kind were counted as; a limit is one of a few figures, or the same for all.
        usual, other = self.usual.get(kind, 0.0), self.sizes.get(read, size)
        is_limit = read in LIMITS or (read == before and abs(other - size) > size / 20)
        if is_limit or read < max(SUSPICIOUS, CUT * usual) * size:
            return False
        self.sizes = {read: size} if read > before else self.sizes
        if size >= FEWEST:
            self.usual[kind] = max(usual, read / size)
        return True


def tokens_read(data: Any) -> int:
    """The tokens of the prompt that a reply says were read, with those in a cache; 0 when it does not."""
    counted = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(counted, dict):
        return 0
    # Anthropic leaves those of its cache out of the sum.
    whole = "prompt_tokens" if counted.get("prompt_tokens") else "input_tokens"
    counts = [counted.get(name) for name in (whole, "cache_read_input_tokens", "cache_creation_input_tokens")]
    return sum(count for count in counts if isinstance(count, int) and 0 < count < 2**31)
