"""A few seconds of the fuzzer in every test run; `make fuzz` goes on for longer. And the fuzzer itself finds things."""

from __future__ import annotations

from random import Random

import pytest
from tests.fuzz.corpus import CORPUS
from tests.fuzz.fuzzing import Failure, text_of, tried, used
from tests.fuzz.languages import LANGUAGES, Language
from tests.fuzz.mutation import mutated, tokens

TEXTS = 60
"""For each language."""


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_only_our_errors_come_out(language: Language) -> None:
    tried(language, "warm-up", cpu_seconds=300)
    failures = [tried(language, f"test.{number}") for number in range(TEXTS)]
    assert [str(failure) for failure in failures if failure is not None] == []


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_texts_that_once_failed(language: Language) -> None:
    failures = [used(language, "corpus", text) for text in CORPUS[language.name]]
    assert [str(failure) for failure in failures if failure is not None] == []


def test_a_seed_stands_for_one_text() -> None:
    for language in LANGUAGES:
        assert text_of(language, "1.2") == text_of(language, "1.2")
        assert len({text_of(language, f"1.{number}") for number in range(20)}) > 10


def test_a_change_changes_the_text() -> None:
    text = "ORDER BY id MEASURES x AS n PATTERN (A B+)"
    assert "".join(tokens(text)) == text
    assert len({mutated(text, Random(seed)) for seed in range(50)}) > 40


def _fails_on_seven(text: str) -> None:
    if "7" in text:
        raise KeyError(text)


def _never_ends(text: str) -> None:
    while "x" in text:
        pass


def failure_of(use: object, text: str, cpu_seconds: float) -> Failure:
    language = Language("letters", lambda rng: text, use)  # type: ignore[arg-type]
    found = (tried(language, str(seed), cpu_seconds) for seed in range(20))
    return next(failure for failure in found if failure is not None)


def test_a_failing_text_is_made_small() -> None:
    failure = failure_of(_fails_on_seven, "1 + 2 + (3 * 7) - 4", cpu_seconds=1)
    assert failure.text.strip() == "7"
    assert failure.error.startswith("KeyError")
    assert "KeyError" in str(failure)


def test_a_text_that_does_not_end_is_stopped() -> None:
    failure = failure_of(_never_ends, "a x", cpu_seconds=0.1)
    assert (failure.error, "x" in failure.text) == ("TooSlow", True)
