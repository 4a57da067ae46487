"""The command line: one module for each command, named like it (`cross-examine` is cross_examine.py).

    app.py           from words to a command, from an error to a line and an exit code; pages of help
    options.py       options made of `Settings`; `takes` and `takes_settings` give a command its own
    terminal.py      exit codes, lines on stderr, JSON on stdout, bars, early endings
    rehearsal.py     makes a run, for `simulate`, `evaluate`, `harness` and matrices; resume.py finishes one
    publish.py       what follows a run: reports, summary, exit code; destinations.py writes what --to names
    forecast.py      what will be paid, before anything is

A command reads its flags into `Settings`, calls a function of the packages below, and prints. stdout has the
summary, or with --json one object; everything else goes to stderr.
"""
