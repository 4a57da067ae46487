"""The command line: one module for each command, named like it.

    app.py           from words to a command, from an error to a line and an exit code
    options.py       what an option is; `takes` and `takes_settings` make options of `Settings`
    parsing.py       from words to the values of options
    help.py          pages of help; completion.py: how the line of a shell may go on
    terminal.py      exit codes, lines on stderr, JSON on stdout, early endings
    run_or_resume.py makes a run, or finishes one, for `simulate` and `evaluate`
    publish.py       what follows a run: reports, summary, exit code
    forecast.py      what will be paid, before anything is

A command reads its flags into `Settings`, calls a function of the packages below, and prints. stdout has the
summary, or with --json one object; everything else goes to stderr.
"""
