"""Reading `rules/apis/*.toml` into the form that `Apis` looks entries up in, and keeping that form on disk."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from xlalint.api_tables.entries import ALWAYS, ANY_COUNT, Callback, ClassSpec, Conditions, Constant, Entry, Spec
from xlalint.api_tables.returns import Return, ReturnError, parse_return
from xlalint.cache_folder import user_caches
from xlalint.source.files import MOST_TEXT, read_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FORMAT = "xlalint-apis-7"
_DIGEST = 20
_NAME_CONDITIONS = ("missing", "given", "tensor", "boolean", "host", "target", "items", "framework", "none")
_RELEASES = ("since", "until")
_CONDITIONS = {*_NAME_CONDITIONS, *_RELEASES, "args", "const", "unlike", "rank", "receiver"}
_CASE_KEYS = {*_CONDITIONS, "returns", "rule", "detail", "variant", "severity", "subject"}
_ENTRY_KEYS = {"params", "cases", "calls"}
_CLASS_KEYS = {"base", "bases", "init", "call", "methods", "attributes", "traced", "hooks"}
_TABLE_KEYS = {
    "framework",
    "version",
    "packages",
    "aliases",
    "functions",
    "methods",
    "attributes",
    "types",
    "values",
    "classes",
    "unsupported_functions",
    "unsupported_methods",
    "unsupported_calls",
    "constants",
    "graph_breaks",
    "graph_arguments",
}


class TableError(ValueError):
    """An API table that cannot be used; the text says which file, which entry and why."""


class Compiled(msgspec.Struct, frozen=True, array_like=True):
    """The merged tables. Functions, methods and classes stay encoded until they are asked for; returns stay text."""

    functions: dict[str, msgspec.Raw]
    methods: dict[str, dict[str, msgspec.Raw]]
    attributes: dict[str, dict[str, str]]
    types: dict[str, str]
    values: dict[str, str]
    classes: dict[str, msgspec.Raw]
    aliases: dict[str, str]
    packages: dict[str, str]
    graph_breaks: dict[str, msgspec.Raw] = {}


_compiled = msgspec.msgpack.Decoder(Compiled)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Entry)
_klass = msgspec.msgpack.Decoder(ClassSpec)


def load_compiled(extra: Sequence[Path] = (), cache: Path | None = None) -> Compiled:
    """The merged tables, from the file kept for exactly these contents where there is one."""
    texts = [(path.name, _content(path)) for path in _table_paths(extra)]
    digest = blake2b(FORMAT.encode(), digest_size=_DIGEST)
    for name, text in texts:
        digest.update(f"\0{name}\0{len(text)}\0".encode())
        digest.update(text)
    kept = (cache or user_caches()) / f"apis-{digest.hexdigest()}.msgpack"
    found = _read_kept(kept)
    if found is None:
        found = compile_tables((name, _decode(name, text)) for name, text in texts)
        _keep(kept, _encoder.encode(found))
    return found


def tables_folder() -> Path:
    """Where the tables lie: beside the package's modules in a wheel, in `rules/apis` of a source tree."""
    package = Path(__file__).resolve().parent.parent
    places = (package / "_rules" / "apis", package.parent / "rules" / "apis")
    return next((place for place in places if place.is_dir()), places[-1])


def _table_paths(extra: Sequence[Path]) -> list[Path]:
    """Generated tables first, then those written by hand, then the user's: later ones override."""
    own = sorted(tables_folder().glob("*.toml"), key=lambda path: (not path.stem.endswith("_generated"), path.name))
    for place in extra:
        own += sorted(place.glob("**/*.toml")) if place.is_dir() else [place]
    return own


def _content(path: Path) -> bytes:
    try:
        return read_file(path, MOST_TEXT)
    except OSError as error:
        raise TableError(f"{path}: the API table cannot be read: {error.strerror}") from error


