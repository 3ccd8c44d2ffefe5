"""When a row qualifies: expressions over columns, evaluated by Spark's rules without a JVM.

`typing.type_of` says what an expression is, or why it can't be anything; `evaluate.evaluate` gives its column and
`evaluate.evaluate_mask` the rows where a condition is TRUE. `evaluate.prepare` does the typing once for many batches.
The road of an expression: `typing.resolve` (Expr -> Typed, with every implicit cast written out, from the table in
`functions.py`) and then `Typed.run` over `Vector`s (`vectors.py`). Query text never becomes code.
"""
