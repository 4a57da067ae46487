"""Real customers of public dialogues, for the measure of likeness: to make, to try and to judge it.

Every dialogue belongs to one part by a hash of its id: half of them `build` the reference, a quarter is
there to `develop` the measure on, a quarter is `final`: opened once, when the measure is done
(docs/lab/judging.md says when). Some desks are in no reference (`HELD_OUT`): their people are those of
another desk.

    same desks      people of the reference's desks, but dialogues that it does not have
    another desk    people of one desk that it does not have
    half prose      the first, half of whose later lines are assistant prose: answers of a desk, or what a
                    model writes in a customer's place (likeness_prose.toml); in all prose every one is

English has three sets (STAR, MultiDoGO, Taskmaster-4). Japanese has a travel desk whose matters count as
desks (JMultiWOZ), hotel guests (ASDC) and people who ask which film to see (JMRD).
"""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import Literal, NamedTuple

from benchmarks import DATA
from benchmarks.customers_data import Row, rows_of
from benchmarks.measured import ROOT
from simulator.cases.cases import read_cases
from simulator.core.shelves import DEMO
from simulator.core.types import Language

Part = Literal["build", "develop", "final"]
Talk = list[str]
# Whole desks that the reference lacks, by the part in which they are another desk.
HELD_OUT: Mapping[Part, frozenset[str]] = {
    "develop": frozenset({"STAR trip", "MultiDoGO media", "JMultiWOZ weather"}),
    "final": frozenset({"STAR bank", "MultiDoGO insurance", "JMultiWOZ taxi"}),
}


class People(NamedTuple):
    """A set of real customers: its file below the data folder, and what stands beside its figures."""

    name: str
    language: Language
    file: str
    domain: str
    licence: str
    source: str


SETS = (
    People("ASDC", "ja", "asdc/user_goals_asdc_ja_dev.jsonl.gz", "hotel search", "CC BY 4.0",
           "Accommodation Search Dialog Corpus, Megagon Labs, github.com/megagonlabs/asdc"),
    People("JMultiWOZ", "ja", "humans/jmultiwoz_ja_dev.jsonl.gz", "travel desk", "CC BY-SA 4.0",
           "Ohashi, Hirai, Iizuka, Higashinaka 2024, github.com/nu-dialogue/jmultiwoz"),
    People("JMRD", "ja", "jmrd/rag_conversations_jmrd_ja_dev.jsonl.gz", "films", "CC BY-SA 4.0",
           "Japanese Movie Recommendation Dialogue, Kyoto University, github.com/ku-nlp/JMRD"),
    People("STAR", "en", "humans/star_en_dev.jsonl.gz", "bank, hotel, doctor, rides", "MIT",
           "Mosig, Mehri, Kober 2020, github.com/RasaHQ/STAR, (c) 2020 Rasa Technologies GmbH"),
    People("MultiDoGO", "en", "humans/multidogo_en_dev.jsonl.gz", "airline, finance, media, software",
           "CDLA-Permissive-1.0",
           "Peskov et al. 2019, github.com/awslabs/multi-domain-goal-oriented-dialogues-dataset"),
    People("Taskmaster-4", "en", "humans/taskmaster4_en_dev.jsonl.gz", "coffee orders", "CC BY 4.0",
           "Byrne, Ganesh 2024, github.com/google-research-datasets/Taskmaster"),
)  # fmt: skip


def part_of(dialogue: str) -> Part:
    """The part of a dialogue, by its id."""
    parts: tuple[Part, ...] = ("build", "build", "develop", "final")
    return parts[int(sha256(f"likeness|{dialogue}".encode()).hexdigest(), 16) % len(parts)]


def desk_of(people: People, row: Row) -> str:
    """The desk of a dialogue: its set and its matter; of several matters a held-out one comes first."""
    domains = row.get("meta", {}).get("domain") or []
    names = [f"{people.name} {domain}" for domain in ([domains] if isinstance(domains, str) else domains)]
    held_out = [name for part in ("final", "develop") for name in names if name in HELD_OUT[part]]
    return (held_out or names or [people.name])[0]


def is_there() -> bool:
    """Whether all sets are beside the checkout."""
    return all((DATA / people.file).is_file() for people in SETS)


def talks(language: Language, part: Part) -> dict[str, list[Talk]]:
    """What customers said, line by line, of one part by desk; of its held-out desks every dialogue.

    Desks that are held out for another part are left out.
    """
    by_desk: dict[str, list[Talk]] = {}
    elsewhere = frozenset[str]().union(*(desks for other, desks in HELD_OUT.items() if other != part))
    for people in SETS:
        for row in rows_of(DATA / people.file) if people.language == language else ():
            desk = desk_of(people, row)
            if desk not in elsewhere and (desk in HELD_OUT.get(part, ()) or part_of(row["id"]) == part):
                lines = [turn for turn in row["turns"] if turn["role"] in ("customer", "user")]
                by_desk.setdefault(desk, []).append([turn.get("text") or turn["content"] for turn in lines])
    return by_desk


def prose(language: Language, part: Part) -> dict[str, list[str]]:
    """Assistant prose: what a desk answers, and what a model writes in a customer's place."""
    lines = tomllib.loads((ROOT / "benchmarks/likeness_prose.toml").read_text(encoding="utf-8"))[language]
    half = len(lines) // 2
    if part == "final":
        rows = (ROOT / f"benchmarks/learning_rows/desk_{language}.jsonl").read_text(encoding="utf-8")
        return {"a desk": [json.loads(row)["answer"] for row in rows.splitlines()], "a model": lines[half:]}
    cases = read_cases(DEMO / "cases" / f"{language}.csv")
    return {"a desk": [case.references[0][0] for case in cases if case.references], "a model": lines[:half]}


def in_prose(spoken: Iterable[Talk], lines: Sequence[str], *, every: int) -> Iterator[Talk]:
    """The same customers, with prose in the place of every so-manieth later line, taken in turn."""
    said, at = count(), count()
    for talk in spoken:
        yield talk[:1] + [
            lines[next(said) % len(lines)] if next(at) % every == 0 else own for own in talk[1:]
        ]


def ladder(language: Language, part: Part) -> dict[str, list[Talk]]:
    """The rows that a measure has to rank, best first; every held-out desk has one of its own."""
    by_desk = talks(language, part)
    other = {f"another desk: {desk}": by_desk.pop(desk) for desk in sorted(HELD_OUT[part] & by_desk.keys())}
    same = [talk for _desk, spoken in sorted(by_desk.items()) for talk in spoken]
    prosaic = {
        f"{share} prose of {kind}": list(in_prose(same, lines, every=every))
        for share, every in (("half", 2), ("all", 1))
        for kind, lines in prose(language, part).items()
    }
    return {"same desks": same} | other | prosaic
