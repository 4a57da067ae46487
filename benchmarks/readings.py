"""What the benchmarks of one prompt have in common: rows, a verdict on each, and figures of the verdicts.

With an endpoint (OPENAI_BASE_URL) its model is asked about each row with the real prompt. Without one the
recorded verdicts are counted, which readers gave in the model's place. A record that was cut goes on, and one
of an earlier prompt is known as such.
"""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from benchmarks.records import read_record, write_record
from simulator.core.concurrency import for_each
from simulator.core.roles import endpoints
from simulator.core.settings import Settings, load_settings
from simulator.core.templates import LANGUAGES
from simulator.runner.context import RunContext

Row = TypeVar("Row")
# Verdicts by the name of their row.
Verdicts = dict[str, Any]


def context_of(settings: Settings) -> RunContext:
    """The judges and models of these settings."""
    return RunContext(settings)


@dataclass(frozen=True)
class Readings(Generic[Row]):
    """A benchmark of one prompt; `title` is what its judge is called.

    `judge` gives the verdict on a row, or why there is none, as text; `lines` are the figures of rows with
    verdicts, `mistakes` a line for each that went wrong. `half` takes one of two halves, "a" or "b".
    """

    module: str
    title: str
    recorded: Path
    judges: Sequence[str]
    name: Callable[[Row], str]
    prompt: Callable[[RunContext], str]
    judge: Callable[[RunContext, Row], Awaitable[Any]]
    lines: Callable[[Sequence[Row], Verdicts], Iterable[str]]
    mistakes: Callable[[Sequence[Row], Verdicts], Iterable[str]] = lambda _rows, _verdicts: ()
    half: Callable[[Sequence[Row], str], list[Row]] = lambda rows, part: list(rows["ab".index(part) :: 2])

    def parser(self) -> ArgumentParser:
        """The options that all have."""
        parser = ArgumentParser(prog=f"python -m benchmarks.{self.module}")
        parser.add_argument("--judge-model", help="model that grades")
        parser.add_argument("--part", choices=("a", "b"), help="only this half of the rows")
        parser.add_argument("--lang", choices=LANGUAGES, help="only this language")
        parser.add_argument("--record", type=Path, help="add the verdicts to this file")
        parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for a reply")
        parser.add_argument("--show", action="store_true", help="print the rows that went wrong")
        return parser

    def settings(self, options: Namespace, **more: object) -> Settings:
        """The settings of the judges; nothing is answered from the cache."""
        named = {"judges": list(self.judges), "judge_model": options.judge_model, "timeout": options.timeout}
        return load_settings({**named, "cache": "off", **more})

    def run(self, every: Sequence[Row], options: Namespace, settings: Settings) -> None:
        """Asks the model if there is one, else counts the recorded verdicts, and prints the figures."""
        asked = self.half(every, options.part) if options.part else list(every)
        digits = self.prompt(context_of(settings))
        if endpoint := endpoints(settings)["judge"]:
            file = read_record(options.record, digits) if options.record else {}
            verdicts: Verdicts = file.get("verdicts", {})

            def keep(name: str, verdict: Any) -> None:
                verdicts[name] = verdict
                if options.record:
                    body = {"prompt": digits, "judge": endpoint.model, "verdicts": verdicts}
                    write_record(options.record, body)

            print(f"{self.title}: {endpoint.model}\n")
            asyncio.run(self.ask(settings, [row for row in asked if self.name(row) not in verdicts], keep))
            self._print(asked, verdicts, options)
            return
        file = read_record(options.record or self.recorded)
        if not file:
            print("no verdicts: name an endpoint of a model (OPENAI_BASE_URL, OPENAI_API_KEY)")
            return
        # The file of several readers has the verdicts of each; that of a run, those of one judge.
        for reader, body in (file.get("readers") or {file.get("judge", "nobody"): file}).items():
            note = "" if file.get("prompt") == digits else " with an earlier prompt"
            print(f"{self.title}: {reader}, recorded{note}\n")
            own = [row for row in asked if self.name(row) in body["verdicts"]] if "readers" in file else asked
            self._print(own, body["verdicts"], options)

    async def ask(self, settings: Settings, rows: Sequence[Row], keep: Callable[[str, Any], None]) -> None:
        """Asks about each row; `keep` gets the verdicts by name, and what failed is told on stderr."""
        context = context_of(settings)

        async def ask(row: Row) -> None:
            verdict = await self.judge(context, row)
            if isinstance(verdict, Failed):
                print(f"{self.name(row)}: {verdict}", file=sys.stderr)
            else:
                keep(self.name(row), verdict)

        try:
            await for_each(rows, ask, settings.calls)
        finally:
            await context.close(None)

    def _print(self, rows: Sequence[Row], verdicts: Verdicts, options: Namespace) -> None:
        print("\n".join(self.lines(rows, verdicts)) + "\n")
        if options.show:
            print("\n".join(self.mistakes(rows, verdicts)))


class Failed(str):
    """Why a row has no verdict."""

    __slots__ = ()
