"""Draws `icon.png`: a graph of three nodes, one edge of which is cut. Needs nothing but Python: `python make_icon.py`."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

SIDE, SAMPLES = 256, 3
GROUND, LINE, NODE, CUT = (13, 17, 23), (88, 166, 255), (230, 237, 243), (255, 123, 114)
TOP, LEFT, RIGHT = (128.0, 62.0), (62.0, 186.0), (194.0, 186.0)
CORNER, RADIUS, WIDTH, GAP = 48.0, 27.0, 7.0, (0.42, 0.58)


def _near(x: float, y: float, start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
    """The distance from a line, and how far along it the nearest point is, from 0 to 1."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    along = min(1.0, max(0.0, ((x - start[0]) * dx + (y - start[1]) * dy) / (dx * dx + dy * dy)))
    return ((x - start[0] - along * dx) ** 2 + (y - start[1] - along * dy) ** 2) ** 0.5, along


def _colour(x: float, y: float) -> tuple[int, int, int, int]:
    inner_x, inner_y = (min(max(one, CORNER), SIDE - CORNER) for one in (x, y))
    if (x - inner_x) ** 2 + (y - inner_y) ** 2 > CORNER**2:
        return 0, 0, 0, 0
    for place, colour in ((TOP, NODE), (LEFT, NODE), (RIGHT, CUT)):
        if (x - place[0]) ** 2 + (y - place[1]) ** 2 < RADIUS**2:
            return *colour, 255
    for start, end in ((TOP, LEFT), (LEFT, RIGHT)):
        if _near(x, y, start, end)[0] < WIDTH:
            return *LINE, 255
    distance, along = _near(x, y, TOP, RIGHT)
    if distance < WIDTH and not GAP[0] < along < GAP[1]:
        return *CUT, 255
    return *GROUND, 255


def _pixel(column: int, row: int) -> bytes:
    steps = [(index + 0.5) / SAMPLES for index in range(SAMPLES)]
    found = [_colour(column + x, row + y) for y in steps for x in steps]
    alpha = sum(one[3] for one in found)
    shades = (sum(one[n] * one[3] for one in found) // max(alpha, 1) for n in range(3))
    return bytes((*shades, alpha // len(found)))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def draw() -> bytes:
    """The picture, as PNG."""
    rows = b"".join(b"\0" + b"".join(_pixel(column, row) for column in range(SIDE)) for row in range(SIDE))
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")


if __name__ == "__main__":
    Path(__file__).with_name("icon.png").write_bytes(draw())
