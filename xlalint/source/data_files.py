"""Data files of a project that say how its programs run: Accelerate's configuration (`accelerate launch --config_file`), and the Trainer's
`fsdp_config`. They are part of the program like its modules.

Of a project's many YAML and JSON files only these are read further than a search for the keys that make them such.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple, Union

from xlalint.source.files import read_file

if TYPE_CHECKING:
    from yaml import Node, SafeLoader

_JSON = ".json"
ENDINGS = (".yaml", ".yml", _JSON)
_MOST_BYTES = 64 * 1024
_KEYS = {
    _JSON: re.compile(rb'"(?:distributed_type|xla\w*)"\s*:'),
    "": re.compile(rb"""(?m)^["']?distributed_type["']?\s*:"""),
}
_NAME_MARK = ":"  # no module that Python imports has one in its name


class Entry(NamedTuple):
    """A key of a mapping and its value; extents are those of each in the text, in characters."""

    key: str
    key_extent: tuple[int, int]
    value: Scalar | tuple[Entry, ...] | None
    extent: tuple[int, int]


Scalar = Union[bool, int, float, str]


def is_data(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is read as data, by its name."""
    return str(path).endswith(ENDINGS)


def counts(path: str) -> bool:
    """Return whether a data file says how programs run. One that cannot be read does not."""
    try:
        raw = read_file(path, _MOST_BYTES)
    except OSError:
        return False
    return _KEYS[_JSON if path.endswith(_JSON) else ""].search(raw) is not None


def data_name(stem: str, ending: str) -> str:
    """The name under which a file of data stands among the modules."""
    return stem.replace(".", "_") + _NAME_MARK + ending.removeprefix(".")


def names_data(module: str) -> bool:
    """Return whether a name is that of a data file."""
    return _NAME_MARK in module


def read_entries(text: str, path: str) -> tuple[Entry, ...]:
    """The keys and values of a file that holds a mapping; nothing where it is something else, as a template of such a file."""
    import yaml

    if path.endswith(_JSON):
        text = text.replace("\t", " ")  # YAML, of which JSON is a part otherwise, indents by blanks
    loader = yaml.SafeLoader(text)
    try:
        return _entries(loader.get_single_node(), loader)
    except (yaml.YAMLError, ValueError, RecursionError):  # a value may look like a date that is none
        return ()
    finally:
        loader.dispose()


def _entries(node: Node | None, loader: SafeLoader) -> tuple[Entry, ...]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return ()
    return tuple(
        Entry(str(key.value), _extent(key), _value(value, loader), _extent(value))
        for key, value in node.value
        if isinstance(key, yaml.ScalarNode)
    )


def _value(node: Node, loader: SafeLoader) -> Scalar | tuple[Entry, ...] | None:
    import yaml

    if isinstance(node, yaml.MappingNode):
        return _entries(node, loader)
    if not isinstance(node, yaml.ScalarNode):
        return None
    found = loader.construct_object(node)
    return found if isinstance(found, (bool, int, float, str)) else None


def _extent(node: Node) -> tuple[int, int]:
    return node.start_mark.index, node.end_mark.index
