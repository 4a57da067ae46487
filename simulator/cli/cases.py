"""`cases make KNOWLEDGE`: test questions from the user's own documents, and from recorded dialogues.

One request writes a question, another answers it from its passages without seeing the right answer; what
fails that check is rejected, with the reason (`testset/`). Out of it come

    cases-made.csv                  the questions, to be read by people and used with --cases
    cases-made.csv.rejected.csv     those that were rejected, and why
    the sheet's test questions      with --to sheets: the same, not yet approved
    personas and a mix of them      with --personas-out: customers who speak like those of the logs
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simulator.api.forecast import total
from simulator.api.progress import progress_bar
from simulator.cli.forecast import show_calls, spent_json
from simulator.cli.gaps import gaps
from simulator.cli.options import argument, option, takes
from simulator.cli.terminal import ExitCode, exit_code_of_failures, print_json, reason_of, saved_in_cache, say
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import (
    Message,
    _,
    as_called,
    language_of_most,
    ngettext,
    pgettext,
    safe_text,
    sentences,
    shown,
)
from simulator.core.roles import check_one_player
from simulator.core.settings import load_settings
from simulator.core.types import Case, Language
from simulator.core.writing import write_atomically
from simulator.models.pricing import check_prices
from simulator.plugins import Subcommands
from simulator.privacy.patterns import mask
from simulator.testset import files
from simulator.testset.checks import RejectedQuestion, TestSet
from simulator.testset.logs import FROM_LOGS
from simulator.testset.make import TestSetRequest, TestSetRun
from simulator.testset.untested import knowledge_of, untested_articles

# Kinds of question, by their tags and ids, in the order of the summary; those after the complaint are out of
# scope, so that declining them is right.
KIND_TITLES: dict[str, Message] = {
    "simple": _("simple"),
    "two-passages": _("two passages"),
    "follow-up": pgettext("a kind of question", "follow-up"),
    "complaint": _("complaint that hides a question"),
    "false-fact": _("false fact taken for granted"),
    "neighbour": _("neighbouring topic"),
    "small-talk": _("small talk"),
    FROM_LOGS: _("from logs"),
}
# Why a question was rejected, by `Reason` of testset/checks.py, which says how each is found out.
REASON_TITLES: dict[str, Message] = {
    "empty": _("no question or no reference answer"),
    "long": _("too long"),
    "language": _("not in the articles' language"),
    "document": _("mentions the article itself"),
    "unanswerable": _("the articles do not answer it"),
    "differs": _("the articles give another answer"),
    "one_passage": _("one passage is enough"),
    "alone": _("needs no earlier message"),
    "answered": _("meant to be out of scope, but the articles answer it"),
    "duplicate": _("nearly the same as another"),
}


@takes(
    "offline", "user_model", "judge_model", "cache", "budget", "prices",
    "calls", "timeout", "seed", "language", "redact_patterns",
    "dry_run", "runs", "sheet", "worksheet", "columns", "json_output",
)  # fmt: skip
def make(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    knowledge: str | None = argument(
        "KNOWLEDGE",
        "Your articles, file or folder: Markdown, text, HTML, CSV, JSONL, Excel, Word, PDF.",
    ),
    out: str = option("--out FILE", "The file to write: .csv or .jsonl.", "cases-made.csv"),
    overwrite: bool = option("--overwrite", "Replace FILE, with all that people changed in it."),
    number: int = option("--number N", "How many questions.", 40, lowest=1),
    kinds: list[str] | None = option(
        "--kinds NAME,...",
        "Only these kinds: simple, two-passages, follow-up, complaint; out of scope: false-fact, neighbour, "
        "small-talk.",
        shown="all, mixed",
    ),
    from_logs: str | None = option(
        "--from-logs FILE",
        "Recorded conversations (a question file with history, turns or answers), for goals "
        "and wordings; personal data is masked.",
    ),
    personas_out: str | None = option(
        "--personas-out FOLDER",
        "With --from-logs: write customers that speak like these to FOLDER, and a mix of them.",
    ),
    uncovered: str | None = option(
        "--uncovered RUN",
        "Only for articles that no question of RUN needs: a simple question each, the shortest first.",
    ),
    to: str | None = option(
        "--to sheets",
        "Also add them to the sheet's worksheet of test questions, to be approved; with --sheet.",
    ),
) -> int:
    """Make test questions from your articles, with reference answers and the articles each needs.

    A model writes them, and a second request answers each one from its articles without seeing the
    reference answer; questions that fail this check are rejected and listed. About a quarter are out of
    scope (answerable: no).

    Use the file with `--cases FILE`, after somebody has looked it over. With --to sheets the questions wait
    in the sheet's worksheet of test questions until somebody approves them. If interrupted, run the same
    command again: nothing is paid for twice.
    """
    settings = load_settings({**flags, "to": [to] if to else None})
    check_one_player(settings)
    path = Path(out)
    # What would otherwise show only after everything is paid: a file that cannot be written, a sheet without
    # credentials.
    if uncovered is not None and knowledge is None:
        knowledge = knowledge_of(uncovered, settings.runs)
    if knowledge is None and from_logs is None:
        raise InputError(_("KNOWLEDGE is missing: cases make YOUR_ARTICLES, or --from-logs FILE."))
    if personas_out is not None and from_logs is None:
        raise InputError(_("--personas-out can only be used with --from-logs."))
    if flags.get("columns") and from_logs is None:
        raise InputError(_("--columns is about the file of --from-logs: name it."))
    files.check_name(path)
    if path.exists() and not overwrite and not settings.dry_run:
        msg = _("{path} already exists: choose another file with --out, or replace it with --overwrite.")
        raise InputError(msg.format(path=path))
    if other := [name for name in settings.to if name != "sheets"]:
        msg = _("--to {other}: questions can be written to a file (--out) and to sheets.", other=other[0])
        raise InputError(msg)
    if "sheets" in settings.to:
        files.check(settings.sheet, settings.worksheet)
    only: frozenset[str] | None = None
    if uncovered is not None:
        only = untested_articles(uncovered, settings.runs)
        number = min(number, len(only))
    request = TestSetRequest(
        knowledge,
        number,
        kinds or (),
        settings.case_language,
        from_logs,
        settings.redact_patterns,
        only,
    )
    run = TestSetRun(request, settings)
    check_prices(settings, run.models.items())
    if settings.dry_run:
        show_calls({"judge": run.forecast()}, settings)
    return _make(run, path, Path(personas_out) if personas_out else None)


command = Subcommands(
    about="""Make test questions from your articles, and find what they leave out.

