"""How much of a judge's prompt an endpoint can have cached: what it shares with the call before.

24 bundled questions, three turns each, against the fake endpoint. A call is compared with the
last one by the same judges in the same language. Shown for each way of judging: calls, mean input
tokens, mean tokens of the common beginning, and how many of these count where an endpoint keeps beginnings
of 1,024 tokens and more only, as OpenAI's does. Tokens are estimated, as in forecasts.
"""

import tempfile
from pathlib import Path
from typing import Any, get_args

from benchmarks.money import MODELS, run, standing_in, use_endpoint
from simulator.core.settings import Settings
from simulator.core.templates import LANGUAGES
from simulator.grading.rubric import Rubric, load_judge
from simulator.runner.estimate import tokens
from tests.servers.openai import serve

# The fewest tokens of a common beginning that OpenAI's endpoint keeps.
LEAST = 1024


def main() -> None:
    """A line for each language and way of judging."""
    print(f"{'':20}  calls  input tokens  common  from {LEAST:,} on")
    for language in LANGUAGES:
        for judging in get_args(Settings.model_fields["judging"].annotation):
            requests = judged(language, judging)
            shared = common_beginnings(requests)
            sizes = [tokens(_text(request)) for request in requests]
            kept = [size if size >= LEAST else 0 for size in shared]
            means = [round(sum(each) / len(requests)) for each in (sizes, shared, kept)]
            cells = f"{means[0]:12,}  {means[1]:6,}  {means[2]:13,}"
            print(f"{language + ', ' + judging:20} {len(requests):6}  {cells}")


def judged(language: str, judging: str) -> list[dict[str, Any]]:
    """The requests to the judge's model in a run, in their order."""
    with tempfile.TemporaryDirectory() as folder, standing_in(Path(folder)), serve() as server:
        use_endpoint(server, folder)
        run(
            "--adapter", "demo", "--language", language, "--limit", "24", "--concurrency", "1",
            "--judging", judging,
        )  # fmt: skip
        bodies = [request.body for request in server.requests]
    return [body for body in bodies if body.get("model") == MODELS["judge"]]


def common_beginnings(requests: list[dict[str, Any]]) -> list[int]:
    """For each request, the tokens of the beginning it shares with the last one by the same judges."""
    names = Settings.model_fields["judges"].default
    loaded = [load_judge(name, short=short) for name in names for short in (False, True)]
    rubrics = [judge for judge in loaded if isinstance(judge, Rubric)]
    last: dict[tuple[str, ...], str] = {}
    shared = []
    for request in requests:
        text = _text(request)
        judges = tuple(r.name for r in rubrics if any(r.criterion(each) in text for each in LANGUAGES))
        pairs = enumerate(zip(text, last.get(judges, ""), strict=False))
        same = next((at for at, (one, other) in pairs if one != other), 0)
        shared.append(tokens(text[:same]))
        last[judges] = text
    return shared


def _text(request: dict[str, Any]) -> str:
    return "\n".join(f"{message['role']}\n{message['content']}" for message in request["messages"])


if __name__ == "__main__":
    main()
