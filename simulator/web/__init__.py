"""`open`: the pages of runs to work on, for one person's browser on this machine.

server.py    which requests are answered, and how
runs.py      the first page: the runs of the folder
review.py      one run at work: its page, what is said of its answers, and what is written there
open.js      the controls that the page gets, open.css how they look
"""
