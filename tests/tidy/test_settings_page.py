"""docs/guides/settings.md says what the settings' own source says."""

from tools.settings_page import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run `.venv/bin/python -m tools.settings_page`"
