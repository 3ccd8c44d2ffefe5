"""Rules as files and the live console measured: the time of their tests, and what a console costs a running stream."""
