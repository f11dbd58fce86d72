# SPDX-License-Identifier: Apache-2.0
"""Mutations of binary containers by their structure: gzip, zstd, SQLite, protocol buffers. And bombs."""
import os
import sqlite3
import struct
import tempfile
import zlib

from mutate_bytes import MOST, NUMBERS, STRINGS, mutate


def gzip_of(data, level=6):
    packer = zlib.compressobj(level, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def zstd_of(data):
    """A frame of raw blocks: RFC 8878 without compression."""
    out = bytearray(struct.pack("<IB", 0xFD2FB528, 0xA0) + struct.pack("<I", len(data)))
    parts = [data[at:at + 100_000] for at in range(0, len(data), 100_000)] or [b""]
    for i, part in enumerate(parts):
        out += struct.pack("<I", len(part) << 3 | (i + 1 == len(parts)))[:3] + part
    return bytes(out)


def packed(r, data):
    """The data in a container, which is sound, of several members, cut, or damaged."""
    how = r.randrange(10)
    if how == 0:
        at = r.randrange(len(data) + 1)
        return gzip_of(data[:at]) + gzip_of(data[at:])
    whole = gzip_of(data, r.choice((0, 1, 6, 9))) if how < 7 else zstd_of(data)
    if how in (1, 7):
        return whole[:r.randrange(len(whole) + 1)]
    if how in (2, 8):
        return mutate(r, whole)
    if how == 3:
        return gzip_of(whole)
    return whole


def bomb(r, data):
    """A small file that inflates to 40 to 400 MB: its content once, then one byte or one line again and again."""
    size = r.choice((40, 100, 400)) << 20
    line = r.choice((b" ", b"\n", b"\0", b"[", b"1\n", data[-200:] + b"\n", b'{"a":1},', b"a;b 1\n"))
    block = line * ((1 << 20) // len(line))
    if r.random() < 0.5:
        member = gzip_of(block, 9)
        return gzip_of(data) + member * (size // len(block))
    out = bytearray(zstd_of(data) + struct.pack("<IBB", 0xFD2FB528, 0, 0x58))
    for _ in range(size // 131_072):
        out += struct.pack("<I", 131_072 << 3 | 2)[:3] + line[:1]  # one byte, repeated
    return bytes(out + struct.pack("<I", 1)[:3])


# SQLite

SQL_VALUES = [None, "", "x", "9" * 40, "1.5", b"", b"\0\1\2", b"\xff" * 64, 1.5, -0.0, float("inf"), 1e308, *[
    n for n in NUMBERS if -2**63 <= n < 2**63], *[s for s in STRINGS if len(s) < 1000 and "\0" not in s]]


def statement(r, db, tables):
    table = r.choice(tables)
    columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
    if not columns:
        return
    column, other, value, how = r.choice(columns), r.choice(columns), r.choice(SQL_VALUES), r.randrange(12)
    if how == 0:
        db.execute(f'DELETE FROM "{table}" WHERE rowid * ? % 11 < 5', (r.randrange(1, 11),))
    elif how == 1:
        db.execute(f'DROP TABLE "{table}"')
        tables.remove(table)
    elif how == 2 and len(columns) > 1:
        db.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
    elif how == 3:
        db.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "renamed"')
    elif how == 4:
        db.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}" LIMIT 200')
    elif how == 5:
        db.execute(f'UPDATE "{table}" SET "{column}" = "{other}"')
    elif how == 6:
        db.execute(f'UPDATE "{table}" SET "{column}" = "{column}" * ?', (r.choice((-1, 0, 1000, 1e9, 1e300)),))
    elif how == 7:
        names = ", ".join(f'"{c}"' for c in columns)
        db.execute(f'INSERT INTO "{table}" ({names}) VALUES ({", ".join("?" * len(columns))})',
                   [r.choice(SQL_VALUES) for _ in columns])
    elif how == 8:
        db.execute(f'UPDATE "{table}" SET "{column}" = ?', (value,))
    else:
        rows = [row[0] for row in db.execute(f'SELECT rowid FROM "{table}"')]
        if rows:
            db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (value, r.choice(rows)))


def mutate_sqlite(r, data):
    handle, path = tempfile.mkstemp(suffix=".sqlite")
    os.write(handle, data)
    os.close(handle)
    try:
        db = sqlite3.connect(path, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode=OFF")
            tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            for _ in range(r.choice((1, 1, 2, 4))):
                if tables:
                    try:
                        statement(r, db, tables)
                    except (sqlite3.Error, OverflowError):
                        pass
        except sqlite3.Error:
            return mutate(r, data)
        finally:
            db.close()
        with open(path, "rb") as file:
            return file.read()[:4 * MOST]
    finally:
        os.unlink(path)


# Protocol buffers

def varint(n):
    n &= 2**64 - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def fields_of(data):
    """[[number, wire type, value]...], or None if the bytes are no message."""
    out, at = [], 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise ValueError
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    try:
        while at < len(data):
            key = number()
            kind, size = key & 7, 0
            if kind == 0:
                out.append([key >> 3, 0, number()])
                continue
            size = {1: 8, 5: 4, 2: -1}.get(kind)
            if size is None or key >> 3 == 0:
                return None
            if size < 0:
                size = number()
            if at + size > len(data):
                return None
            out.append([key >> 3, kind, data[at:at + size]])
            at += size
    except ValueError:
        return None
    return out


def message_of(fields):
    out = bytearray()
    for number, kind, value in fields:
        out += varint(number << 3 | kind)
        if kind == 0:
            out += varint(value)
        else:
            out += (varint(len(value)) if kind == 2 else b"") + value
    return bytes(out)


def mutate_message(r, data, depth=0):
    fields = fields_of(data)
    if not fields:
        return mutate(r, data)
    i = r.randrange(len(fields))
    field = fields[i]
    if field[1] == 2 and depth < 6 and r.random() < 0.8:
        inner = fields_of(field[2])
        if inner and not field[2].isascii() or inner and r.random() < 0.3:
            field[2] = mutate_message(r, field[2], depth + 1)
            return message_of(fields)
    how = r.randrange(9)
    if how == 0:
        del fields[i]
    elif how == 1:
        fields[i:i] = [list(field)] * r.choice((1, 2, 50))
    elif how == 2:
        r.shuffle(fields)
    elif how == 3:
        field[0] = r.choice((1, 2, 3, field[0] + 1, 100, 2**28))
    elif how == 4:
        return message_of(fields[:i]) + varint(field[0] << 3 | 2) + varint(r.choice(NUMBERS)) + message_of(fields[i + 1:])
    elif field[1] == 0:
        field[2] = r.choice(NUMBERS)
    elif field[1] == 2:
        field[2] = r.choice((r.choice(STRINGS).encode(), mutate(r, field[2]), b"", field[2] * 2))
    else:
        field[2] = r.choice((b"\0", b"\xff", r.randbytes(1))) * len(field[2])
    return message_of(fields)
