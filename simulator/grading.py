"""Everyone who grades: the judges that the settings name, and the models, stand-ins and lists behind them."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from simulator import __version__, find
from simulator.endpoints import LEXICAL, Endpoint, panelists
from simulator.errors import InputError
from simulator.files.text import read_text
from simulator.judging import Filling, FunctionJudging, Judging, ModelJudging, Panel, StandInJudging
from simulator.limits import GRADING
from simulator.llm import Model
from simulator.metrics import tokenizer
from simulator.models import Models
from simulator.prompts import fingerprint
from simulator.rubrics import Form, Frame, Rubric
from simulator.settings import Settings
from simulator.types import Embed


class Grading:
    """Made once per run; whatever is wrong with judges, guidelines or lists shows here."""

    def __init__(self, settings: Settings, models: Models) -> None:
        """Reads the judges, the guidelines and the team's lists; connects to nothing yet."""
        self.settings, self.models = settings, models
        guidelines = Path(settings.guidelines or find.JUDGES / "_guidelines.toml")
        self.frame = Frame(find.JUDGES / "_frame.toml", guidelines)
        self.judges = _judges(settings.judges)
        self.lists = {
            "contacts": contacts_of(settings),
            "ng_words": lines_of_list(settings.ng_words, "--ng-words"),
        }
        tokenizer(settings.tokenizer)  # an unknown or missing one is told before anything is paid
        self.panelists = panelists(settings)
        self.panel = Panel(self._judgings())

    @property
    def names(self) -> tuple[str, ...]:
        """What scores are filed under: the judges, and those of the panel's further models."""
        beside = (f"{r.name}@{panelist.model}" for panelist in self.panelists for r in self.rubrics)
        return (*self.judges, *beside)

    @functools.cached_property
    def rubrics(self) -> list[Rubric]:
        """The judges that a model plays."""
        return [judge for judge in self.judges.values() if isinstance(judge, Rubric)]

    @functools.cached_property
    def forms(self) -> list[Form]:
        """What the shelf's function judges have a model fill in."""
        return [
            find.form(name)
            for name, judge in self.judges.items()
            if name in find.form_names() and callable(judge)
        ]

    def _judgings(self) -> list[Judging]:
        endpoint = self.models.endpoints["judge"]
        if endpoint is None:
            found: list[Judging] = [StandInJudging(r, _stand_in(r.name), self.frame) for r in self.rubrics]
            return found + self._by_function(None)
        model = self._grading_model(endpoint)
        found = self._by_model(model) + self._by_function(model)
        for panelist in self.panelists:
            found += self._by_model(self._grading_model(panelist), filed=f"@{panelist.model}")
        return found

    def _grading_model(self, endpoint: Endpoint) -> Model:
        temperature = self.settings.judge_temperature
        return self.models.at(endpoint, temperature=temperature, priority=GRADING)

    def _by_model(self, model: Model, filed: str = "") -> list[Judging]:
        together = self.settings.judging == "combined" and len(self.rubrics) > 1
        groups = [self.rubrics] if together else [[rubric] for rubric in self.rubrics]
        seed, votes = self.settings.seed, self.settings.votes
        return [
            ModelJudging(g, self.frame, model, seed=seed, alone=not together, votes=votes, filed=filed)
            for g in groups
        ]

    def _by_function(self, model: Model | None) -> list[Judging]:
        fill = Filling(functools.cache(find.form), self.frame, model, self.settings.seed) if model else None
        given = {
            "embed": self._embed(),
            "fill": fill,
            "tokenizer": self.settings.tokenizer,
            **self.lists,
        }
        return [
            FunctionJudging(name, judge, given, self.frame, self._function_rubric(name, model))
            for name, judge in self.judges.items()
            if not isinstance(judge, Rubric)
        ]

    def _embed(self) -> Embed:
        model = self.models.role("embed", priority=GRADING)
        return model.embed if model else _embed_lexically

    def _function_rubric(self, name: str, model: Model | None) -> str:
        """Stands for the version, the models it may ask, the team's lists, and its own files."""
        own = [path.read_text(encoding="utf-8") for path in find.judge_files(name)]
        grading = model.endpoint.model if model else LEXICAL
        endpoint = self.models.endpoints["embed"]
        embed = endpoint.model if endpoint else LEXICAL
        lists = [line for lines in self.lists.values() for line in lines]
        return fingerprint(name, __version__, embed, grading, self.settings.tokenizer, *own, *lists)


def contacts_of(settings: Settings) -> tuple[str, ...]:
    """What the desk makes public of itself, one a line."""
    return lines_of_list(settings.contacts or _demo_contacts(settings), "--contacts")


def _demo_contacts(settings: Settings) -> str | None:
    """The bundled bot with its bundled texts has a contact list, too."""
    bundled = settings.adapter == "demo" and "knowledge" not in settings.set
    return str(find.DEMO / "contacts.txt") if bundled else None


def lines_of_list(name: str | None, option: str) -> tuple[str, ...]:
    """The lines of a list that the team keeps; empty ones and # comments are left out."""
    if name is None:
        return ()
    try:
        lines = read_text(Path(name)).splitlines()
    except InputError as error:
        msg = f"{option}: {error}"
        raise InputError(msg) from None
    return tuple(line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#"))


async def _embed_lexically(texts: list[str]) -> list[list[float]]:
    from simulator.offline import hash_embed

    return hash_embed(texts)


def _stand_in(name: str) -> Callable[..., Any] | None:
    from simulator.offline import STAND_INS, LexicalJudge  # not where a model judges

    return LexicalJudge(name) if name in STAND_INS else None


def _judges(names: Sequence[str]) -> dict[str, Rubric | Callable[..., Any]]:
    judges = {find.judge_name(name): find.judge(name) for name in names}
    if len(judges) < len(names):
        filed = [find.judge_name(name) for name in names]
        twice = next(name for name in filed if filed.count(name) > 1)
        msg = f"--judges names two judges called '{twice}': their grades would be filed under one name."
        raise InputError(msg)
    return judges
