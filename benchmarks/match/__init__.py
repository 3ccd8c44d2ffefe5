"""MATCH_RECOGNIZE measured, one file per figure. Nothing is imported here: fresh processes time their imports."""
