"""Rules as files: a folder of rule files -> rules that are checked, tested, and written to a change log."""
