#!/usr/bin/env python3
"""Writes small grey pictures of discs to train on: pictures.py FOLDER [COUNT]"""

import pathlib
import random
import struct
import sys
import zlib

SIZE = 16


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows):
    """An 8-bit grey PNG; each row starts with filter type 0."""
    head = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def disc(draw):
    row, column, radius = draw.uniform(4, 12), draw.uniform(4, 12), draw.uniform(2.5, 5)
    light = draw.randint(150, 255)
    for i in range(SIZE):
        yield [int(light * min(1, max(0, radius + 0.5 - ((i - row) ** 2 + (j - column) ** 2) ** 0.5))) for j in range(SIZE)]


def main():
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 400
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    for number in range(count):
        (folder / f"disc-{number:03}.png").write_bytes(png(disc(draw)))


if __name__ == "__main__":
    main()
