"""How the line of a shell may go on: what a shell is told once, and what it is answered at each Tab.

eval "$(_REHEARSAL_COMPLETE=source_bash rehearsal)"     takes the script
_REHEARSAL_COMPLETE=words _REHEARSAL_LINE="rehearsal d" rehearsal     diff, doctor
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from simulator.cli.help import meaning, said
from simulator.cli.options import Command, as_command
from simulator.core.errors import RehearsalError
from simulator.core.messages import localised
from simulator.plugins import Subcommands

# Set by shells that ask, and by whoever asks for a script; the line up to where the user types.
ASKED, LINE = "_REHEARSAL_COMPLETE", "_REHEARSAL_LINE"
_SCRIPTS = {
    "source_bash": """_rehearsal_completion() {
    local IFS=$'\\n'
    COMPREPLY=($(_REHEARSAL_COMPLETE=words _REHEARSAL_LINE="${COMP_LINE:0:$COMP_POINT}" rehearsal))
}
complete -o default -F _rehearsal_completion rehearsal""",
    "source_zsh": """_rehearsal_completion() {
    local -a lines
    lines=("${(@f)$(_REHEARSAL_COMPLETE=colons _REHEARSAL_LINE="${words[1,CURRENT]}" rehearsal)}")
    _describe rehearsal lines || _files
}
compdef _rehearsal_completion rehearsal""",
    "source_fish": """function _rehearsal_completion
    _REHEARSAL_COMPLETE=tabs _REHEARSAL_LINE=(commandline -cp) rehearsal
end
complete -c rehearsal -a '(_rehearsal_completion)'""",
}
# What stands between a word and what it means.
_BETWEEN = {"colons": ":", "tabs": "\t"}


def completion(
    asked: str, line: str, words: Mapping[str, str], command_of: Callable[[str], Command | Subcommands]
) -> str:
    """A script, or the words with which a line may go on, one on a line.

    `words` are the commands, each with its first line.
    """
    if asked in _SCRIPTS:
        return f"{_SCRIPTS[asked]}\n"
    *before, last = line.split(" ")
    offered = _offered([word for word in before[1:] if word], words, command_of)
    between = _BETWEEN.get(asked)
    # Options once a hyphen is typed: before it, words and files.
    fitting = ((w, text) for w, text in offered if w.startswith(last) and (last or w[0] != "-"))
    return "".join(f"{word}{between}{text}\n" if between else f"{word}\n" for word, text in fitting)


def _offered(
    before: Sequence[str], words: Mapping[str, str], command_of: Callable[[str], Command | Subcommands]
) -> Iterator[tuple[str, str]]:
    """What may follow these words: words, or options; a line may begin with an option of a rehearsal."""
    if not before:
        yield from ((word, said(line)) for word, line in words.items())
    first, *rest = before if before and not before[0].startswith("-") else ("simulate", *before)
    try:
        command = command_of(first)
        if isinstance(command, Subcommands):
            subcommands = {word: as_command(function) for word, function in command.commands.items()}
            if not rest:
                yield from ((word, said(each.first_line)) for word, each in subcommands.items())
                return
            command = subcommands[rest[0]]
        options = (option for option in command.options if option.flags)
        yield from ((option.flags[-1], localised(meaning(option))) for option in options)
    except (RehearsalError, KeyError):  # a word that is no command has nothing after it
        return