\b
python run.py cases make docs/                       questions, reference answers, articles needed
python run.py cases make docs/ --to sheets --sheet KEY   let the team approve them
python run.py cases make --uncovered latest          for articles that no question needs yet
python run.py cases make --from-logs chats.jsonl     from recorded conversations, personal data masked
python run.py cases gaps chats.jsonl                 what customers ask, and no question or article has
""",
    commands={"make": make, "gaps": gaps},
)


def _make(run: TestSetRun, path: Path, personas: Path | None) -> int:
    """Makes the questions and writes what there is, also when it ends early; returns the exit code.

    What was made before the end is written: it has been paid for. The same command then gets it from the
    response cache, and needs --overwrite for the file.
    """
    _announce(run)
    outcome = MadeCases(path)

    async def make_all() -> None:
        try:
            await run.make(bar.update)
            await run.distil(bar.update)
            if personas is not None:
                (outcome.personas, outcome.mix), outcome.no_personas = await run.personas(personas)
        finally:
            await run.close()

    try:
        with progress_bar(1, _("made and checked")) as bar:
            asyncio.run(make_all())
    except InputError:
        raise
    except (RehearsalError, KeyboardInterrupt) as error:
        outcome.stopped = reason_of(error)
    outcome.add(run.made, *([run.logs.made] if run.logs else []))
    if not outcome.cases and not outcome.stopped and not outcome.failures:
        raise InputError(_("no question could be made that passes the checks."))
    # The file first: a sheet that cannot be reached must not cost what was paid for.
    outcome.write()
    settings = run.settings
    if outcome.cases and "sheets" in settings.to and not outcome.stopped:
        outcome.propose(settings.sheet or "", settings.worksheet or "")
    # In the language of most questions, which whoever reads them speaks; stdout may be for JSON.
    stream = sys.stderr if settings.json_output else sys.stdout
    for line in _lines(run, outcome):
        stream.write(safe_text(shown(line, outcome.language)).replace("\n", " ") + "\n")
    if settings.json_output:
        print_json(outcome.as_json(run))
    code = _exit_code(run, outcome)
    if code and outcome.written:
        say(_("Add --overwrite to replace {path}.", path=path))
    return code


def _announce(run: TestSetRun) -> None:
    sources = []
    if run.articles:
        sources.append(ngettext("{n} passage", "{n} passages", n=len(run.articles)))
    if run.logs is not None:
        sources.append(
            ngettext("{n} recorded conversation", "{n} recorded conversations", n=len(run.logs.dialogues))
        )
    writer = _(
        "Written by {user}, checked by {judge}. About {cost}.",
        user=run.models["user"], judge=run.models["judge"], cost=total([run.forecast()]),
    )  # fmt: skip
    say(sentences(_("{sources}.", sources=tuple(sources)), writer))


def _exit_code(run: TestSetRun, outcome: "MadeCases") -> int:
    """DONE, or INCOMPLETE where it stopped or too much failed; stderr says how to go on."""
    if outcome.stopped:
        reason = _("{reason:sentence}", reason=outcome.stopped)
        say(_("error: {message}", message=sentences(reason, saved_in_cache(run.settings.cache))))
        return ExitCode.INCOMPLETE
    failed = len(outcome.failures)
    kinds = ", ".join(sorted({kind for _case, kind in outcome.failures}))
    tried = len(outcome.cases) + len(outcome.rejected) + failed
    return exit_code_of_failures(failed, tried, kinds)


class MadeCases:
    """The questions that were made, those that were rejected or failed, and where they were written."""

    def __init__(self, path: Path) -> None:
        """`path` is the file for the questions; nothing is made yet."""
        self.path = path
        self.cases: list[Case] = []
        self.rejected: list[RejectedQuestion] = []
        self.failures: list[tuple[str, str]] = []
        self.no_personas: Message | str = ""
        self.stopped: Message | str = ""
        self.personas: list[Path] = []
        self.mix: Path | None = None
        self.proposed: files.ProposedCases | None = None
        self.written = False

    def add(self, *made: TestSet) -> None:
        """Adds what was made from articles, and from logs."""
        for questions in made:
            self.cases += questions.cases
            self.rejected += questions.rejected
            self.failures += questions.failures

    @property
    def language(self) -> Language:
        """The language of most questions; Japanese on a tie."""
        cases = [*self.cases, *(question.case for question in self.rejected)]
        return language_of_most(case.language for case in cases)

    @property
    def rejected_path(self) -> Path:
        """The file of the rejected questions, beside the other."""
        return self.path.with_name(f"{self.path.name}.rejected.csv")

    def write(self) -> None:
        """Writes both files, each only if it would hold a question.

        Rejected ones of an earlier try go, for they say nothing of this one.
        """
        if self.cases:
            write_atomically(self.path, files.content_of(self.cases, self.path))
            self.written = True
        if self.rejected:
            table = files.rejected_of(
                self.rejected, lambda question: shown(REASON_TITLES[question.why], self.language)
            )
            write_atomically(self.rejected_path, table)
        else:
            self.rejected_path.unlink(missing_ok=True)

    def propose(self, sheet: str, worksheet: str) -> None:
        """Adds the questions to the team's worksheet, unapproved."""
        self.proposed = files.propose(self.cases, sheet, worksheet, self.language)

    @property
    def kinds(self) -> dict[str, int]:
        """How many questions there are of each kind, in the order of the titles; without those of none."""
        tags = Counter(tag for case in self.cases for tag in case.tags)
        return {kind: tags[kind] for kind in KIND_TITLES if tags[kind]}

    @property
    def reasons(self) -> dict[str, int]:
        """How many questions were rejected for each reason, likewise."""
        why = Counter[str](question.why for question in self.rejected)
        return {reason: why[reason] for reason in REASON_TITLES if why[reason]}

    def as_json(self, run: TestSetRun) -> dict[str, Any]:
        """The object that `--json` prints; the file of the rejected questions says more of these."""
        return {
            "cases": len(self.cases),
            "file": str(self.path) if self.written else None,
            "answerable": sum(case.answerable is True for case in self.cases),
            "out_of_scope": sum(case.answerable is False for case in self.cases),
            "kinds": self.kinds,
            "rejected": self.reasons,
            "failures": dict(Counter(kind for _id, kind in self.failures)),
            "redacted": run.logs.counts if run.logs else {},
            "personas": [str(path) for path in self.personas],
            "mix": str(self.mix) if self.mix else None,
            "sheet": self.proposed
            and {"url": self.proposed.url, "added": self.proposed.added, "near": self.proposed.near},
            **spent_json(run.ledger),
            "stopped": self.stopped or None,
        }


