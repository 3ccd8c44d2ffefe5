"""Names of functions whose value doesn't depend on their arguments alone. Binding needs them without the evaluator."""

from __future__ import annotations

NONDETERMINISTIC = frozenset(
    """rand random randn uuid shuffle monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length randstr uniform""".split()
)
"""The value may differ each time a row is read. Conditions refuse these functions everywhere."""

CLOCK_FUNCTIONS = frozenset("current_timestamp now current_date curdate localtimestamp current_time".split())
"""Spark fixes their value once for a query, so conditions that Spark evaluates may use them. The in-process evaluator
refuses them: it would read the clock at every call."""
