"""Lowering by an executor, which may be a cluster: sources are read here and sent, what was lowered comes back.

What a worker gives is what this machine would have given, so losing workers costs time and nothing else: what an executor does not give is
lowered here.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures import TimeoutError as LateError
from contextlib import contextmanager
from typing import Any, NamedTuple

from xlalint.project.lowered import lower_parcel, lower_paths, pack_files
from xlalint.source.files import MOST_BYTES

_AHEAD = 256  # batches of a dozen files that are sent before the first is back
_PATIENCE = 120.0  # seconds without a batch after which an executor is given up


class ClusterError(Exception):
    """A cluster that cannot be used; the message says which and why."""


class _Sent(NamedTuple):
    paths: list[str]
    unread: list[bytes]
    future: Future[list[bytes]] | None


def lowered_by(
    executor: Executor,
    batches: Sequence[list[str]],
    troubles: Counter[str],
    limit: int = MOST_BYTES,
    patience: float = _PATIENCE,
) -> Iterator[list[bytes]]:
    """Batches of files, lowered by an executor to encoded `Lowered`, in order; those of more than `limit` bytes are not read. `troubles`
    counts why batches were lowered here."""
    sent: deque[_Sent] = deque()
    lost = False

    def back() -> list[bytes]:
        nonlocal lost
        paths, unread, future = sent.popleft()
        if future is None or lost:
            return lower_paths(paths, limit)
        try:
            return [*unread, *future.result(timeout=patience)]
        except (LateError, TimeoutError):
            lost = True
            troubles[f"no worker has answered for {patience:.0f} seconds"] += 1
        except CancelledError:
            troubles["the cluster gave the work back"] += 1
        except Exception as error:  # noqa: BLE001 - a worker may fail in ways that only its executor knows
            troubles[_reason(error)] += 1
        return lower_paths(paths, limit)

    try:
        for batch in batches:
            sent.append(_Sent(batch, [], None) if lost else _send(executor, batch, troubles, limit))
            if len(sent) >= _AHEAD:
                yield back()
        while sent:
            yield back()
    finally:
        for one in sent:
            if one.future is not None:
                one.future.cancel()


def _send(executor: Executor, paths: list[str], troubles: Counter[str], limit: int) -> _Sent:
    unread, parcel = pack_files(paths, limit)
    try:
        return _Sent(paths, unread, executor.submit(lower_parcel, parcel))
    except Exception as error:  # noqa: BLE001 - as above
        troubles[_reason(error)] += 1
        return _Sent(paths, unread, None)


def _reason(error: BaseException) -> str:
    """Return the innermost error: clusters wrap a worker's error in their own."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}".split("\n", 1)[0]


# ----------------------------------------------------------------------------------------------------------- clusters


@contextmanager
def connect(address: str) -> Iterator[Executor]:
    """Open an executor of the cluster at `dask://HOST:PORT` or `ray://HOST:PORT`. Raises `ClusterError`."""
    scheme, separator, place = address.partition("://")
    if not separator or scheme not in _CLUSTERS or not place:
        raise ClusterError(
            f"--executor: `{address}` is not the address of a cluster; write dask://HOST:PORT or ray://HOST:PORT"
        )
    with _CLUSTERS[scheme](address, place) as executor:
        yield executor


@contextmanager
def _dask(address: str, place: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(_missing(address, "dask")) from error
    try:
        client = Client(f"tcp://{place}", set_as_default=False, timeout="15s")
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(f"--executor: no Dask scheduler answers at `{address}`: {error}") from error
    with client:
        # A worker that dies does so of what else it does: its work is tried again elsewhere.
        executor: Executor = client.get_executor(pure=False, retries=2)
        yield executor


@contextmanager
def _ray(address: str, _: str) -> Iterator[Executor]:
    try:
        import ray
    except ImportError as error:
        raise ClusterError(_missing(address, "ray")) from error
    try:
        context = ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        raise ClusterError(f"--executor: no Ray cluster answers at `{address}`: {error}") from error
    with context:
        yield _Ray(ray)


class _Ray(Executor):
    """Ray's tasks, which it tries again where a worker dies, as an executor."""

    def __init__(self, ray: Any) -> None:
        self._call = ray.remote(max_retries=3)(_call)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self._call.remote(fn, *args, **kwargs).future()
        return future


def _call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _missing(address: str, extra: str) -> str:
    return f"--executor {address} needs more than the base install: pip install 'xlalint[{extra}]'"


_CLUSTERS = {"dask": _dask, "ray": _ray}