def _decode(name: str, text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise TableError(f"{name}: the API table is not UTF-8: {error}") from error


def _read_kept(path: Path) -> Compiled | None:
    """The kept tables, or None when there are none or the file is not as it was written."""
    try:
        blob = read_file(path)
        if blake2b(blob[_DIGEST:], digest_size=_DIGEST).digest() == blob[:_DIGEST]:
            return _compiled.decode(blob[_DIGEST:])
    except (OSError, msgspec.MsgspecError):
        pass
    return None


def _keep(path: Path, payload: bytes) -> None:
    """Write the kept tables whole or not at all; a folder that cannot be written is no error."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(blake2b(payload, digest_size=_DIGEST).digest() + payload)
        temporary.replace(path)
    except OSError:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def compile_tables(texts: Iterable[tuple[str, str]]) -> Compiled:
    """Parse and merge tables, given as (file name, text); raises TableError for one that cannot be used."""
    merged = Compiled({}, {}, {}, {}, {}, {}, {}, {}, {})
    unsupported: dict[tuple[str, str, str], tuple[Spec, ...]] = {}
    constants: dict[tuple[str, str], tuple[str, ...]] = {}
    reads: dict[tuple[str, str], tuple[Spec, ...]] = {}
    for name, text in texts:
        try:
            table = tomllib.loads(text)
            _merge(merged, table)
            for key, specs in _read_unsupported(table).items():
                unsupported[key] = _join_lacking(unsupported.get(key, ()), specs)
            framework = table.get("framework", "")
            constants |= {(framework, key): _names(names) for key, names in table.get("constants", {}).items()}
            for key, cases in table.get("graph_arguments", {}).items():
                reads[framework, key] = tuple([_case(key, case) for case in cases])
        except (tomllib.TOMLDecodeError, ReturnError, TableError, TypeError, AttributeError) as error:
            raise TableError(f"{name}: {error}") from error
    _attach(merged, unsupported)
    _attach_details(merged, "constants", constants)
    _attach_details(merged, "reads", reads)
    return merged


def _merge(merged: Compiled, table: Mapping[str, Any]) -> None:
    _refuse_unknown(table, _TABLE_KEYS, "table")
    framework = table.get("framework", "")
    merged.aliases.update(_texts(table, "aliases"))
    merged.packages.update(_texts(table, "packages"))
    merged.types.update(_returns(table.get("types", {})))
    merged.values.update(_returns(table.get("values", {})))
    for name, written in table.get("functions", {}).items():
        with _reading(name):
            merged.functions[name] = _raw(_entry(framework, name, written))
    methods = merged.methods.setdefault(framework, {})
    for name, written in table.get("methods", {}).items():
        with _reading(name):
            methods[name] = _raw(_entry(framework, name, written))
    merged.attributes.setdefault(framework, {}).update(_returns(table.get("attributes", {})))
    for name, written in table.get("classes", {}).items():
        with _reading(name):
            merged.classes[name] = _raw(_class(framework, name, written))
    for name, written in table.get("graph_breaks", {}).items():
        with _reading(name):
            merged.graph_breaks[name] = _raw(_entry(framework, name, written))


def _texts(table: Mapping[str, Any], section: str) -> dict[str, str]:
    for name, text in table.get(section, {}).items():
        if not isinstance(text, str):
            raise TableError(f"{section}: {name}: a text is expected, not {text!r}")
    return dict(table.get(section, {}))


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Say of what goes wrong in the `with` block which entry it is in."""
    try:
        yield
    except (ReturnError, TypeError, AttributeError, ValueError) as error:
        told = str(error)
        raise TableError(told if told.startswith(f"{name}: ") else f"{name}: {told}") from error
    except KeyError as error:
        raise TableError(f"{name}: the key {error} is missing") from error


def _read_unsupported(table: Mapping[str, Any]) -> dict[tuple[str, str, str], tuple[Spec, ...]]:
    """Read the cases that a table says targets lack, by section, framework and name."""
    framework = table.get("framework", "")
    found: dict[tuple[str, str, str], tuple[Spec, ...]] = {}
    for section in ("functions", "methods", "calls"):
        for name, written in table.get(f"unsupported_{section}", {}).items():
            cases = written if isinstance(written, list) else [written]
            with _reading(name):
                found[section, framework, name] = tuple(_case(name, case) for case in cases)
                _raw(Entry(framework, (), found[section, framework, name]))
    return found


def _join_lacking(known: tuple[Spec, ...], specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
    """Join what several tables say is lacking: a later one overrides what is said of the same targets, and one target comes before all."""
    said = {spec.when.target for spec in specs}
    kept = tuple([spec for spec in known if spec.when.target not in said])
    return tuple(sorted((*specs, *kept), key=lambda spec: not spec.when.target))


def _attach(merged: Compiled, unsupported: Mapping[tuple[str, str, str], tuple[Spec, ...]]) -> None:
    """Give the entries what targets lack of them; what no table describes gets an entry that says no more."""
    for (section, framework, name), specs in unsupported.items():
        if section == "calls":
            klass = _klass.decode(merged.classes[name]) if name in merged.classes else ClassSpec(framework, "object")
            call = msgspec.structs.replace(klass.call or _nothing(framework), unsupported=specs)
            merged.classes[name] = _raw(msgspec.structs.replace(klass, call=call))
            continue
        table = merged.methods.setdefault(framework, {}) if section == "methods" else merged.functions
        entry = _decoder.decode(table[name]) if name in table else _nothing(framework)
        table[name] = _raw(msgspec.structs.replace(entry, unsupported=specs))


def _attach_details(merged: Compiled, field: str, details: Mapping[tuple[str, str], tuple[Any, ...]]) -> None:
    """Give the entries of functions (by dotted name) and tensor methods (by name) what a section says of their parameters."""
    for (framework, name), found in details.items():
        table = merged.functions if "." in name else merged.methods.setdefault(framework, {})
        if name not in table:
            raise TableError(f"{name}: {field} of what no table describes")
        table[name] = _raw(msgspec.structs.replace(_decoder.decode(table[name]), **{field: found}))


def _nothing(framework: str) -> Entry:
    return Entry(framework, (), (Spec(parse_return("unknown")),))


def _raw(entry: Entry | ClassSpec) -> msgspec.Raw:
    """An entry as it is kept; one that could not be read again raises `msgspec.ValidationError`, a `ValueError`."""
    encoded = _encoder.encode(entry)
    (_decoder if isinstance(entry, Entry) else _klass).decode(encoded)
    return msgspec.Raw(encoded)


def _returns(table: Mapping[str, str]) -> dict[str, str]:
    for name, text in table.items():
        with _reading(name):
            parse_return(text)
    return dict(table)


def _entry(framework: str, name: str, written: Any) -> Entry:
    """An entry as written: a return, one case, a list of cases, or a table with params, cases and calls."""
    params: tuple[str, ...] = ()
    calls: tuple[Callback, ...] = ()
    cases = written
    if isinstance(written, Mapping):
        params = tuple(written.get("params", ()))
        calls = tuple(_callback(name, call) for call in written.get("calls", ()))
        if "cases" in written:
            _refuse_unknown(written, _ENTRY_KEYS, name)
            cases = written["cases"]
        else:
            cases = {key: value for key, value in written.items() if key not in _ENTRY_KEYS}
    if not isinstance(cases, list):
        cases = [cases]
    return Entry(framework, params, tuple(_case(name, case) for case in cases), calls)


def _case(name: str, written: Any) -> Spec:
    if isinstance(written, str):
        return Spec(parse_return(written))
    _refuse_unknown(written, _CASE_KEYS, name)
    when = {key: _names(written.get(key, ())) for key in _NAME_CONDITIONS}
    conditions = Conditions(
        args=written.get("args", ANY_COUNT),
        const=_read_constants(written.get("const", {})),
        unlike=_read_constants(written.get("unlike", {})),
        rank=tuple(written.get("rank", {}).items()),
        receiver=written.get("receiver", ""),
        since=_release(written.get("since", "")),
        until=_release(written.get("until", "")),
        **when,
    )
    return Spec(
        returns=parse_return(written.get("returns", "unknown")),
        rule=written.get("rule"),
        detail=written.get("detail", ""),
        variant=written.get("variant", ""),
        severity=tuple(written.get("severity", {}).items()),
        subject=written.get("subject", ""),
        when=conditions if _CONDITIONS.intersection(written) else ALWAYS,
    )


def _release(written: str) -> tuple[int, ...]:
    """Read a release, `2.14`, as numbers."""
    return tuple(int(part) for part in written.split(".")) if written else ()


def _class(framework: str, name: str, written: Any) -> ClassSpec:
    if isinstance(written, str):
        written = {"base": written}
    _refuse_unknown(written, _CLASS_KEYS, name)
    attributes: dict[str, Return] = {key: parse_return(text) for key, text in written.get("attributes", {}).items()}
    return ClassSpec(
        framework=framework,
        base=written.get("base", "object"),
        bases=_names(written.get("bases", ())),
        init=_entry(framework, name, written["init"]) if "init" in written else None,
        call=_entry(framework, name, written["call"]) if "call" in written else None,
        methods={key: _entry(framework, f"{name}.{key}", value) for key, value in written.get("methods", {}).items()},
        attributes=attributes,
        traced=_names(written.get("traced", ())),
        hooks=written.get("hooks", {}),
    )


def _callback(name: str, written: Any) -> Callback:
    _refuse_unknown(written, {"fun", "args", "traced", "unless", "apart"}, name)
    names = _names(written.get("args", "*"))
    for text in names:
        if not text.startswith(("*", "$", "@")):
            parse_return(text)
    return Callback(
        written["fun"], names, written.get("traced", False), written.get("unless", ""), written.get("apart", False)
    )


def _names(written: str | Sequence[str]) -> tuple[str, ...]:
    return (written,) if isinstance(written, str) else tuple(written)


def _read_constants(written: Mapping[str, Any]) -> tuple[tuple[str, tuple[Constant, ...]], ...]:
    return tuple((key, _constants(value)) for key, value in written.items())


def _constants(written: Any) -> tuple[Constant, ...]:
    values = written if isinstance(written, list) else [written]
    return tuple(None if value == "None" else value for value in values)


def _refuse_unknown(written: Mapping[str, Any], keys: set[str], name: str) -> None:
    unknown = sorted(set(written) - keys)
    if unknown:
        raise TableError(f"{name}: unknown key {unknown[0]!r}; known are {', '.join(sorted(keys))}")
