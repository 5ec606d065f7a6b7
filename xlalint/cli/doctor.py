"""`xlalint doctor`: says what this installation can do, and what it sees of a project."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click

from xlalint import __version__
from xlalint.cli import CLEAN, FAILED
from xlalint.cli.saying import color_option, show
from xlalint.cli.settings import GivenConfig, config_option
from xlalint.processes import interpreter


class Extra(NamedTuple):
    """An extra of the package: a module that only it brings, and what it adds."""

    module: str
    adds: str


EXTRAS: Mapping[str, Extra] = {
    "torch": Extra("torch", "`verify --backend torch_compile` and `torch_export`, and `run`, of PyTorch code"),
    "torch-xla": Extra("torch_xla", "`verify`, `run` and `check --verify` of PyTorch code on torch_xla"),
    "torch-tpu": Extra("torch_tpu", "the same of PyTorch code on TorchTPU"),
    "tensorflow": Extra("tensorflow", "the same of TensorFlow and Keras code"),
    "jax": Extra("jax", "the same of JAX code"),
    "tpu": Extra("libtpu", "`verify --tpu`: the TPU's own compiler, without a TPU"),
    "report": Extra("jinja2", "`check --output-format html` and `run --report`"),
    "server": Extra("pygls", "the language server, for editors"),
    "watch": Extra("watchfiles", "`check --watch`"),
    "mcp": Extra("mcp", "`mcp`, for agents"),
    "dask": Extra("distributed", "`check --executor dask://…`"),
    "ray": Extra("ray", "`check --executor ray://…`"),
}
_FRAMEWORKS = ("torch", "torch_xla", "torch_tpu", "tensorflow", "keras", "jax", "flax")


@click.command("doctor")
@click.argument("folder", type=click.Path(path_type=Path, exists=True), default=Path())
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
@config_option
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@color_option
def command(folder: Path, output_format: str, config: GivenConfig, isolated: bool) -> int:
    """Say what this installation can do, what each extra would add, and what is found of a project (default: the one here). The exit code
    is 2 if its configuration cannot be used.
    """
    own, project = _describe_installation(), _describe_project(folder, config, isolated)
    if output_format == "json":
        from xlalint.report.json import document

        click.echo(document({"installation": own, "project": project}), nl=False)
    else:
        show("\n".join(_lines(own, project)))
    return FAILED if project["errors"] else CLEAN


def _describe_installation() -> dict[str, Any]:
    """The version, the interpreter, and which extras are there."""
    import xlalint
    from xlalint.interpreter import frame

    return {
        "version": __version__,
        "folder": str(Path(xlalint.__file__).parent),
        "compiled": not str(frame.__file__).endswith(".py"),
        "python": interpreter(),
        "python_version": platform.python_version(),
        "system": platform.platform(),
        "extras": {
            name: {"installed": find_spec(extra.module) is not None, "adds": extra.adds}
            for name, extra in EXTRAS.items()
        },
        "runs_on": {name: found for name in _FRAMEWORKS if (found := _version(name)) is not None},
    }


def _describe_project(folder: Path, config: GivenConfig, isolated: bool) -> dict[str, Any]:
    """The configuration, files and followed packages of a project."""
    from xlalint.cache import FOLDER
    from xlalint.cli.starting import count_frameworks
    from xlalint.config import ConfigError, load_configuration
    from xlalint.source.environment import Installed, installed_packages

    try:
        found = load_configuration([folder], config=config.file, isolated=isolated, options=config.inline)
    except ConfigError as error:
        return {"errors": [str(error)]}
    survey = found.survey([folder])
    settings = survey.settings
    packages = installed_packages(settings.python) if settings.python else None
    seen = Installed(packages) if packages else None
    cache = Path(settings.cache_dir or os.environ.get("XLALINT_CACHE_DIR") or Path(settings.root, FOLDER))
    size = sum(one.stat().st_size for one in cache.rglob("*") if one.is_file()) if cache.is_dir() else 0
    return {
        "configuration": settings.config_file,
        "extends": list(settings.extends),
        "nested": [one.config_file for one in settings.nested],
        "files": len(survey.files),
        "imports": count_frameworks(survey.files),
        "environment": settings.python,
        "packages": [name for name in _FRAMEWORKS if seen is not None and seen.has(name)],
        "cache": str(cache),
        "cache_bytes": size,
        "errors": list(survey.errors),
    }


def _version(module: str) -> str | None:
    """The version of an installed package, which is not imported."""
    try:
        return version(module)
    except PackageNotFoundError:
        return None


def _lines(own: Mapping[str, Any], project: Mapping[str, Any]) -> Iterator[str]:
    from xlalint.source.files import shown_size

    modules = "compiled" if own["compiled"] else "not compiled: half as fast; install with a C compiler, or a wheel"
    yield f"xlalint {own['version']} ({modules})"
    yield f"  in             {own['folder']}"
    yield f"  runs on        Python {own['python_version']}, {own['python']}"
    yield f"  beside         {', '.join(f'{name} {number}' for name, number in own['runs_on'].items()) or 'no framework'}"
    yield ""
    yield "Extras"
    for name, extra in own["extras"].items():
        there = "installed" if extra["installed"] else "missing"
        yield f"  {name:<11} {there:<10} {extra['adds']}"
    missing = [name for name, extra in own["extras"].items() if not extra["installed"]]
    if missing:
        yield f"  pip install 'xlalint[{missing[0]}]' adds one."
    yield ""
    yield "Project"
    for error in project["errors"]:
        yield f"  error          {error}"
    if "files" not in project:
        return
    yield f"  configuration  {project['configuration'] or 'none: the defaults (`xlalint init` proposes one)'}"
    for label in ("extends", "nested"):
        for file in project[label]:
            yield f"  {label:<13}  {file}"
    imports = ", ".join(f"{name} in {number:,}" for name, number in project["imports"].items())
    yield f"  files          {project['files']:,}; they import {imports or 'no framework'}"
    followed = ", ".join(project["packages"]) or "no framework there"
    none = 'none: calls into installed packages are not followed (`python = ".venv"`)'
    yield (
        f"  packages       {project['environment']} ({followed})"
        if project["environment"]
        else f"  packages       {none}"
    )
    yield f"  cache          {project['cache']} ({shown_size(project['cache_bytes'])})"
