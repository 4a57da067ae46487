"""One text metric over a file of rows, ours or another package's, in a process of its own: its memory counts.

`python -m benchmarks.metric_speed ours rouge_l rows.jsonl` prints JSON. CPU seconds of the process,
the best of three passes: other work on the machine takes time, but hardly any of this.
"""

import json
import resource
import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

PASSES = 3
# The --concurrency of a run, where nothing else is said.
AT_A_TIME = 32
OURS, PEER = "ours", "peer"

Rows = Sequence[tuple[str, list[str]]]
Measure = Callable[[str, Sequence[str]], float]


def main(arguments: Sequence[str]) -> None:
    """Speed (rows a second), memory (MB at most) and values; of ours also as a judge and as a run has it."""
    package, metric, file = arguments
    rows: Rows = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    alone = peak_memory()
    name, measure = ours(metric) if package == OURS else PEERS[metric]()
    measured: dict[str, Any] = {"name": name, "rows_memory": alone, "values": [measure(*row) for row in rows]}
    measured |= {"speed": speed(rows, lambda: _all(rows, measure)), "memory": peak_memory()}
    if package == OURS:
        measured |= {"judge": as_judge(metric, rows), "run": as_a_run_does(metric, rows)}
        measured["run_memory"] = peak_memory()
    measured["beside"] = [each for each in ("sklearn", "pandas") if each in sys.modules]
    print(json.dumps(measured))


def _all(rows: Rows, measure: Measure) -> None:
    for answer, references in rows:
        measure(answer, references)


def speed(rows: Rows, work: Callable[[], None]) -> float:
    """Rows a second of CPU time, in the best of the passes over all of them."""
    seconds = []
    for _ in range(PASSES):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return len(rows) / min(seconds)


def peak_memory() -> float:
    """The most memory that this process has had, in MB; not that of the process which started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        fields = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
        return int(fields["VmHWM"].split()[0]) * 1024 / 1e6
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used * (1 if sys.platform == "darwin" else 1024) / 1e6


def ours(metric: str) -> tuple[str, Measure]:
    """The function of `simulator.metrics`."""
    from simulator.extending import metrics

    measure = getattr(metrics, metric)
    return "", lambda answer, references: float(measure(answer, references).value)


def as_judge(metric: str, rows: Rows) -> float:
    """The same by the judge: from texts to Case, Turn and GradingContext, and to a Score with its reason."""
    from simulator.grading.rubric import load_judge

    judge: Any = load_judge(metric)

    def work() -> None:
        for at, row in enumerate(rows):
            judge(an_exhibit(at, *row))

    return speed(rows, work)


def as_a_run_does(metric: str, rows: Rows) -> float:
    """The same through the panel of a run, which checks what it is told; so many rows at a time as there."""
    import asyncio

    from simulator.core import shelves
    from simulator.grading.panel import FunctionJudge, Panel
    from simulator.grading.rubric import PromptFrame, load_judge

    judge: Any = load_judge(metric)
    frame = PromptFrame(shelves.JUDGES / "_frame.toml", shelves.JUDGES / "_guidelines.toml")
    panel = Panel([FunctionJudge(metric, judge, {}, frame, "")])

    async def every(first: int) -> None:
        for at in range(first, len(rows), AT_A_TIME):
            await panel.grade(an_exhibit(at, *rows[at]))

    async def work() -> None:
        await asyncio.gather(*map(every, range(AT_A_TIME)))

    return speed(rows, lambda: asyncio.run(work()))


def an_exhibit(at: int, answer: str, references: Sequence[str]) -> Any:
    """A row as it is put before a judge."""
    from simulator.core.types import SCRIPTED, Answer, Case, GradingContext, Turn

    case = Case(id=str(at), question="?", language="ja", references=(tuple(references),))
    turn = Turn(index=1, user="?", answer=Answer(text=answer))
    return GradingContext(conversation=f"{SCRIPTED}/{at}#0", case=case, persona=SCRIPTED, turn=turn)


class Cut:
    """Our words in the form that rouge_score takes."""

    def tokenize(self, text: str) -> list[str]:
        """What a text is cut into."""
        from simulator.text.normalise import words

        return words(text)


def rouge_score(kind: str) -> tuple[str, Measure]:
    """F of rouge_score by our words: its own lose Japanese."""
    scorer: Any = import_module("rouge_score.rouge_scorer").RougeScorer
    own = scorer([kind], tokenizer=Cut())
    name = f"rouge_score {version('rouge-score')}"
    return name, lambda answer, references: float(own.score_multi(references, answer)[kind].fmeasure)


def sacrebleu() -> tuple[str, Measure]:
    """chrF2 of sacrebleu, as a share, after NFKC as ours."""
    own: Any = import_module("sacrebleu.metrics.chrf").CHRF()

    def measure(answer: str, references: Sequence[str]) -> float:
        plain, *others = (unicodedata.normalize("NFKC", text) for text in (answer, *references))
        return float(own.sentence_score(plain, others).score) / 100

    return f"sacrebleu {version('sacrebleu')}", measure


PEERS: dict[str, Callable[[], tuple[str, Measure]]] = {
    "rouge_l": lambda: rouge_score("rougeL"),
    "token_f1": lambda: rouge_score("rouge1"),
    "chrf": sacrebleu,
}

if __name__ == "__main__":
    main(sys.argv[1:])
