"""`python -m benchmarks` prints every figure; `python -m benchmarks.startup` and so on print one."""

from benchmarks import http_run, lexical_validity, offline_run, startup

for benchmark in (startup, offline_run, http_run, lexical_validity):
    benchmark.main()
