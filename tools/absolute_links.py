"""Markdown with relative links -> the same text with absolute ones, for places that show only the README.

`make wheel` runs it on the copy of the README that goes into the wheel. The base address is in pyproject.toml
([tool.ostinato]). While it is empty, the text stays as it is.

    python tools/absolute_links.py README.md [--base https://github.com/OWNER/NAME]
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r'(\]\(|\b(?:src|srcset|href)="|^\[[^\]]+\]: +)([^\s)"]+)', re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|[/#]", re.IGNORECASE)
_PICTURES = (".svg", ".png", ".jpg", ".gif", ".webp")


def absolute(text: str, base: str) -> str:
    """The text with absolute links and pictures; code blocks, anchors and absolute addresses stay.

    >>> print(absolute("[a](docs/a.md#b) ![p](p.svg) [top](#top)", "https://x.org/o/n"))
    [a](https://x.org/o/n/blob/HEAD/docs/a.md#b) ![p](https://x.org/o/n/raw/HEAD/p.svg) [top](#top)
    """
    if not base:
        return text

    def rewritten(match: re.Match[str]) -> str:
        before, target = match.groups()
        if _ELSEWHERE.match(target):
            return match[0]
        kind = "raw" if target.lower().endswith(_PICTURES) else "blob"
        return f"{before}{base.rstrip('/')}/{kind}/HEAD/{target.removeprefix('./')}"

    pieces = _FENCE.split(text)  # texts and code blocks in turns
    return "".join(piece if i % 2 else _TARGET.sub(rewritten, piece) for i, piece in enumerate(pieces))


def base_address(project: Path) -> str:
    """The base address in a pyproject.toml; empty while it isn't decided."""
    return str(tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["ostinato"]["base_address"])


def main() -> None:
    """Rewrites a file in place."""
    parser = argparse.ArgumentParser(description="Makes relative links and pictures of a Markdown file absolute.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--base", help="address of the repository (default: the one in pyproject.toml)")
    options = parser.parse_args()
    base = options.base if options.base is not None else base_address(Path(__file__).parents[1] / "pyproject.toml")
    options.file.write_text(absolute(options.file.read_text(encoding="utf-8"), base), encoding="utf-8")


if __name__ == "__main__":
    main()
