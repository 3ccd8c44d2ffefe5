"""Spark's operators, casts and functions over columns, one file a family; `function_table.py` lists them all."""
