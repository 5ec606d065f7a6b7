"""Lay out the site's pages from what is in the repository: README.md, docs/, the rules' pages, the configuration's keys, and documents for
developers. Nothing is written twice: links are turned to where pages lie on the site.

    python scripts/build_site.py build/site-pages && zensical build --strict

A link to a file that is no page leads into the repository, if its address is known (`xlalint/addresses.py`), else the text stays alone.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from xlalint.addresses import REPOSITORY
from xlalint.cli.pages import as_markdown
from xlalint.config.options import OPTIONS
from xlalint.config.schema import defaults_of
from xlalint.report.json import encode
from xlalint.rules import Rule, rules

ROOT = Path(__file__).parents[1]
NAMED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "ARCHITECTURE.md": "architecture.md",
    "editors/README.md": "editor-setup.md",
    "editors/vscode/README.md": "vscode.md",
    "rules": "rules.md",
}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[]+)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(?P<indent>\s*)```(?P<language>\w+)[ \t]+(?P<said>[^\n`]+)$", re.MULTILINE)
_LIST = re.compile(r"(?m)^(?P<before>(?![-*|>#]|\d+\. )\S[^\n]*)\n(?P<item>(?:[-*]|1\.) )")
_CODE_CELL = re.compile(r"^\| (XLA\d{3}) \|", re.MULTILINE)


def lay_out() -> dict[str, str]:
    """The site's pages, by their paths on the site."""
    places = {**NAMED, **{f"docs/{page.name}": page.name for page in sorted((ROOT / "docs").glob("*.md"))}}
    known = rules()
    places |= {f"rules/{rule.path.name}": f"rules/{rule.path.name}" for rule in known.values()}
    pages = {
        place: _turn((ROOT / source).read_text(encoding="utf-8"), source, places)
        for source, place in places.items()
        if source != "rules" and not source.startswith("rules/")
    }
    for rule in known.values():
        pages[f"rules/{rule.path.name}"] = _turn(as_markdown(rule), f"rules/{rule.path.name}", places)
    pages["rules.md"] = _CODE_CELL.sub(lambda match: _linked(known[match[1]]), pages["rules.md"])
    pages["settings.md"] = "".join(_describe_settings())
    return pages


def _turn(text: str, source: str, places: Mapping[str, str]) -> str:
    """A page's text with links as they are on the site, and fences and lists as its Markdown has them."""
    here = Path(places[source]).parent
    parts = re.split(r"(^```.*?^```[ \t]*$)", text, flags=re.DOTALL | re.MULTILINE)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = _FENCE.sub(lambda match: _titled(match), part)
        else:
            part = _LINK.sub(lambda match: _link(match, source, here, places), part)
            parts[i] = _LIST.sub(r"\g<before>\n\n\g<item>", part)
    return "".join(parts)


def _link(match: re.Match[str], source: str, here: Path, places: Mapping[str, str]) -> str:
    text, target, anchor = match["text"], match["target"], match["anchor"] or ""
    if re.match(r"[a-z]+:", target):
        return match[0]
    path = os.path.normpath(Path(source).parent / target)
    if path in places:
        return f"[{text}]({Path(os.path.relpath(places[path], here)).as_posix()}{anchor})"
    if not (ROOT / path).exists():
        raise SystemExit(f"{source}: the link to `{target}` leads nowhere")
    return f"[{text}]({REPOSITORY}/blob/main/{path}{anchor})" if REPOSITORY else text


def _titled(match: re.Match[str]) -> str:
    """A fence whose words, which tests read, are the title of its block."""
    said = match["said"].strip().replace('"', "'")
    return f'{match["indent"]}```{match["language"]} title="{said}"'


def _linked(rule: Rule) -> str:
    return f"| [{rule.code}](rules/{rule.path.name}) |"


def _describe_settings() -> Iterator[str]:
    """The configuration's keys, from its schema."""
    yield "# Settings\n\nThe keys of `[tool.xlalint]` and `xlalint.toml`; [Configuration](configuration.md) says how they work together.\n"
    defaults = defaults_of()
    for name, option in OPTIONS.items():
        yield f"\n## {name.replace('_', '-')}\n\n{option.help}\n\n"
        words = option.schema.get("enum")
        if words:
            yield f"One of {', '.join(f'`{word}`' for word in words)}. "
        yield f"Default: `{encode(defaults[name])}`.\n" if name in defaults else "No default.\n"


def write(folder: Path) -> None:
    """The pages, and what they show, below a folder."""
    for place, text in lay_out().items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    shutil.copytree(ROOT / "editors" / "vscode" / "images", folder / "images", dirs_exist_ok=True)
    shutil.copyfile(ROOT / "docs" / "site.css", folder / "site.css")


def main() -> int:
    """Write the pages below a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    write(parser.parse_args().folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
