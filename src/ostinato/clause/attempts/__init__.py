"""Attempts: how far each start of one key came, and the reasons why its next row was refused."""
