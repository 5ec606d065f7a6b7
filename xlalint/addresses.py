"""Where xlalint lives: the one place in the code that knows. `scripts/set_addresses.py` fills it in before the first release.

Empty: nobody has said. Rule pages are then those of the installation.
"""

from __future__ import annotations

from pathlib import Path

REPOSITORY = ""
SITE = ""


def rule_address(page: Path, own: Path) -> str:
    """The address of a rule's page: on the site if the page is one of the package's `own` folder and there is a site, else of the file."""
    if SITE and page.parent == own:
        return f"{SITE.rstrip('/')}/rules/{page.stem}/"
    return page.absolute().as_uri()
