"""`cases gaps FILE`: what customers ask, and no question of a run covers, or no article of its bot answers.

No model is asked: words are counted (`testset/gaps.py`). What is shown of the logs is masked, always.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from simulator.cli.options import argument, takes
from simulator.cli.terminal import ExitCode, print_json
from simulator.core.messages import Message, _, language_of_most, ngettext, safe_text, shown
from simulator.core.settings import load_settings
from simulator.storage.run_file import find_run, read_run
from simulator.testset.gaps import Gaps, Topic, gaps_of
from simulator.testset.logs import Logs

# So many topics are listed; all are in --json.
_SHOWN = 20


@takes("language", "redact_patterns", "columns", "runs", "json_output")
def gaps(
    flags: dict[str, Any],
    logs: str = argument("LOGS", "Recorded conversations, as --from-logs takes them.", ...),
    run: str = argument("RUN", "The run whose questions and articles are compared with them.", "latest"),
) -> int:
    """List what customers ask that no question covers, and what no article answers.

    Topics are words that occur in at least two conversations and in no question of RUN, or in no article
    of its bot (--knowledge), with up to three examples, personal data masked. No model is asked: the words
    are candidates for people to read.
    """
    settings = load_settings(flags)
    results = read_run(find_run(run, settings.runs))
    dialogues = Logs(logs, settings.case_language, settings.redact_patterns, settings.columns)
    cases = {talk.case.id: talk.case for talk in results.conversations}.values()
    result = gaps_of(
        dialogues.requests(),
        (
            "\n".join([*(line.content for line in case.history), case.question, *case.script])
            for case in cases
        ),
        (f"{article.title}\n{article.text}" for article in results.articles if article.text),
    )
    if settings.json_output:
        print_json({"run": results.run.id, **result.as_json(), "redacted": dialogues.counts})
        return ExitCode.DONE
    # In the language of most customers, which whoever reads them speaks.
    language = language_of_most(dialogue.language for dialogue in dialogues.dialogues)
    for line in _lines(result, results.run.id):
        sys.stdout.write(safe_text(shown(line, language)) + "\n")
    return ExitCode.DONE


def _lines(result: Gaps, run: str) -> Iterator[Message | str]:
    n = result.dialogues
    yield ngettext(
        "{n} conversation, compared with {run}", "{n} conversations, compared with {run}", n=n, run=run
    )
    yield from _listed(
        _("No question has these words of customers: {n}", n=len(result.uncovered)), result.uncovered
    )
    if result.unanswered is None:
        yield _(
            "The texts of the articles are not known: rehearse again with --knowledge FOLDER, and then ask"
            " for the gaps again."
        )
    else:
        title = _("No article has these words of customers: {n}", n=len(result.unanswered))
        yield from _listed(title, result.unanswered)


def _listed(title: Message, topics: Sequence[Topic]) -> Iterator[Message | str]:
    yield title
    for topic in topics[:_SHOWN]:
        yield _("  {word}: {dialogues}", word=topic.word, dialogues=topic.dialogues)
        yield from (f"    {' '.join(example.split())}" for example in topic.examples)
    if (more := len(topics) - _SHOWN) > 0:
        yield _("{n} more topics are in --json.", n=more)
