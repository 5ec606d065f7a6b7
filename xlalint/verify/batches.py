"""Where a script's batches get their shapes: what is compiled for a batch of another shape is owed to the line that made that shape."""

from __future__ import annotations

import ast
import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from xlalint.verify.model import Event, Place
from xlalint.verify.places import is_users

_LIBRARIES = ("site-packages/", "dist-packages/")
_WRAPPED = ("data_collator", "collate_fn", "func", "__func__", "__wrapped__")
_SHOWN = 2  # arrays of a batch
_noticing = False

_Shapes = tuple[tuple[str, str], ...]


def notice_batches(new: Callable[[Event], None]) -> None:
    """Have `new` called with an event for each batch of a `torch.utils.data.DataLoader` that has other shapes than all before it, when
    the script gets it. Nothing takes it back; torch must have been imported, and torch_xla too if it is to be.
    """
    global _noticing
    if _noticing:
        return
    _noticing = True
    from torch.utils.data import dataloader

    fetched = _Fetched(new)
    made, following = dataloader.DataLoader.__init__, dataloader._BaseDataLoaderIter.__next__

    @functools.wraps(made)
    def make(loader: Any, *args: Any, **kwargs: Any) -> None:
        made(loader, *args, **kwargs)
        fetched.lines[loader.dataset] = _own_line()

    @functools.wraps(following)
    def follow(iterator: Any) -> Any:
        batch = following(iterator)
        fetched.from_loader(batch, iterator)
        return batch

    dataloader.DataLoader.__init__ = make
    dataloader._BaseDataLoaderIter.__next__ = follow
    if "torch_xla" in sys.modules:
        _follow_uploads(fetched)


def _follow_uploads(fetched: _Fetched) -> None:
    """Batches that threads of torch_xla have uploaded reach the script when it asks for the next."""
    from torch_xla.distributed import parallel_loader as parallel

    following = parallel.PerDeviceLoader.next

    @functools.wraps(following)
    def follow(loader: Any) -> Any:
        batch = following(loader)
        fetched.receive(tuple(_shapes(batch)))
        return batch

    parallel.PerDeviceLoader.next = follow


class _Fetched:
    """The shapes of batches, and which lines made them; a batch is new when the thread that computes gets it."""

    def __init__(self, new: Callable[[Event], None]) -> None:
        self._new = new
        self.lines: WeakKeyDictionary[Any, Place | None] = (
            WeakKeyDictionary()
        )  # by data set: where it was given to a loader
        self._makers: dict[_Shapes, tuple[Place, ...]] = {}
        self._known: set[_Shapes] = set()

    def from_loader(self, batch: Any, iterator: Any) -> None:
        told = tuple(_shapes(batch))
        if told not in self._makers:
            data = iterator._dataset
            found = (place_of(iterator._collate_fn), self.lines.get(data), _place_of_items(data))
            self._makers[told] = tuple(one for one in found if one is not None)
        if threading.current_thread() is threading.main_thread():
            self.receive(told)

    def receive(self, told: _Shapes) -> None:
        if not told or told in self._known:
            return
        if self._known:
            what = f"a batch with {', '.join(f'{name}{shape}' for name, shape in told[:_SHOWN])}"
            places = self._makers.get(told, ())
            self._new(Event("new-shape", what, places[0] if places else None, related=places[1:]))
        self._known.add(told)


def _shapes(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The names and shapes of the tensors in a batch."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _shapes(inner, f"{key}: ")
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _shapes(inner)
    elif hasattr(value, "shape"):
        yield name, str(list(value.shape))


def place_of(collate: Any) -> Place | None:
    """Where the user wrote what makes batches: the function itself, or the line that calls for the library's; None if there is none."""
    while (code := getattr(collate, "__code__", None)) is None or not is_own(code.co_filename):
        inner = (getattr(collate, name, None) for name in _WRAPPED)
        found = next((one for one in inner if callable(one)), None)
        if found is None:
            break
        collate = found
    if code is None:
        code = getattr(type(collate).__call__, "__code__", None)
    if code is not None and is_own(code.co_filename):
        return Place(code.co_filename, code.co_firstlineno, code.co_name)
    name = getattr(collate, "__name__", type(collate).__name__)
    return next((place for module in _own_modules() for place in _calls(module, name)), None)


def _place_of_items(data: Any) -> Place | None:
    """Where the user wrote how a data set gives its items; None where a library did."""
    methods = (getattr(type(data), name, None) for name in ("__getitem__", "__iter__"))
    codes = (getattr(method, "__code__", None) for method in methods)
    own = (code for code in codes if code is not None and is_own(code.co_filename))
    return next((Place(code.co_filename, code.co_firstlineno, code.co_name) for code in own), None)


def is_own(file: str) -> bool:
    """Return whether a file belongs to the user's own program, not to an installed package."""
    return is_users(file) and not any(folder in file for folder in _LIBRARIES)


def _own_modules() -> Iterator[ModuleType]:
    """The modules of the user's own program, the script first."""
    modules = [sys.modules.get("__main__"), *list(sys.modules.values())]
    for module in modules:
        if isinstance(module, ModuleType) and is_own(getattr(module, "__file__", None) or "<none>"):
            yield module


def _calls(module: ModuleType, name: str) -> Iterator[Place]:
    """The lines of a module that call something by this name, or hand it on."""
    file = str(Path(module.__file__ or "").absolute())
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for used in (node.func, *node.args, *(keyword.value for keyword in node.keywords)):
                if (used.attr if isinstance(used, ast.Attribute) else getattr(used, "id", None)) == name:
                    yield Place(file, used.lineno)


def _own_line() -> Place | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_own(code.co_filename):
            return Place(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None
