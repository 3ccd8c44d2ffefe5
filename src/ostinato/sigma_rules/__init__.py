"""Sigma rules (sigmahq.io) -> rules of Ostinato: the text of a clause for each correlation, read through pySigma.

`read_sigma` translates, `write_rule_files` writes the result as files. docs/sigma.md lists what is translated, and how.
"""

from __future__ import annotations

from ostinato.sigma_rules.rule_file_writer import write_rule_files
from ostinato.sigma_rules.sigma_reader import read_sigma
from ostinato.sigma_rules.translated_rule import Problem, TranslatedRule

__all__ = ["Problem", "TranslatedRule", "read_sigma", "write_rule_files"]
