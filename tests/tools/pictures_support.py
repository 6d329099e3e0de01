"""Shared by the tests that read or make pictures."""

import math
import struct
import zlib

from cli_support import expect


def png(height, width, channels, at):
    """The bytes of a PNG file; `at` gives the values of a pixel by row and column."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(v for c in range(width) for v in at(r, c)) for r in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pixels(path):
    """Height, width, channels and bytes of a PNG of 8 bits that is not interlaced."""
    content, at, header, data = path.read_bytes(), 8, None, b""
    expect(content.startswith(b"\x89PNG\r\n\x1a\n"), path, "is no PNG")
    while at < len(content):
        size, kind = struct.unpack(">I4s", content[at:at + 8])
        body = content[at + 8:at + 8 + size]
        header, data = body if kind == b"IHDR" else header, data + (body if kind == b"IDAT" else b"")
        at += 12 + size
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    expect(depth == 8 and interlaced == 0 and color in (0, 2), path, depth, color, interlaced)
    channels, raw, rows, before = 1 if color == 0 else 3, zlib.decompress(data), [], None
    stride = width * channels
    for r in range(height):
        kind, line = raw[r * (stride + 1)], bytearray(raw[r * (stride + 1) + 1:(r + 1) * (stride + 1)])
        before = before or bytes(stride)
        for i in range(stride):
            left = line[i - channels] if i >= channels else 0
            corner = before[i - channels] if i >= channels else 0
            paeth = min((left, before[i], corner), key=lambda v: abs(left + before[i] - corner - v))
            line[i] = line[i] + (0, left, before[i], (left + before[i]) // 2, paeth)[kind] & 255
        before = bytes(line)
        rows.append(before)
    return height, width, channels, b"".join(rows)


def disc(size, centre, radius, colors):
    """A disc of one colour on another, with soft edges."""
    def at(r, c):
        share = min(max(radius + 0.5 - math.hypot(r - centre[0], c - centre[1]), 0), 1)
        return [round(b + share * (a - b)) for a, b in zip(*colors)]
    return at
