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
from simulator.core.document import count_text
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
from simulator.core.types import Language
from simulator.core.writing import write_atomically
from simulator.models.pricing import check_prices
from simulator.plugins import Subcommands
from simulator.privacy.patterns import mask
from simulator.testset import files
from simulator.testset.logs import FROM_LOGS, SavedPersonas
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
    outcome = MadeCases(run, path)

    async def make_all() -> None:
        try:
            await run.make(bar.update)
            await run.distil(bar.update)
            if personas is not None:
                outcome.personas, outcome.no_personas = await run.personas(personas)
        finally:
            await run.close()

    try:
        with progress_bar(1, _("made and checked")) as bar:
            asyncio.run(make_all())
    except InputError:
        raise
    except (RehearsalError, KeyboardInterrupt) as error:
        outcome.stopped = reason_of(error)
    made, settings = run.made, run.settings
    if not made.cases and not outcome.stopped and not made.failures:
        raise InputError(_("no question could be made that passes the checks."))
    # The file first: a sheet that cannot be reached must not cost what was paid for.
    outcome.write()
    if made.cases and "sheets" in settings.to and not outcome.stopped:
        sheet, worksheet = settings.sheet or "", settings.worksheet or ""
        outcome.proposed = files.propose(made.cases, sheet, worksheet, outcome.language)
    # In the language of most questions, which whoever reads them speaks; stdout may be for JSON.
    stream = sys.stderr if settings.json_output else sys.stdout
    for line in outcome.lines():
        stream.write(safe_text(shown(line, outcome.language)).replace("\n", " ") + "\n")
    if settings.json_output:
        print_json(outcome.as_json())
    code = outcome.exit_code()
    if code and made.cases:
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


class MadeCases:
    """What a run made and rejected, where it was written, and why it `stopped` early, if it did."""

    def __init__(self, run: TestSetRun, path: Path) -> None:
        """`path` is the file for the questions, beside which the rejected ones stand."""
        self.run, self.path = run, path
        self.rejected_path = path.with_name(f"{path.name}.rejected.csv")
        self.stopped: Message | str = ""
        self.personas = SavedPersonas([])
        self.no_personas: Message | str = ""
        self.proposed: files.ProposedCases | None = None

    @property
    def language(self) -> Language:
        """The language of most questions; Japanese on a tie."""
        made = self.run.made
        return language_of_most(
            case.language for case in (*made.cases, *(question.case for question in made.rejected))
        )

    def write(self) -> None:
        """Writes both files, each only if it would hold a question.

        Rejected ones of an earlier try go, for they say nothing of this one.
        """
        made = self.run.made
        if made.cases:
            write_atomically(self.path, files.content_of(made.cases, self.path))
        if made.rejected:
            table = files.rejected_of(
                made.rejected, lambda question: shown(REASON_TITLES[question.why], self.language)
            )
            write_atomically(self.rejected_path, table)
        else:
            self.rejected_path.unlink(missing_ok=True)

    def exit_code(self) -> int:
        """DONE, or INCOMPLETE where it stopped or too much failed; stderr says how to go on."""
        if self.stopped:
            reason = _("{reason:sentence}", reason=self.stopped)
            say(_("error: {message}", message=sentences(reason, saved_in_cache(self.run.settings.cache))))
            return ExitCode.INCOMPLETE
        made = self.run.made
        failed = len(made.failures)
        kinds = ", ".join(sorted({kind for _case, kind in made.failures}))
        return exit_code_of_failures(failed, len(made.cases) + len(made.rejected) + failed, kinds)

    @property
    def kinds(self) -> dict[str, int]:
        """How many questions there are of each kind, in the order of the titles; without those of none."""
        tags = Counter(tag for case in self.run.made.cases for tag in case.tags)
        return {kind: tags[kind] for kind in KIND_TITLES if tags[kind]}

    @property
    def reasons(self) -> dict[str, int]:
        """How many questions were rejected for each reason, likewise."""
        why = Counter[str](question.why for question in self.run.made.rejected)
        return {reason: why[reason] for reason in REASON_TITLES if why[reason]}

    @property
    def failures(self) -> Counter[str]:
        """How often the model failed, by the kind of failure."""
        return Counter(kind for _id, kind in self.run.made.failures)

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints; the file of the rejected questions says more of these."""
        cases, logs, mix = self.run.made.cases, self.run.logs, self.personas.mix
        return {
            "cases": len(cases),
            "file": str(self.path) if cases else None,
            "answerable": sum(case.answerable is True for case in cases),
            "out_of_scope": sum(case.answerable is False for case in cases),
            "kinds": self.kinds,
            "rejected": self.reasons,
            "failures": dict(self.failures),
            "redacted": logs.counts if logs else {},
            "personas": [str(path) for path in self.personas.paths],
            "mix": str(mix) if mix else None,
            "sheet": self.proposed
            and {"url": self.proposed.url, "added": self.proposed.added, "near": self.proposed.near},
            **spent_json(self.run.ledger),
            "stopped": self.stopped or None,
        }

    def lines(self) -> Iterator[Message | str]:
        """What people read in the end."""
        made, address = self.run.made, str(self.path)
        if made.cases:
            yield _("Questions made: {n} ({path})", n=len(made.cases), path=self.path)
            yield _("Kinds: {counts}", counts=_named(KIND_TITLES, self.kinds))
        else:
            yield _("No question could be made.")
        if n := len(made.rejected):
            yield _("{n} rejected: {counts}", n=n, counts=_named(REASON_TITLES, self.reasons))
            yield _("What was rejected, and why: {path}", path=self.rejected_path)
        if failures := self.failures:
            kinds = tuple(f"{kind} {n}" for kind, n in failures.items())
            yield _("Failures of the model: {kinds}", kinds=kinds)
        yield from self._lines_of_logs()
        next_step = _("Next: have people review and correct them, then use them:")
        if sheet := self.proposed:
            added = {"n": sheet.added, "url": sheet.url}
            yield _("Added to the sheet's test questions, not yet approved: {n} ({url})", **added)
            if sheet.near:
                yield _("Not added, because a question like it is there already: {n}", n=sheet.near)
            yield from sheet.notes
            next_step = _("Next: review them in the sheet, set the good ones to Approved, then use them:")
            address = f"sheet:{self.run.settings.sheet}"
        if made.cases:
            yield next_step
            yield as_called(f"  python run.py --cases {address} --adapter bot.py:answer")

    def _lines_of_logs(self) -> Iterator[Message]:
        if self.run.logs is None:
            return
        counts = sorted(self.run.logs.counts.items())
        masks = tuple(count_text(mask(kind, self.language).strip("[]"), n) for kind, n in counts)
        yield _("Masked in the logs: {counts}", counts=masks or _("nothing"))
        if self.personas.paths:
            yield _("Customers written: {names}", names=tuple(map(str, self.personas.paths)))
        elif self.no_personas:
            yield _("No customers were made ({why}).", why=self.no_personas)


def _named(titles: Mapping[str, Message], counts: Mapping[str, int]) -> tuple[Message, ...]:
    """Numbers behind the titles of what they count."""
    return tuple(count_text(titles[key], n) for key, n in counts.items())
