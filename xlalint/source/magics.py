"""A notebook's cell → Python of the same shape: what IPython would rewrite is masked, and every place stays where it is.

IPython runs a cell in three steps (IPython 9, `inputtransformer2`): it removes an indentation and pasted prompts, gives the whole cell to
a `%%magic`, and rewrites lines that begin with an escape (`%magic`, `!shell`, `?help`, `,quote`, `;quote`, `/call`), that assign one
(`files = !ls`, `x = %magic`) or that end in `?`. Strings, brackets and continued lines are no such lines. Here each becomes a name of
underscores of its own length, which is bound to nothing and hence of unknown value; `%env NAME=VALUE` becomes an assignment.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from typing import NamedTuple

# Cell magics that run the cell as Python in the notebook's own namespace: IPython's, and those of profilers and trackers.
_PYTHON_CELLS = re.compile(
    r"capture|debug|ipytest|memit|memray_flamegraph|prun|pyinstrument|scalene|snakeviz|time|timeit|wandb"
)
# Line magics that run the rest of the line as Python, with their options that take a value.
_PYTHON_LINES = {"memit": "rti", "prun": "lsTD", "time": "", "timeit": "nr"}
_ENV = re.compile(
    r"(?P<magic>%(?:set_)?env)[ \t]+(?P<name>[A-Z][A-Z0-9_]*)(?P<sign>[ \t]*=[ \t]*|[ \t]+)(?P<value>[^\s=][^\r\n]*?)[ \t]*"
)
# Shell commands and magics that IPython takes without `%` where a cell is one line and is no Python.
_AUTOMAGIC = re.compile(
    r"alias|autoreload|cat|cd|conda|config|cp|dirs|env|history|ldir|less|lf|lk|ll|load|load_ext|ls|lsmagic|lx|magic|man|"
    r"matplotlib|mamba|mkdir|more|mv|notebook|page|pastebin|pdb|pdoc|pfile|pinfo|pinfo2|pip|popd|precision|prun|psearch|"
    r"psource|pushd|pwd|pycat|pylab|recall|reload_ext|rep|rerun|reset|reset_selective|rm|rmdir|run|save|sx|system|tb|time|"
    r"timeit|unalias|unload_ext|uv|who|who_ls|whos|xdel|xmode"
)
# With these on its first line, hosted notebooks (Databricks, Synapse, Zeppelin) take the cell for another language or for text.
_SWITCHES = re.compile(r"\s*%(?:fs|html|markdown|md|r|run|scala|sh|spark|sql)\b")

_CELL_MAGIC = re.compile(r"(?:[ \t\f]*(?:\#[^\r\n]*)?(?:\r\n?|\n))*[ \t]*(?P<line>%%(?P<name>\w+)[^\r\n]*)")
_PROMPTS = (
    (re.compile(r">>>(?: |$)", re.MULTILINE), re.compile(r"(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)),
    (re.compile(r"In \[\d+\]: "), re.compile(r"In \[\d+\]: |[ \t]*\.{3,}: ?")),
)
_FIRST_CODE = re.compile(r"(?:[ \t\f]*(?:\#[^\r\n]*)?(?:\r\n?|\n))*(?P<indent>[ \t]*)(?=[^\s#])")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")
_REST = re.compile(r"(?:[^\r\n\\]|\\(?:\r\n?|\n)|\\)*")
_ESCAPE = re.compile(r"[ \t\f]*(?P<escape>[%!?,;/])")
_VALUE = re.compile(r"[ \t]*(?P<escape>!|%(?=[^\W\d]))")
# Unrolled, as in `xlalint.source.comments`: no text makes it backtrack more than once over itself.
_TOKEN = re.compile(
    r"""
    (?P<string> \"{3} [^"\\]* (?: (?:\\.|"(?!"")) [^"\\]* )* \"{3}
              | '{3} [^'\\]* (?: (?:\\.|'(?!'')) [^'\\]* )* '{3}
              | " (?:[^"\\\r\n]|\\\r\n|\\.)* "
              | ' (?:[^'\\\r\n]|\\\r\n|\\.)* ' )
    | (?P<comment> \#[^\r\n]* )
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?P<joined> \\ (?:\r\n?|\n) )
    | (?P<newline> \r\n? | \n )
    | (?P<assign> (?<![=!<>:+\-*/%@&|^~]) = (?!=) )
    | (?P<help> \? )
    | (?P<code> [^\s\\()\[\]{}"'\#=?]+ | \S )
    """,
    re.VERBOSE | re.DOTALL,
)


class Masked(NamedTuple):
    """A cell's Python: as many characters as the cell has, and line ends where it has them.

    `hidden` are the extents that are not the cell's own text. `indented` says that all of its code is, as IPython allows; `prompted` that
    it was pasted with prompts, so that new lines would need one.
    """

    text: str
    hidden: tuple[tuple[int, int], ...] = ()
    indented: bool = False
    prompted: bool = False


def mask_magics(cell: str) -> Masked | None:
    """Return the Python of a cell; None where the cell is not Python, but the body of a magic."""
    mask = _Mask(cell)
    prompted = mask.hide_prompts()
    mask.flush()
    start = 0
    while match := _CELL_MAGIC.match(mask.text, start):
        if not _PYTHON_CELLS.fullmatch(match["name"]):
            return None
        mask.blank(*match.span("line"))
        mask.flush()
        start = match.end()
    if _is_automagic(mask.text):
        mask.name(len(mask.text) - len(mask.text.lstrip()), len(mask.text.rstrip()))
    else:
        mask.hide_escapes(start)
    mask.flush()
    first = _FIRST_CODE.match(mask.text)
    indented = first is not None and bool(first["indent"])
    return Masked(mask.text, tuple(sorted(mask.hidden)), indented, prompted)


def switches_language(cell: str) -> bool:
    """Return whether a cell that is no Python begins as a cell of another language does on platforms that host notebooks."""
    return _SWITCHES.match(cell) is not None


class _Mask:
    """A cell's text while parts of it are hidden: in order, and shown by `flush`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.hidden: list[tuple[int, int]] = []
        self._pending: list[tuple[int, str]] = []

    def put(self, start: int, content: str) -> None:
        if content:
            self._pending.append((start, content))

    def flush(self) -> None:
        """Make of the text what was put in it."""
        pieces: list[str] = []
        done = 0
        for start, content in self._pending:
            pieces += (self.text[done:start], content)
            done = start + len(content)
            self.hidden.append((start, done))
        self.text = "".join([*pieces, self.text[done:]])
        self._pending.clear()

    def blank(self, start: int, end: int) -> None:
        """Spaces, and line ends where they are."""
        self.put(start, re.sub(r"[^\r\n]", " ", self.text[start:end]))

    def name(self, start: int, end: int) -> None:
        """A name on the first line, and nothing on those that continue it."""
        line = re.match(r"[^\r\n]*", self.text[start:end])
        assert line is not None
        self.put(start, "_" * line.end())
        self.blank(start + line.end(), end)

    # ------------------------------------------------------------------------------------------------- prompts

    def hide_prompts(self) -> bool:
        """Hide the prompts of code that was pasted from a shell: each is in front of the whole of its line."""
        starts = [match.start() for match in _LINE.finditer(self.text) if match[0].strip()]
        if not starts:
            return False
        indent = len(self.text[starts[0] :]) - len(self.text[starts[0] :].lstrip(" \t"))
        for initial, prompt in _PROMPTS:
            if initial.match(self.text, starts[0] + indent):
                for start in starts:
                    blanks = len(self.text[start : start + indent]) - len(
                        self.text[start : start + indent].lstrip(" \t")
                    )
                    if match := prompt.match(self.text, start + blanks):
                        self.blank(*match.span())
                return True
        return False

    # ------------------------------------------------------------------------------------------------- escapes

    def hide_escapes(self, at: int) -> None:
        """Hide what IPython would rewrite, logical line by logical line."""
        while at < len(self.text):
            escaped = _ESCAPE.match(self.text, at)
            at = self._hide_command(escaped.start("escape")) if escaped else self._hide_in_line(at)

    def _hide_command(self, start: int) -> int:
        """Hide a line that begins with an escape, with those that continue it; where the next line begins."""
        end = self._end_of_rest(start)
        command = self.text[start:end]
        body = _python_body(command)
        if variable := _ENV.fullmatch(command):
            self.put(start, _assignment(variable))
        elif body is None or not _is_simple(self.text[start + body : end]):
            self.name(start, end)
        else:
            self.put(start, f"0{' ' * (body - 2)};")
        return self._next_line(end)

    def _hide_in_line(self, at: int) -> int:
        """Hide an escape that a logical line assigns, or all of a line that asks for help; where the next line begins."""
        depth, assigned, first, last, help_at = 0, False, -1, at, -1
        for token in _TOKEN.finditer(self.text, at):
            kind = token.lastgroup
            if kind == "newline" and depth == 0:
                last = token.start()
                break
            if kind in ("newline", "joined"):
                continue
            first = token.start() if first < 0 else first
            last = token.end()
            help_at = token.start() if kind == "help" else -1
            if kind == "open":
                depth += 1
            elif kind == "close":
                depth = max(depth - 1, 0)
            elif kind == "assign" and depth == 0 and not assigned:
                assigned = True
                if value := _VALUE.match(self.text, token.end()):
                    return self._hide_value(value.start("escape"))
        if help_at >= 0:
            self.name(first, help_at + 1)
        return self._next_line(last)

    def _hide_value(self, start: int) -> int:
        end = self._end_of_rest(start)
        body = _python_body(self.text[start:end])
        if body is not None and _is_expression(self.text[start + body : end]):
            self.blank(start, start + body)
        else:
            self.name(start, end)
        return self._next_line(end)

    def _end_of_rest(self, start: int) -> int:
        """Where a line ends, with those that backslashes join to it."""
        match = _REST.match(self.text, start)
        assert match is not None
        return match.end()

    def _next_line(self, at: int) -> int:
        match = _LINE.match(self.text, at)
        assert match is not None
        return match.end()


def _assignment(variable: re.Match[str]) -> str:
    """`%env NAME=VALUE` as an assignment of its own length to an attribute, `_env.NAME=VALUE`; what is no name or number is masked."""
    value = variable["value"]
    kept = (value.isidentifier() and not keyword.iskeyword(value)) or re.fullmatch(r"0|[1-9][0-9]*", value)
    owner = variable["magic"].replace("%", "_").ljust(variable.start("name") - 1, "_")
    sign = "=".ljust(len(variable["sign"]))
    end = len(variable[0]) - variable.end("value")
    return f"{owner}.{variable['name']}{sign}{value if kept else '_' * len(value)}{' ' * end}"


def _python_body(command: str) -> int | None:
    """Where the Python of a line magic begins that runs its line, as `%time` does; None for other commands."""
    match = re.match(r"%(\w+)", command)
    if match is None or match[1] not in _PYTHON_LINES or "\n" in command or "\r" in command:
        return None
    valued = _PYTHON_LINES[match[1]]
    option = rf"[ \t]+-(?:[{valued}][ \t]*[^\s-]\S*|[a-zA-Z]+)(?=[ \t])" if valued else r"[ \t]+--?[a-z-]+(?=[ \t])"
    rest = re.compile(rf"(?:{option})*[ \t]+(?=[^\s#])").match(command, match.end())
    return rest.end() if rest is not None else None


def _is_automagic(text: str) -> bool:
    """Return whether a cell is one line, such as `pip install x`, that IPython takes for a magic because it is no Python."""
    line = text.strip()
    word = re.match(r"(\w+)(?=\s|$)", line)
    return (
        word is not None and bool(_AUTOMAGIC.fullmatch(word[1])) and len(line.splitlines()) == 1 and _tree(line) is None
    )


def _is_simple(text: str) -> bool:
    """Return whether a text is simple statements, which may stand behind a semicolon."""
    tree = _tree(text)
    return tree is not None and bool(tree.body) and not any(hasattr(statement, "body") for statement in tree.body)


def _is_expression(text: str) -> bool:
    tree = _tree(text)
    return tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)


def _tree(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
