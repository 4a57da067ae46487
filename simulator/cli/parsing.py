"""From the words of a command line to the values of a command's options."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simulator import plugins
from simulator.cli.options import Option
from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import Message, _, as_called, sentences


def values_of(options: Sequence[Option], words: Sequence[str], path: str) -> Mapping[str, Any]:
    """The values of the options by their names; `path` is what was typed before the words.

    `--turns 3` and `--turns=3` are the same, as are `-o here` and `-ohere`. What stands behind `--` is no
    option. Raises InputError for words that fit no option, and for one that is missing.
    """
    see = _("See: {path} --help", path=as_called(path))
    given: dict[str, list[str]] = {}
    arguments: list[str] = []
    by_flag = {flag: option for option in options for flag in option.flags}
    for named, text in _pairs(by_flag, words, see):
        texts = given.setdefault(named.name, []) if named else arguments
        texts.append(text)
    for option in options:
        if not option.flags and arguments:
            taken = len(arguments) if option.is_list else 1
            given[option.name], arguments = arguments[:taken], arguments[taken:]
    if arguments:
        raise _mistake(_("Got unexpected extra argument(s) ({words}).", words=" ".join(arguments)), see)
    return {option.name: _value(option, given.get(option.name), see) for option in options}


def _pairs(
    by_flag: Mapping[str, Option], words: Sequence[str], see: Message
) -> Iterator[tuple[Option | None, str]]:
    """Each option with the text of its value; None with a word that belongs to none."""
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield from ((None, text) for text in rest)
        elif not word.startswith("-") or word == "-":
            yield None, word
        else:
            flag, equals, text = word.partition("=")
            if word[:2] in by_flag and flag not in by_flag:  # -oFOLDER
                flag, equals, text = word[:2], "=", word[2:]
            if flag not in by_flag:
                raise _unknown(flag, by_flag, see)
            option = by_flag[flag]
            if option.is_switch and equals:
                raise _mistake(_("Option '{option}' does not take a value.", option=flag), see)
            value = text if equals or option.is_switch else next(rest, "")
            # Nor is "" a value, as of a variable that is not set, or the next option.
            is_given = value and (equals or value not in by_flag)
            if not (is_given or option.is_switch):
                raise _mistake(_("Option '{option}' requires an argument.", option=flag), see)
            yield option, value or ""


def _value(option: Option, texts: list[str] | None, see: Message) -> Any:
    if texts is None:
        if option.is_required:
            name = option.flags[-1] if option.flags else option.metavar
            raise _mistake(_("{name} is missing.", name=name), see)
        return option.default
    if option.is_switch:
        return True
    return texts if option.is_list else option.value(texts[-1])


def _unknown(flag: str, flags: Mapping[str, Option], see: Message) -> InputError:
    missing = plugins.missing_setting(flag.lstrip("-").replace("-", "_"), flag)
    return missing or UnknownName(_("option"), flag, flags, listed=see)


def _mistake(message: Message, see: Message) -> InputError:
    return InputError(sentences(message, see))
