"""What a release consists of: metadata, changelog, addresses, workflows, wheels' smoke test, completion."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from xlalint import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
SCRIPT = ROOT / "scripts" / "set_addresses.py"
pytestmark = pytest.mark.skipif(not GITHUB.is_dir(), reason="a source distribution has no .github")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in (
        "xlalint/addresses.py",
        "xlalint/__init__.py",
        "pyproject.toml",
        "docs/adoption.md",
        ".github/ISSUE_TEMPLATE/config.yml",
        "editors/vscode/package.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_addresses_are_filled_in_everywhere(copy: Path, script: dict[str, Any]) -> None:
    for owner, site in (("someone", ""), ("else-where", "https://docs.example.org/xlalint")):
        script["fill"](copy, owner, site)
        assert script["find_unfilled"](copy) == []
        repository = f"https://github.com/{owner}/xlalint"
        urls = tomllib.loads((copy / "pyproject.toml").read_text())["project"]["urls"]
        assert urls["Repository"] == repository
        assert urls["Documentation"] == (site or f"{repository}#readme")
        adoption = (copy / "docs/adoption.md").read_text()
        assert adoption.count(f"{owner}/xlalint@v{__version__}") == 1
        assert adoption.count(f"repo: {repository}\n") == 1
        assert adoption.startswith((ROOT / "docs/adoption.md").read_text().partition("<!-- from")[0])
        contact = yaml.safe_load((copy / ".github/ISSUE_TEMPLATE/config.yml").read_text())["contact_links"]
        assert contact[0]["url"].startswith(repository)
        extension = json.loads((copy / "editors/vscode/package.json").read_text())
        assert extension["repository"]["url"] == repository
        addresses = runpy.run_path(str(copy / "xlalint/addresses.py"))
        assert (addresses["REPOSITORY"], addresses["SITE"]) == (repository, site)
        page = Path("/x/rules/XLA101-tensor-if.md")
        expected = f"{site}/rules/XLA101-tensor-if/" if site else "file:///x/rules/XLA101-tensor-if.md"
        assert addresses["rule_address"](page, page.parent) == expected
        assert addresses["rule_address"](Path("/own/ACME001-x.md"), page.parent) == "file:///own/ACME001-x.md"
    assert script["fill"](copy, owner, site) == []


def test_what_is_not_filled_in_is_told(copy: Path, script: dict[str, Any]) -> None:
    addresses = copy / "xlalint/addresses.py"
    script["fill"](copy, "someone", "")
    addresses.write_text(re.sub(r'REPOSITORY = ".*"', 'REPOSITORY = ""', addresses.read_text()))
    assert script["find_unfilled"](copy) == ["xlalint/addresses.py: REPOSITORY"]


READ = (
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/*.md",
    "editors/**/*.md",
    ".github/**/*.yml",
    "action.yml",
    "templates/*.yml",
)


def test_nothing_that_is_read_has_a_place_to_fill_in() -> None:
    pages = [page for pattern in READ for page in ROOT.glob(pattern) if "node_modules" not in page.parts]
    assert len(pages) > 20
    for page in pages:
        assert not re.search(r"\b(?:REPO|OWNER|GROUP|YOUR_?NAME|TODO|TBD|FIXME)\b|example\.com", page.read_text()), page


def test_the_hooks_and_the_action_that_are_written_are_those_of_the_repository(
    copy: Path, script: dict[str, Any]
) -> None:
    script["fill"](copy, "someone", "")
    _, _, added = (copy / "docs/adoption.md").read_text().partition("<!-- from the repository -->")
    hooks, action = (
        yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", added, re.DOTALL | re.MULTILINE)
    )
    known = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {hook["id"] for hook in hooks["repos"][0]["hooks"]} <= {hook["id"] for hook in known}
    (used,) = (step["with"] for step in action["steps"] if "/xlalint@" in step["uses"])
    assert set(used) <= set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])


def test_the_changelog_has_the_version() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert __version__ in headings
    sections = re.findall(r"^### (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert set(sections) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_extension_has_the_version() -> None:
    for name in ("package.json", "package-lock.json"):
        assert json.loads((ROOT / "editors" / "vscode" / name).read_text())["version"] == __version__


def test_metadata_names_the_versions_that_wheels_are_built_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = {one.rpartition(" ")[2] for one in project["project"]["classifiers"] if re.search(r":: 3\.\d+$", one)}
    built = {
        f"3.{tag.removeprefix('cp3').removesuffix('-*')}" for tag in project["tool"]["cibuildwheel"]["build"].split()
    }
    assert named == built


@pytest.mark.parametrize("workflow", ["ci.yml", "release.yml"])
def test_workflows_are_valid(workflow: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, GITHUB / "workflows" / workflow], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_only_the_jobs_that_publish_may_do_more_than_read() -> None:
    release = yaml.safe_load((GITHUB / "workflows" / "release.yml").read_text())
    assert release["permissions"] == {"contents": "read"}
    assert [name for name, job in release["jobs"].items() if "permissions" in job] == ["publish", "site"]
    secrets = [name for name, job in release["jobs"].items() if "secrets." in json.dumps(job)]
    assert secrets == ["gallery"]


def test_issue_forms_ask_for_what_is_needed() -> None:
    for form in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml"):
        told = yaml.safe_load(form.read_text())
        if form.stem != "config":
            assert {"name", "description", "body"} <= set(told)
            assert len({field["id"] for field in told["body"]}) == len(told["body"])


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        pytest.param("xlalint rul", ["rule", "rules"], id="command"),
        pytest.param("xlalint check --select XLA101,tensor-w", ["XLA101,tensor-while"], id="rule-in-a-list"),
        pytest.param(
            "xlalint check --ignore xla60", ["XLA601", "XLA602", "XLA603", "XLA604", "XLA605", "XLA606"], id="code"
        ),
        pytest.param("xlalint check --target torch_c", ["torch_compile"], id="target"),
        pytest.param("xlalint check --device g", ["gpu"], id="device"),
        pytest.param("xlalint rule XLA30", [f"XLA30{i}" for i in range(1, 7)], id="page"),
    ],
)
def test_shells_complete_rules_and_targets(words: str, completed: list[str]) -> None:
    number = str(len(words.split()) - 1)
    environment = os.environ | {"_XLALINT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": number}
    command = [Path(sys.executable).parent / "xlalint"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert [line.partition(",")[2] for line in done.stdout.split()] == completed
