"""`python -m benchmarks` prints every figure; `python -m benchmarks.startup` and so on print one."""

from benchmarks import http_run, lexical_validity, offline_run, page, phases, startup, xlsx_run

for benchmark in (startup, offline_run, http_run, phases, xlsx_run, page, lexical_validity):
    benchmark.main()
