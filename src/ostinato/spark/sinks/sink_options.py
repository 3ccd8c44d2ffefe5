"""Options of a data source, which arrive as texts -> values. An option that nobody reads is refused."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from ostinato.calls.bounds import read_duration
from ostinato.calls.options import one_of, shown, whole_number
from ostinato.errors import QueryError, unknown_option

OF_SPARK = ("checkpointlocation", "queryname")
"""Options of Spark's own that reach every sink."""


class OptionTexts:
    """The options of one write, by name in lower case: Spark's options have no case."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = {name.lower(): text for name, text in texts.items() if name.lower() not in OF_SPARK}
        self._known: list[str] = []

    def text(self, name: str) -> str | None:
        """None if the option isn't given, or empty."""
        self._known.append(name)
        return self._texts.get(name) or None

    def named(self, prefix: str) -> dict[str, str]:
        """The options `prefix.<name>`, by name."""
        found = {name: text for name, text in self._texts.items() if name.startswith(f"{prefix}.")}
        self._known += found
        return {name[len(prefix) + 1 :]: text for name, text in found.items()}

    def whole_number(self, name: str, default: int, *, most: int | None = None) -> int:
        text = self.text(name)
        if text is None:
            return default
        return whole_number(name, int(text) if text.isdecimal() and len(text) < 20 else text, most=most)

    def seconds(self, name: str, default: str) -> float:
        return read_duration(name, self.text(name) or default) / 1e9

    def one_of(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        return one_of(name, self.text(name) or default, allowed)

    def folder(self, name: str) -> str | None:
        """The absolute path of a folder that this machine can open; None if the option isn't given."""
        text = self.text(name)
        return None if text is None else local_folder(name, text)

    def refuse_unknown(self) -> None:
        """To be called when all options have been read."""
        for name in self._texts:
            if name not in self._known:
                raise unknown_option(name, self._known)


def local_folder(name: str, text: str) -> str:
    """The path of a folder on a mounted file system, from a path or a `file:` address.

    >>> local_folder("path", "file:///data/alerts")
    '/data/alerts'
    """
    address = urlsplit(text)
    path = unquote(address.path) if address.scheme == "file" and not address.netloc else text
    if path.startswith("/") and "\0" not in path:
        return path
    raise QueryError(
        "INVALID_OPTION",
        f"{name} is the absolute path of a folder on a mounted file system, not {shown(text)}",
        hint="such as /data/alerts; a file system that isn't mounted takes Spark's own format 'json'",
    )
