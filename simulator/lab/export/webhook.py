"""`--to https://...`: the verdict of a run and a link, posted to a webhook.

    https://hooks.slack.com/services/...          Slack's blocks
    https://....webhook.office.com/..., https://....logic.azure.com/..., https://....powerplatform.com/...
                                                  an adaptive card, as Teams takes it
    any other address                             one JSON object

The address is the key: whoever has it can post. It is shown without its path, and stored nowhere. Questions
and answers stay here, unless the address ends with `#red`: then the gravest red answers are in the message,
as plain text, so that nobody's words become links, mentions or headings.
"""

import json
import os
import re
from contextlib import suppress
from http.client import HTTPException
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pydantic import JsonValue

from simulator.core.document import excerpt
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, safe_text, system_error
from simulator.core.roles import is_http_address
from simulator.core.settings import Settings
from simulator.models.exchange import AGENT
from simulator.report.context import ReportContext, change_text
from simulator.report.gate import verdict
from simulator.results.figures import rounded

_SECONDS = 30
# So many red answers are sent, and so many characters of each text.
_MOST, _LONGEST = 5, 300
_SLACK = re.compile(r"hooks\.slack(?:-gov)?\.com")
_TEAMS = re.compile(r".+\.(?:webhook\.office\.com|logic\.azure\.com|powerplatform\.com)")
# What may stand in an address: anything else is percent-encoded there.
_PLAIN = re.compile(r"[!-~]+")
# The single word with which Slack says what is wrong.
_WORD = re.compile(r"[a-z_ ]{1,60}")
# No name, connection, certificate, or HTTP.
_BROKEN = (OSError, ValueError, HTTPException)
# What says where a job of continuous integration is seen.
_JOBS = ("CI_JOB_URL", "BUILD_URL", "CIRCLE_BUILD_URL", "BUILDKITE_BUILD_URL")


class Notice(NamedTuple):
    """What is posted: lines of ours, a link or a path, and red answers, none where nobody asked for them."""

    head: str
    lines: tuple[str, ...]
    link: str
    red: tuple[str, ...] = ()


class _NoRedirect(HTTPRedirectHandler):
    """A webhook answers where it is: the message goes to no other address."""

    def redirect_request(self, *_args: object) -> None:
        return None


def check(name: str) -> None:
    """Raises InputError for what is no address: without a host, with a port that is none, or with blanks."""
    if not (is_http_address(name) and _PLAIN.fullmatch(name)):
        raise InputError(_("--to {address}: this is not an address.", address=_shown(name)))


def send(name: str, context: ReportContext, settings: Settings) -> str:
    """Posts the verdict; returns the host. Raises InputError and RehearsalError without the address."""
    check(name)
    address, _mark, wanted = name.partition("#")
    body = json.dumps(payload(address, notice(context, red=wanted == "red"), context)).encode()
    request = Request(address, body, {"Content-Type": "application/json", "User-Agent": AGENT})  # noqa: S310 - checked
    try:
        with build_opener(_NoRedirect).open(request, timeout=_SECONDS):
            return _shown(name)
    except HTTPError as error:
        said = ""
        with suppress(*_BROKEN):
            said = error.read(200).decode("utf-8", "replace").strip()
        why: Message | str = _("answered with {code}.", code=error.code)
        if _WORD.fullmatch(said):
            why = _("answered with {code}. {said}", code=error.code, said=said)
        is_passing = error.code == 429 or error.code >= 500
    except _BROKEN as error:
        why, is_passing = _("no answer ({why}).", why=system_error(getattr(error, "reason", error))), True
    msg = _(
        "--to {address}: {why} The run is safe: send it again with `report`.", address=_shown(name), why=why
    )
    raise (RehearsalError if is_passing else InputError)(msg)


def notice(context: ReportContext, *, red: bool) -> Notice:
    """What is said of a run, in the language of its report."""
    summary = context.summary
    shown = context.text(verdict(context.gate, trial=summary.trial))
    lines = [context.text(change_text(context.change))] if context.change else []
    lines.append(
        context.text(_("Answers that need review: {n} of {turns}", n=summary.red.count, turns=summary.turns))
    )
    answers = (
        " / ".join(
            safe_text(excerpt(text, _LONGEST)) for text in (turn.question, turn.answer, turn.reason) if text
        )
        for turn in summary.red.answers[:_MOST]
    )
    head = context.text(_("Rehearsal {run}: {verdict}", run=summary.run, verdict=shown))
    return Notice(safe_text(head), tuple(lines), link(context), tuple(answers) if red else ())


def link(context: ReportContext) -> str:
    """Where the job is seen that made the run, else the path of its page."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    if all(map(os.environ.get, names)):
        server, repository, run = map(os.environ.__getitem__, names)
        return f"{server}/{repository}/actions/runs/{run}"
    return next((os.environ[name] for name in _JOBS if os.environ.get(name)), context.page)


def payload(address: str, said: Notice, context: ReportContext) -> dict[str, JsonValue]:
    """The body that the receiver at this address takes."""
    host, parts = urlsplit(address).hostname or "", [*said.lines, said.link, *said.red]
    if _SLACK.fullmatch(host):
        escaped = said.head.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        blocks: list[JsonValue] = [
            {"type": "section", "text": {"type": "plain_text", "text": text[:3000], "emoji": False}}
            for text in (said.head, *parts)
        ]
        return {"text": escaped, "blocks": blocks}
    if _TEAMS.fullmatch(host):
        # A TextBlock would read Markdown in it.
        runs: list[JsonValue] = [
            {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text}]}
            for text in (said.head, *parts)
        ]
        card: dict[str, JsonValue] = {"type": "AdaptiveCard", "version": "1.4", "body": runs}
        kind = "application/vnd.microsoft.card.adaptive"
        return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}
    shown: dict[str, JsonValue] = {
        "run": context.summary.run,
        "verdict": said.head,
        "passed": context.gate.passed,
        "trial": context.summary.trial,
        "score": rounded(context.summary.scores.score),
        "turns": context.summary.turns,
        "red": context.summary.red.count,
        "lines": list(said.lines),
        "link": said.link,
    }
    return shown | ({"red_answers": list(said.red)} if said.red else {})


def _shown(name: str) -> str:
    """An address without what makes it a key."""
    scheme, _mark, rest = name.partition("://")
    return f"{scheme}://{re.split(r'[/?#]', rest)[0].rpartition('@')[2]}/***"
