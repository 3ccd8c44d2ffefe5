"""`pytest tests/golden --update-goldens` writes the golden files anew; look at the diff before you commit it."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="write tests/golden/*.txt anew instead of comparing")


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    # The option is known only where pytest was started on this folder; everywhere else it is off.
    return bool(request.config.getoption("--update-goldens", default=False))
