"""Folders and files of a stream -> their news, and the problems of those that can't be read."""
