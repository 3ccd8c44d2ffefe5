"""`ostinato rules COMMAND`: a module for each command, and what they share."""