def _lines(run: TestSetRun, outcome: MadeCases) -> Iterator[Message | str]:
    if outcome.cases:
        yield _("Questions made: {n} ({path})", n=len(outcome.cases), path=outcome.path)
        yield _("Kinds: {counts}", counts=_named(KIND_TITLES, outcome.kinds))
    else:
        yield _("No question could be made.")
    if n := len(outcome.rejected):
        yield _("{n} rejected: {counts}", n=n, counts=_named(REASON_TITLES, outcome.reasons))
        yield _("What was rejected, and why: {path}", path=outcome.rejected_path)
    if outcome.failures:
        kinds = tuple(f"{kind} {n}" for kind, n in Counter(kind for _id, kind in outcome.failures).items())
        yield _("Failures of the model: {kinds}", kinds=kinds)
    yield from _lines_of_logs(run, outcome)
    if sheet := outcome.proposed:
        added = {"n": sheet.added, "url": sheet.url}
        yield _("Added to the sheet's test questions, not yet approved: {n} ({url})", **added)
        if sheet.near:
            yield _("Not added, because a question like it is there already: {n}", n=sheet.near)
        yield from sheet.notes
    if outcome.cases and outcome.proposed:
        yield _("Next: review them in the sheet, set the good ones to Approved, then use them:")
        yield as_called(f"  python run.py --cases sheet:{run.settings.sheet} --adapter bot.py:answer")
    elif outcome.cases:
        yield _("Next: have people review and correct them, then use them:")
        yield as_called(f"  python run.py --cases {outcome.path} --adapter bot.py:answer")


def _lines_of_logs(run: TestSetRun, outcome: MadeCases) -> Iterator[Message]:
    if run.logs is None:
        return
    counts = sorted(run.logs.counts.items())
    masks = tuple(f"{mask(kind, outcome.language).strip('[]')} {n}" for kind, n in counts)
    yield _("Masked in the logs: {counts}", counts=masks or _("nothing"))
    if outcome.personas:
        yield _("Customers written: {names}", names=tuple(map(str, outcome.personas)))
    elif outcome.no_personas:
        yield _("No customers were made ({why}).", why=outcome.no_personas)


def _named(titles: Mapping[str, Message], counts: Mapping[str, int]) -> tuple[Message, ...]:
    """Numbers behind the titles of what they count."""
    return tuple(_("{name} {n}", name=titles[key], n=n) for key, n in counts.items())
