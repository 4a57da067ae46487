"""Makes what people read of a run, and files for programs; works out no figure.

    stats, diagnosis          figures, gate, red turns, what to fix
    context.py                all of these in one `ReportContext`
    run.py, comparison.py     builders: each returns a `Report` (`core/document.py`) of sections and blocks
    sections.py and others    the sections that only some runs have, imported where a run has them
    painters/                 draw any `Report`: terminal, Markdown, page; they import `core` alone
    run_page.py               what the page of a run has beyond a `Report`: its conversations
    worksheets.py, files.py   the same run as worksheets, CSV, JSON and JUnit

Every text is a `Message`, shown in the language of the report by whoever draws it.
"""
