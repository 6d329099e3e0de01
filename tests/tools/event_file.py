"""Reads the event files that trainings write for TensorBoard."""

import struct

from cli_support import expect, metrics

EVENTS = "events.out.tfevents.npzoo"


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """Yields the fields of a protocol buffer: (number, value)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def events(path, cut=False):
    """[step, {tag: value}] of every whole record, as tensorflow/core/lib/io/record_writer.h and event.proto have them. The last
    one may be cut short where `cut` says so."""
    data, at, found = path.read_bytes(), 0, []
    while at + 12 <= len(data):
        (size, crc) = struct.unpack("<QI", data[at:at + 12])
        expect(crc == crc32c(data[at:at + 8]), "checksum of a length")
        if at + size + 16 > len(data):
            break
        event = data[at + 12:at + 12 + size]
        expect(struct.unpack("<I", data[at + 12 + size:at + 16 + size])[0] == crc32c(event), "checksum of an event")
        at += size + 16
        members = dict(fields(event))
        expect(struct.unpack("<d", members[1])[0] > 1.6e9, "the time")
        if 3 in members:
            expect(members[3] == b"brain.Event:2" and not found and at == size + 16, "the version comes first and once")
            continue
        values = {}
        for number, value in fields(members[5]):
            pair = dict(fields(value))
            values[pair[1].decode()] = struct.unpack("<f", pair[2])[0]
        found.append([members[2], values])
    expect(at == len(data) or cut, "a record that is not whole")
    return found


def check_events(out):
    """They tell what metrics.jsonl tells."""
    lines = [line for line in metrics(out)]
    found = events(out / EVENTS)
    expect(len(found) == len(lines), len(found), "events,", len(lines), "lines")
    for (step, values), line in zip(found, lines):
        expect(step == line["step"], step, line)
        single = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
        if "loss" in line:
            expect(values["train/loss"] == single(line["loss"]) and values["train/learning_rate"] == single(line["lr"]), values, line)
            expect(values["train/steps_per_second"] > 0 and len(values) == 3, values)
        else:
            expect(values == {"validation/log_likelihood": single(line["validation_log_likelihood"])}, values, line)
