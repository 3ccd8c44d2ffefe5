"""What arrives: rows of many keys, brought into order."""
