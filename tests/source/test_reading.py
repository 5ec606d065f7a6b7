"""Bytes on disk become text, or a `SourceError` that says where and why not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xlalint.source.model import SourceError
from xlalint.source.reading import decode, encode, from_bytes, from_text, module_name, read_source

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param(b"", "", id="empty"),
        pytest.param(b"x = 1\n", "x = 1\n", id="plain"),
        pytest.param("é = 'ü'\n".encode(), "é = 'ü'\n", id="utf-8"),
        pytest.param(BOM + b"x = 1\n", "x = 1\n", id="bom-dropped"),
        pytest.param(BOM + b"# coding: utf-8\n", "# coding: utf-8\n", id="bom-and-coding"),
        pytest.param(b"x = 1\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n", id="crlf-kept"),
        pytest.param(b"x = 1\ry = 2\r", "x = 1\ry = 2\r", id="old-mac-kept"),
        pytest.param(b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n", id="latin-1"),
        pytest.param(b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\n'\x80'", None, id="second-line"),
        pytest.param(b"\n# coding: latin-1\n'\xe9'", "\n# coding: latin-1\n'é'", id="after-blank-line"),
        pytest.param(b"# coding: UTF_8\n'\xc3\xa9'", "# coding: UTF_8\n'é'", id="utf-8-by-another-name"),
        pytest.param(b"# coding: utf-8-unix\n'\xc3\xa9'", "# coding: utf-8-unix\n'é'", id="emacs-line-ends"),
        pytest.param(b"x = 1\n# coding: nonsense\n", "x = 1\n# coding: nonsense\n", id="not-after-code"),
        pytest.param(b"\n\n# coding: nonsense\n", "\n\n# coding: nonsense\n", id="not-in-line-3"),
        pytest.param(b"'''\n# coding: nonsense '''\n", "'''\n# coding: nonsense '''\n", id="not-in-a-string"),
        pytest.param(b"x = '# coding: nonsense'\n", "x = '# coding: nonsense'\n", id="not-beside-code"),
        pytest.param(b"# encoding the frames\n", "# encoding the frames\n", id="prose"),
    ],
)
def test_decode(raw: bytes, text: str | None) -> None:
    assert decode(raw) == (raw.decode("cp1252") if text is None else text)


@pytest.mark.parametrize(
    ("raw", "code", "row", "column", "says"),
    [
        pytest.param(b"x = 1\ny = '\xe9'\n", "XLA002", 2, 6, "byte 0xe9 is not UTF-8", id="not-utf-8"),
        pytest.param("é = '".encode() + b"\xff'", "XLA002", 1, 6, "PEP 263", id="column-in-code-points"),
        pytest.param(b"a\r\nb\rc\n\xff", "XLA002", 4, 1, "0xff", id="rows-by-any-line-end"),
        pytest.param(b"# coding: ascii-ish\n", "XLA002", 1, 1, "`ascii-ish`", id="unknown-encoding"),
        pytest.param(b"# coding: punycode\nx = 1\n-a", "XLA002", 1, 1, "not an encoding of source code", id="punycode"),
        pytest.param(b"# coding: idna\nx = 1\n", "XLA002", 1, 1, "not an encoding of source code", id="idna"),
        pytest.param(
            b"# coding: utf-16\nx = 1\n", "XLA002", 1, 1, "not an encoding of source code", id="utf-16-declared"
        ),
        pytest.param(b"# coding: cp037\nx = 1\n", "XLA002", 1, 1, "not an encoding of source code", id="ebcdic"),
        pytest.param(b"# coding: cp1252-dos\n", "XLA002", 1, 1, "`cp1252-dos`", id="line-ends-of-another"),
        pytest.param(b"# coding: rot13\n", "XLA002", 1, 1, "`rot13`", id="not-a-text-encoding"),
        pytest.param(b"# coding: shift_jis\n'\x80'", "XLA002", 2, 2, "0x80 is not SHIFT-JIS", id="declared-but-wrong"),
        pytest.param(BOM + b"# coding: latin-1\n", "XLA002", 1, 1, "byte order mark", id="bom-against-coding"),
        pytest.param("x = 1".encode("utf-16"), "XLA002", 1, 1, "UTF-16", id="utf-16"),
        pytest.param(b"# coding: utf-7\n'+2AA-'", "XLA002", 2, 2, "surrogate", id="lone-surrogate"),
        pytest.param(b"x = 1\ny = '\0'\n", "XLA001", 2, 6, "null bytes", id="null-byte"),
    ],
)
def test_what_cannot_be_decoded(raw: bytes, code: str, row: int, column: int, says: str) -> None:
    with pytest.raises(SourceError, match=r".") as caught:
        decode(raw)
    error = caught.value
    assert (error.code, error.row, error.column) == (code, row, column)
    assert says in error.message


@given(st.binary(max_size=300))
def test_any_bytes_decode_or_are_refused(raw: bytes) -> None:
    try:
        text = decode(raw)
    except SourceError as error:
        assert error.row >= 1
        assert error.column >= 1
    else:
        text.encode()


@given(
    st.sampled_from([b"utf-7", b"utf_16", b"idna", b"unicode_escape", b"cp037", b"undefined", b"mbcs"]),
    st.binary(max_size=50),
)
def test_any_declared_encoding_decodes_or_is_refused(encoding: bytes, raw: bytes) -> None:
    try:
        decode(b"# coding: " + encoding + b"\n" + raw).encode()
    except SourceError as error:
        assert error.code in ("XLA001", "XLA002")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.py", tmp_path):
        with pytest.raises(SourceError, match="cannot be read") as caught:
            read_source(path)
        assert caught.value.code == "XLA002"


def test_a_large_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "generated.py"
    path.write_text("x = 'é'\n" * 650_000, encoding="utf-8")
    assert len(read_source(path).text) == 650_000 * 8


def test_digest_is_of_the_bytes_and_path_is_kept() -> None:
    plain, marked = from_bytes("/a/m.py", b"x = 1\n"), from_bytes("/a/m.py", BOM + b"x = 1\n")
    assert plain.text == marked.text
    assert plain.digest != marked.digest
    assert plain.digest == from_text("/a/m.py", "\ufeffx = 1\n").digest
    assert plain.path == "/a/m.py"


@pytest.mark.parametrize(
    ("file", "inits", "module", "is_package"),
    [
        pytest.param("m.py", (), "m", False, id="script"),
        pytest.param("pkg/m.py", (), "m", False, id="folder-without-init"),
        pytest.param("pkg/m.py", ("pkg",), "pkg.m", False, id="package"),
        pytest.param("pkg/sub/m.py", ("pkg", "pkg/sub"), "pkg.sub.m", False, id="sub-package"),
        pytest.param("pkg/sub/__init__.py", ("pkg", "pkg/sub"), "pkg.sub", True, id="init"),
        pytest.param("pkg/space/m.py", ("pkg",), "pkg.space.m", False, id="namespace-in-a-package"),
        pytest.param("pkg/space/sub/m.py", ("pkg", "pkg/space/sub"), "pkg.space.sub.m", False, id="below-a-namespace"),
        pytest.param("space/pkg/m.py", ("space/pkg",), "pkg.m", False, id="package-in-a-folder"),
        pytest.param("pkg/__main__.py", ("pkg",), "pkg.__main__", False, id="main"),
        pytest.param("stubs/m.pyi", ("stubs",), "stubs.m", False, id="stub"),
    ],
)
def test_module_name(tmp_path: Path, file: str, inits: tuple[str, ...], module: str, is_package: bool) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    for folder in inits:
        (tmp_path / folder / "__init__.py").touch()
    assert module_name(path) == (module, is_package)


@pytest.mark.parametrize(
    ("raw", "text", "says"),
    [
        pytest.param(b"# coding: ascii\nx\n", "# coding: ascii\n\u20ac\n", "", id="ascii-is-utf-8"),
        pytest.param(
            b"# coding: latin-1\nx\n", "# coding: latin-1\n\u20ac\n", "LATIN-1 has no `\u20ac`", id="no-such-character"
        ),
        pytest.param(
            b"# coding: latin-1\n\xe9\n", "\xe9\n", "is not UTF-8|no longer be declared", id="declaration-removed"
        ),
        pytest.param(
            b"x\n# coding: latin-1\n\n", "# coding: latin-1\n\xe9\n", "no longer be declared", id="declaration-made"
        ),
        pytest.param(b"# coding: utf-7\n+AOkA6Q-+AOk-\n", "# coding: utf-7\n", "more than one way", id="not-faithful"),
    ],
)
def test_a_changed_text_that_its_file_cannot_hold(raw: bytes, text: str, says: str) -> None:
    if not says:
        assert encode(text, raw) == text.encode()
        return
    with pytest.raises(SourceError, match=says):
        encode(text, raw)


@given(st.binary(), st.sampled_from([b"", b"\xef\xbb\xbf", b"# coding: latin-1\r\n", b"# coding: cp1252\r"]))
def test_encode_undoes_decode(raw: bytes, head: bytes) -> None:
    try:
        text = decode(head + raw)
    except SourceError:
        return
    assert encode(text, head + raw) == head + raw


STYLES = ("", "-unix", "-dos", "-mac", "_UNIX", "-with-sig", "x")
DECLARED = [
    f"{name}{style}"
    for name in (
        "latin-1",
        "Latin_1",
        "iso-8859-1",
        "ISO_8859_1",
        "iso-latin-1",
        "cp1252",
        "utf-8",
        "shift_jis",
        "koi8-r",
    )
    for style in STYLES
]


@pytest.mark.parametrize("name", [*DECLARED, "iso-8859-15", "latin-1x", "utf-8x", "utf8-unix", "utf-7", "big5", "hz"])
def test_a_declared_encoding_is_read_where_python_reads_it(name: str) -> None:
    raw = f"# -*- coding: {name} -*-\nx = 1\n".encode()
    try:
        compile(raw, "<test>", "exec", dont_inherit=True)
    except SyntaxError:
        with pytest.raises(SourceError):
            decode(raw)
    else:
        assert decode(raw) == raw.decode()


def test_no_codec_takes_long_for_a_large_file() -> None:
    """Those that are left decode in a time that grows with the text, and each declares itself in ASCII."""
    import encodings
    import pkgutil

    read = []
    for found in pkgutil.iter_modules(encodings.__path__):
        raw = f"# coding: {found.name}\n".encode()
        try:
            assert decode(raw).encode() == raw
        except SourceError:
            continue
        read.append(found.name)
    assert {"latin_1", "cp1252", "shift_jis", "utf_7", "gb18030"} <= set(read)
    assert {"punycode", "idna", "undefined", "utf_16", "cp037", "zlib_codec", "bz2_codec"}.isdisjoint(read)


@pytest.mark.parametrize("depth", [1, 10, 1900])
def test_module_names_at_any_depth(tmp_path: Path, depth: int) -> None:
    folder = "/".join([str(tmp_path), *("d" * depth)])
    assert module_name(f"{folder}/m.py") == ("m", False)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/p/b\udcff.py", "b\\xff"),
        ("/p/b\udcff.ipynb", "b\\xff.ipynb"),
        ("/p/\udcff/__init__.py", "\\xff"),
        ("/p/é.py", "é"),
    ],
)
def test_module_names_are_text(path: str, name: str) -> None:
    assert module_name(path)[0] == name
