"""RETURN MATCHES: the matches of a program, one by one."""
