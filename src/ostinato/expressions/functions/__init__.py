"""Spark's operators, casts and functions over columns, one file for each family. `function_table.py` lists them all."""
