"""Fill in who publishes xlalint, and where.

    python scripts/set_addresses.py --owner NAME [--site https://NAME.github.io/xlalint]
    python scripts/set_addresses.py --check        # says what is not filled in; the release workflow runs it

The repository is taken to be https://github.com/NAME/xlalint. Until it is run no page speaks of it: what it adds stands in `ADDED`, in
`xlalint/addresses.py`, in `[project.urls]` and in the extension's `package.json`. It may be run again with another owner.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ADDRESSES = Path("xlalint/addresses.py")
PROJECT = Path("pyproject.toml")
ADOPTION = Path("docs/adoption.md")
FORMS = Path(".github/ISSUE_TEMPLATE/config.yml")
EXTENSION = Path("editors/vscode/package.json")
_URLS = re.compile(r"\n\[project\.urls\]\n(?:[^\n\[]+\n)*")
_REPOSITORY = re.compile(r'(  "publisher": .*\n)(?:  "repository": .*\n)?')
# By file: what is written at its mark, in place of what an earlier run wrote there, up to the end of its section.
ADDED = {
    ADOPTION: (
        "<!-- from the repository -->\n",
        """
### From the repository

With the hooks and the action of [the repository]({repository}) nothing needs to be installed before:

```yaml
repos:
  - repo: {repository}
    rev: v{version}
    hooks:
      - id: xlalint
        args: [--min-confidence, certain]
```

`xlalint-fix` is the hook that applies the safe fixes, says which, and fails where there were any.

```yaml
steps:
  - uses: actions/checkout@v4
    with: {{ fetch-depth: 0 }}
  - uses: {owner}/xlalint@v{version}
    with:
      paths: src
      args: --diff-base origin/main
```
""",
    ),
    FORMS: (
        "blank_issues_enabled: true\n",
        """\
contact_links:
  - name: A hole in security
    url: {repository}/security/advisories/new
    about: Please do not open an issue; SECURITY.md says how to tell of it.
""",
    ),
}


def fill(root: Path, owner: str, site: str) -> list[Path]:
    """Fill in all files below a folder; return those that changed."""
    repository = f"https://github.com/{owner}/xlalint"
    texts = {path: (root / path).read_text(encoding="utf-8") for path in (ADDRESSES, PROJECT, EXTENSION, *ADDED)}
    made = dict(texts)
    for name, address in (("REPOSITORY", repository), ("SITE", site)):
        made[ADDRESSES] = re.sub(rf'^{name} = ".*"$', f'{name} = "{address}"', made[ADDRESSES], flags=re.MULTILINE)
    made[PROJECT] = _URLS.sub("\n", made[PROJECT]).replace(
        "\n[project.optional-dependencies]", f"\n{_urls(repository, site)}\n[project.optional-dependencies]", 1
    )
    made[PROJECT] = re.sub(r"\n{3,}", "\n\n", made[PROJECT])
    made[EXTENSION] = _REPOSITORY.sub(
        f'\\1  "repository": {{ "type": "git", "url": "{repository}", "directory": "{EXTENSION.parent.as_posix()}" }},\n',
        made[EXTENSION],
    )
    for path, (mark, text) in ADDED.items():
        before, found, after = texts[path].partition(mark)
        if not found:
            raise SystemExit(f"{path}: `{mark.strip()}` is missing, below which addresses are written")
        rest = re.search(r"^## .*", after, re.MULTILINE | re.DOTALL)
        written = text.format(repository=repository, owner=owner, version=_version(root))
        made[path] = before + mark + written + (f"\n{rest[0]}" if rest else "")
    for path, text in made.items():
        if text != texts[path]:
            (root / path).write_text(text, encoding="utf-8", newline="\n")
    return [path for path, text in made.items() if text != texts[path]]


def _version(root: Path) -> str:
    found = re.search(
        r'^__version__ = "(.+)"$', (root / "xlalint/__init__.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    if found is None:
        raise SystemExit("xlalint/__init__.py has no version")
    return found[1]


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
    bare = [
        path for path in (EXTENSION, *ADDED) if "https://github.com/" not in (root / path).read_text(encoding="utf-8")
    ]
    return [*found, *(f"{path}: the repository's address" for path in bare)]


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
