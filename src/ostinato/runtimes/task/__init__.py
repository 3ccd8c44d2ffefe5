"""One task's work, the same in process and on Spark: rows of whole keys in, output rows out."""
