"""The pytest plugin: `--xlalint-watch`, the marker `xla(max_compiles=1, ...)` and the fixture `xla_watch`.

It is loaded by every pytest of an environment that has xlalint, so it imports nothing until a test asks to be watched.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xlalint.verify.watch import Seen, Watch

_PROPERTY = "xlalint"
_COLUMNS = ("compilations", "syncs", "fallbacks", "graph_breaks")
_MARKER = (
    "xla(max_compiles=None, max_syncs=None, max_fallbacks=None, max_graph_breaks=None, warmup=0): fail the test if XLA compiles, or "
    "the host reads values, more often than that (see xlalint.watch)"
)
_WATCH = pytest.StashKey["Watch"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option; without it, only tests that ask are watched."""
    group = parser.getgroup("xlalint")
    group.addoption("--xlalint-watch", action="store_true", help="report XLA's compilations and host syncs, per test")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known and, if all tests are watched, frameworks countable before any is imported."""
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("--xlalint-watch"):
        from xlalint.verify.environment import countable

        countable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Prepare the watch of a test that asks for one; it opens around the test's call, after its fixtures were set up."""
    if _WATCH in item.stash:  # of an earlier try
        del item.stash[_WATCH]
    marker = item.get_closest_marker("xla")
    if marker is not None or "xla_watch" in getattr(item, "fixturenames", ()):
        item.stash[_WATCH] = _watch_of(marker)
    elif item.config.getoption("--xlalint-watch"):
        from xlalint.verify.seen import WatchLimits
        from xlalint.verify.watch import Watch

        item.stash[_WATCH] = Watch(WatchLimits(), 0, quiet=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Watch a test's call; what the test raises goes before limits that it exceeded."""
    watch = item.stash.get(_WATCH, None)
    if watch is None:
        return (yield)
    from xlalint.verify.seen import LimitExceededError

    watch.__enter__()
    try:
        result = yield
    except BaseException as error:
        watch.__exit__(type(error), error, error.__traceback__)
        raise
    else:
        too_much = ""
        try:
            watch.__exit__(None, None, None)
        except LimitExceededError as error:
            too_much = str(error)
        if too_much:  # not where it was caught, which pytest would tell too
            pytest.fail(too_much, pytrace=False)
        return result
    finally:
        item.user_properties.append((_PROPERTY, _write_report(watch.seen)))


@pytest.fixture
def xla_watch(request: pytest.FixtureRequest) -> Seen:
    """Watch what XLA does during this test's call: `.compilations`, `.syncs`, `.fallbacks`, `.graph_breaks`, `.events`, `.step()`."""
    watch: Watch | None = request.node.stash.get(_WATCH, None)
    if watch is None:
        pytest.fail("`xla_watch` must be an argument of the test or of a fixture that it uses", pytrace=False)
    return watch.seen


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """With `--xlalint-watch`: what each test made XLA do, the costliest first; with -vv the causes too."""
    if not config.getoption("--xlalint-watch"):
        return
    seen = list(_read_reports(terminalreporter))
    terminalreporter.section("xlalint")
    busy = sorted((one for one in seen if any(one[1][name] for name in _COLUMNS)), key=_cost, reverse=True)
    if busy:
        terminalreporter.line("".join(f"{name.replace('_', ' '):>14}" for name in _COLUMNS) + "  test")
    for test, told in busy:
        terminalreporter.line("".join(f"{told[name]:>14}" for name in _COLUMNS) + f"  {test}")
        for line in told["causes"] if config.get_verbosity() > 1 else ():
            terminalreporter.line(f"{'':18}{line}")
    terminalreporter.line(f"{len(busy)} of {len(seen)} watched tests made XLA compile, or the host read")


def _watch_of(marker: pytest.Mark | None) -> Watch:
    from xlalint.verify.watch import watch

    if marker is None:
        return watch()
    try:
        return watch(*marker.args, **marker.kwargs)
    except (TypeError, ValueError) as error:
        pytest.fail(f"@pytest.mark.xla: {str(error).removeprefix('watch() ')}", pytrace=False)


def _write_report(seen: Seen) -> dict[str, Any]:
    """Return what goes into the report of a test: plain values, since it may cross to another process."""
    return {**{name: getattr(seen, name) for name in _COLUMNS}, "causes": seen.report().splitlines()}


def _read_reports(terminalreporter: pytest.TerminalReporter) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                yield from ((report.nodeid, told) for name, told in report.user_properties if name == _PROPERTY)


def _cost(one: tuple[str, Mapping[str, Any]]) -> tuple[int, ...]:
    return tuple(one[1][name] for name in _COLUMNS)
