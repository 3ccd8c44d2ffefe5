"""Run-based parallelism ("RIP: run-based intra-query parallelism", DEBS 2013): one ordered stream on many workers.

Rows are cut into slices; whoever owns a slice finds the matches that start in it, and reads on past its end as far as
a match may reach. docs/papers/rip.md says what was taken, what was changed and why.
"""
