"""How likely a bot's model finds a text, token by token, as its endpoint tells; kept in the cache."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from simulator.core.errors import InputError, RagFailure, RehearsalError
from simulator.core.secrets import without_secrets
from simulator.core.settings import Settings
from simulator.core.types import Rag
from simulator.models.cache import ResponseCache, request_key
from simulator.runner.run import first_of

# Each token of a text: its log-likelihood (natural; None for a first one that nothing precedes), and whether
# the model itself would have said it there.
Tokens = Sequence[tuple[float | None, bool]]
Tell = Callable[[str], Awaitable[Tokens]]
# Attempts, and seconds before the second one; they double.
ATTEMPTS, WAIT = 4, 0.5
# What no further attempt would change: the endpoint does not tell, or not us.
_FINAL = ("refused", "malformed", "denied")


def teller(rag: Rag, adapter: str) -> Tell:
    """What a bot tells likelihoods by; raises InputError for one that cannot."""
    inner: Any = rag
    while inner is not None:
        if found := getattr(inner, "prompt_logprobs", None):
            return found  # type: ignore[no-any-return]
        inner = vars(inner).get("rag") if hasattr(inner, "__dict__") else None
    raise _refused(adapter, "it is a bot that only answers")


def _refused(adapter: str, why: str) -> InputError:
    msg = (
        f"adapter {adapter} gives no log-likelihoods ({why}): choose tasks of output_type generate_until,"
        " or --adapter openai_chat at an endpoint whose /completions echoes prompt logprobs, such as vLLM."
    )
    return InputError(msg)


class Likelihoods:
    """Asks for each text once, however many choices share it."""

    def __init__(self, tell: Tell, settings: Settings) -> None:
        """`settings` say how many are asked for at once, for how long, and whether they are kept."""
        self._tell, self._settings = tell, settings
        self._whose = request_key(settings.adapter, without_secrets(settings.set))
        self._cache = ResponseCache(settings.cache)
        self._places = asyncio.Semaphore(settings.concurrency)
        self._asked: dict[str, asyncio.Task[Tokens]] = {}
        self._tasks: asyncio.TaskGroup

    def close(self) -> None:
        """Closes what it keeps its findings in."""
        self._cache.close()

    async def pairs(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        """The log-likelihood of each continuation of a context, and whether it is the greedy one."""
        return await self._all([self._pair(*pair) for pair in pairs])

    async def texts(self, texts: Sequence[str]) -> list[float]:
        """The log-likelihood of each text, without a first token that nothing precedes."""
        return await self._all([self._whole(text) for text in texts])

    async def _all(self, work: Sequence[Awaitable[Any]]) -> list[Any]:
        """All of them, or the first failure at once."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                running = [self._tasks.create_task(_awaited(each)) for each in work]
        except ExceptionGroup as group:
            raise first_of(group) from None
        return [task.result() for task in running]

    async def _pair(self, context: str, continuation: str) -> tuple[float, bool]:
        # As lm_eval does: the space between the two belongs to what follows it.
        bare = context.rstrip()
        before = await self._tokens(bare) if bare else ()
        whole = await self._tokens(context + continuation)
        told = whole[min(len(before), max(0, len(whole) - 1)) :]
        return math.fsum(value or 0.0 for value, _ in told), all(greedy for _, greedy in told)

    async def _whole(self, text: str) -> float:
        return math.fsum(value or 0.0 for value, _ in await self._tokens(text))

    async def _tokens(self, text: str) -> Tokens:
        if text not in self._asked:
            self._asked[text] = self._tasks.create_task(self._kept(text))
        return await self._asked[text]

    async def _kept(self, text: str) -> Tokens:
        key = request_key(self._whose, {"echo": text})
        if (known := self._cache.get(key)) is not None and isinstance(known.get("tokens"), list):
            return [(value, bool(greedy)) for value, greedy in known["tokens"]]
        async with self._places:
            found = await self._persistently(text)
        self._cache.put(key, {"tokens": [list(each) for each in found]}, self._settings.adapter)
        return found

    async def _persistently(self, text: str) -> Tokens:
        for attempt in range(ATTEMPTS):
            try:
                async with asyncio.timeout(self._settings.timeout):
                    return await self._tell(text)
            except (RagFailure, TimeoutError) as error:
                failure = error
            if isinstance(failure, RagFailure) and failure.failure.kind in _FINAL:
                raise _refused(self._settings.adapter, str(failure))
            await asyncio.sleep(WAIT * 2**attempt if attempt < ATTEMPTS - 1 else 0)
        why = str(failure) or f"no answer within {self._settings.timeout:g} s"
        msg = f"adapter {self._settings.adapter} tells no log-likelihoods just now ({why}); try again later."
        raise RehearsalError(msg)


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work
