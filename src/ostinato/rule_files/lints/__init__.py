"""Warnings about rules that parse and type, and that probably don't do what their author means."""
