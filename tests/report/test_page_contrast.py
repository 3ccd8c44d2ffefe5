"""Text of the page and its charts can be read in both colour schemes."""

from importlib.resources import files

import pytest
from tests.pictures.contrast import GRAPHIC, TEXT, blended, contrast, schemes

PAGE = schemes(files("ostinato.report").joinpath("page.css").read_text())
CHART = schemes(files("ostinato.pictures").joinpath("chart.css").read_text())
TONES = ["tone-1", "tone-2", "tone-3", "tone-4"]
BOTH = pytest.mark.parametrize("scheme", ["light", "dark"])


@BOTH
@pytest.mark.parametrize("ground", ["paper", "ground", "code"])
@pytest.mark.parametrize("text", ["ink", "soft", "quiet", "accent", "number", "string", *TONES])
def test_text_of_the_page(scheme, ground, text) -> None:
    assert contrast(PAGE[scheme][text], PAGE[scheme][ground]) >= TEXT


@BOTH
@pytest.mark.parametrize("text", ["ink", "quiet", *TONES])
def test_text_of_charts_also_on_bands_and_areas(scheme, text) -> None:
    colours = CHART[scheme]
    band = blended(colours["quiet"], colours["paper"], 0.05)
    for ground in (colours["paper"], band, *(blended(colours[tone], band, 0.08) for tone in TONES)):
        assert contrast(colours[text], ground) >= TEXT


@BOTH
@pytest.mark.parametrize("line", ["context", "quiet", *TONES])
def test_lines_of_charts(scheme, line) -> None:
    assert contrast(CHART[scheme][line], CHART[scheme]["paper"]) >= GRAPHIC


@BOTH
def test_the_page_and_its_charts_share_their_colours(scheme) -> None:
    assert CHART[scheme].items() <= PAGE[scheme].items()
