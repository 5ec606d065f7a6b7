"""Fill in who publishes xlalint, and where: in `xlalint/addresses.py`, `pyproject.toml`, and the pages that people copy from.

    python scripts/set_addresses.py --owner NAME [--site https://NAME.github.io/xlalint]
    python scripts/set_addresses.py --check        # says what is not filled in; the release workflow runs it

The repository is taken to be https://github.com/NAME/xlalint. It may be run again with another owner.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ADDRESSES = Path("xlalint/addresses.py")
PROJECT = Path("pyproject.toml")
PAGES = (Path("docs/adoption.md"), Path(".github/ISSUE_TEMPLATE/config.yml"))
# What stands in pages until an owner is known, and what an earlier run made of it.
_REPOSITORY = re.compile(r"\bREPO\b|https://github\.com/[\w.-]+/xlalint(?=[\s/\"']|$)")
_ACTION = re.compile(r"(?<=uses: )[\w.-]+/xlalint@v")
_NOTE = re.compile(r", with REPO the address of this repository")
_URLS = re.compile(r"\n\[project\.urls\]\n(?:[^\n\[]+\n)*")


def fill(root: Path, owner: str, site: str) -> list[Path]:
    """Fill in all files below a folder; return those that changed."""
    repository = f"https://github.com/{owner}/xlalint"
    texts = {path: (root / path).read_text(encoding="utf-8") for path in (ADDRESSES, PROJECT, *PAGES)}
    made = dict(texts)
    made[ADDRESSES] = re.sub(
        r'^REPOSITORY = ".*"$', f'REPOSITORY = "{repository}"', made[ADDRESSES], flags=re.MULTILINE
    )
    made[ADDRESSES] = re.sub(r'^SITE = ".*"$', f'SITE = "{site}"', made[ADDRESSES], flags=re.MULTILINE)
    made[PROJECT] = _URLS.sub("\n", made[PROJECT]).replace(
        "\n[project.optional-dependencies]", f"\n{_urls(repository, site)}\n[project.optional-dependencies]", 1
    )
    made[PROJECT] = re.sub(r"\n{3,}", "\n\n", made[PROJECT])
    for page in PAGES:
        text = _NOTE.sub("", made[page])
        text = _REPOSITORY.sub(repository, text)
        made[page] = _ACTION.sub(f"{owner}/xlalint@v", text)
    for path, text in made.items():
        if text != texts[path]:
            (root / path).write_text(text, encoding="utf-8", newline="\n")
    return [path for path, text in made.items() if text != texts[path]]


def _urls(repository: str, site: str) -> str:
    lines = {
        "Documentation": site or f"{repository}#readme",
        "Repository": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
    }
    return "[project.urls]\n" + "".join(f'{name} = "{address}"\n' for name, address in lines.items())


def find_unfilled(root: Path) -> list[str]:
    """List what is not filled in, by file."""
    found = []
    if 'REPOSITORY = ""' in (root / ADDRESSES).read_text(encoding="utf-8"):
        found.append(f"{ADDRESSES}: REPOSITORY")
    if "[project.urls]" not in (root / PROJECT).read_text(encoding="utf-8"):
        found.append(f"{PROJECT}: [project.urls]")
    for page in PAGES:
        names = set(re.findall(r"\b(?:REPO|OWNER)\b", (root / page).read_text(encoding="utf-8")))
        found += [f"{page}: {name}" for name in sorted(names)]
    return found


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--owner", help="the GitHub user or organisation")
    parser.add_argument("--site", default="", help="the address of the documentation")
    parser.add_argument(
        "--check", action="store_true", help="say what is not filled in, and exit with 1 if anything is not"
    )
    told = parser.parse_args()
    if told.check:
        missing = find_unfilled(ROOT)
        print("\n".join(missing) or "all addresses are filled in")
        return 1 if missing else 0
    if not told.owner or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}", told.owner):
        parser.error("--owner is the name of a GitHub user or organisation")
    if told.site and not re.fullmatch(r"https://[^\s\"]+", told.site):
        parser.error("--site begins with https://")
    for path in fill(ROOT, told.owner, told.site.rstrip("/")):
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
