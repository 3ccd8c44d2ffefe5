"""Query and rows -> rows, by brute force: the oracle that tests compare every engine with.

Each system has one module (`clause_oracle`, `trend_oracle`, `correlation_oracle`, `summary_oracle`, `path_oracle`). The
code is slow and obvious. It loads nothing that is compiled.
"""

from ostinato.reference.clause_oracle import match_rows

__all__ = ["match_rows"]
