"""Links of the README in a wheel: absolute once there is a base address, untouched before."""

from __future__ import annotations

import re
from pathlib import Path

from tools.absolute_links import absolute, base_address

ROOT = Path(__file__).parents[2]
BASE = "https://example.org/someone/ostinato"
TEXT = """# Title
![a picture](docs/images/a.svg) and [a page](docs/page.md), [one part](./docs/page.md#part), [below](#below)
[![badge](docs/b.PNG)](docs/decisions) <a href="LICENSE">x</a> [far](https://example.com/x.md) <mailto:a@b.c>
<picture><source srcset="docs/dark/a.png"><img src="docs/a.png" alt="a"></picture>
[named]: docs/named.md

```python
table[0](docs)  # [not a link](docs/page.md)
```
[after](docs/after.md)
"""


def test_every_relative_target() -> None:
    assert (
        absolute(TEXT, BASE + "/")
        == f"""# Title
![a picture]({BASE}/raw/HEAD/docs/images/a.svg) and [a page]({BASE}/blob/HEAD/docs/page.md), \
[one part]({BASE}/blob/HEAD/docs/page.md#part), [below](#below)
[![badge]({BASE}/raw/HEAD/docs/b.PNG)]({BASE}/blob/HEAD/docs/decisions) <a href="{BASE}/blob/HEAD/LICENSE">x</a> \
[far](https://example.com/x.md) <mailto:a@b.c>
<picture><source srcset="{BASE}/raw/HEAD/docs/dark/a.png"><img src="{BASE}/raw/HEAD/docs/a.png" alt="a"></picture>
[named]: {BASE}/blob/HEAD/docs/named.md

```python
table[0](docs)  # [not a link](docs/page.md)
```
[after]({BASE}/blob/HEAD/docs/after.md)
"""
    )


def test_nothing_changes_without_a_base_address() -> None:
    assert absolute(TEXT, "") == TEXT
    assert base_address(ROOT / "pyproject.toml") == "" or base_address(ROOT / "pyproject.toml").startswith("https://")


def test_the_readme_has_no_relative_link_left() -> None:
    text = re.sub(r"^```.*?^```$", "", absolute((ROOT / "README.md").read_text(), BASE), flags=re.MULTILINE | re.DOTALL)
    assert all(target.startswith(("https://", "http://", "#")) for target in re.findall(r"\]\(([^)]+)\)", text))
