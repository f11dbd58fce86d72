# SPDX-License-Identifier: Apache-2.0
"""Mutations of any file, and of text by lines and words. Each takes random.Random and bytes and returns bytes."""
import re
import struct

MOST = 300_000  # bytes of a mutated file: larger ones only take time

NUMBERS = [0, -1, 1, 2, 7, 127, 128, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1,
           2**63 - 1, 2**63, 2**64 - 1, 2**64, -2**31, -2**63, -2**63 - 1, 10**18, 10**19, 10**30, -10**18]
# As they stand in a text. The text forms of NaN and infinity are numbers that no measurement has.
WORDS_OF_NUMBERS = [str(n) for n in NUMBERS] + [
    "0.0", "-0", "-0.0", "1e308", "-1e308", "1e309", "1e-308", "5e-324", "1e-400", "1e400", "0.1", "1.5", "-1.5",
    "1e18", "1e19", "9" * 400, "0." + "0" * 400 + "1", "NaN", "-NaN", "nan", "Infinity", "-Infinity", "inf", "-inf",
    "1e", "1.", ".5", "+1", "0x10", "1_000", "1,5", "00012", "--1", "true", "null", ""]
STRINGS = ["", " ", "a", "0", "1", "-1", "None", "x" * 300, "y" * 20_000, "ä€😀", "\u202e", "\u0000", "a\nb", "a\tb",
           "\x1b[31m", "\x7f", "\x9b", "\ufeff", "\u2028", "</script><script>", "<b>&amp;\"'", "=1+1", "@x", "%s%n",
           "{}", "{0}", "../../x", "/", "\\", "\"", "'", "C:\\x", "rank", "rank 0", "rank3", "ProfilerStep#1",
           "ProfilerStep#99999999999999999999", "iteration 4", "step", "nccl:all_reduce", "ncclDevKernel_AllReduce",
           "ncclDevKernel_SendRecv", "aten::mm", "_Z1", "_ZN" + "1a" * 300 + "E", "<" * 400, "(" * 400, "a::" * 300,
           "[0, 1]", "[0, ...", "[", "1970-01-01", "2025-99-99 25:61:61,000", "kernel", "float", "c10::BFloat16"]


def flip(r, data):
    if not data:
        return b"\0"
    out = bytearray(data)
    for _ in range(r.choice((1, 1, 2, 8, 40))):
        out[r.randrange(len(out))] ^= 1 << r.randrange(8)
    return bytes(out)


def put(r, data):
    """Other bytes at one place."""
    if not data:
        return b"{"
    at = r.randrange(len(data))
    some = r.choice((bytes([r.randrange(256)]), r.randbytes(4), b"\0\0\0\0", b"\xff" * 8, b"\x80", b"\r\n", b"\"", b"{",
                     b"]", b"\xc3\x28", b"\xed\xa0\x80", struct.pack("<I", r.choice(NUMBERS) & 0xffffffff),
                     struct.pack(">Q", r.choice(NUMBERS) & (2**64 - 1)), struct.pack("<d", r.choice(
                         (float("nan"), float("inf"), 1e308, -0.0, 5e-324)))))
    return data[:at] + some + data[at + len(some):]


def span(r, data):
    begin = r.randrange(len(data) + 1)
    length = min(len(data) - begin, r.choice((1, 2, 4, 16, 64, 512, 4096, len(data))))
    return begin, begin + (r.randrange(length + 1) if length else 0)


def cut_out(r, data):
    begin, end = span(r, data)
    return data[:begin] + data[end:]


def double(r, data):
    begin, end = span(r, data)
    times = r.choice((1, 1, 2, 10, 100))
    if (end - begin) * times > MOST:
        times = 1
    return data[:end] + data[begin:end] * times + data[end:]


def insert(r, data):
    at = r.randrange(len(data) + 1)
    return data[:at] + r.randbytes(r.choice((1, 2, 8, 100))) + data[at:]


def truncate(r, data):
    return data[:r.randrange(len(data) + 1)]


def lose_begin(r, data):
    return data[r.randrange(len(data) + 1):]


def exchange(r, data):
    a, b = sorted((span(r, data), span(r, data)))
    if a[1] > b[0]:
        return data
    return data[:a[0]] + data[b[0]:b[1]] + data[a[1]:b[0]] + data[a[0]:a[1]] + data[b[1]:]


def zero(r, data):
    begin, end = span(r, data)
    return data[:begin] + b"\0" * (end - begin) + data[end:]


def behind(r, data):
    return data + r.choice((b"\0" * 100, r.randbytes(30), data[:r.randrange(len(data) + 1)], b"\n", b"{}", b"]}"))


ANY = [flip, flip, put, put, put, cut_out, cut_out, double, insert, truncate, truncate, lose_begin, exchange, zero,
       behind]


def mutate(r, data):
    return r.choice(ANY)(r, data)


def splice(r, data, other):
    """The begin of one file and the end of another, or a part of the other in the middle."""
    if r.random() < 0.5:
        return data[:r.randrange(len(data) + 1)] + other[r.randrange(len(other) + 1):]
    begin, end = span(r, other)
    at = r.randrange(len(data) + 1)
    return data[:at] + other[begin:end] + data[at:]


# Text

NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def a_number(r, data):
    """One number, or each number of a line, or all numbers behind one word, become another."""
    found = list(NUMBER.finditer(data))
    if not found:
        return mutate(r, data)
    word = r.choice(WORDS_OF_NUMBERS).encode()
    one = r.choice(found)
    how = r.random()
    if how < 0.6:
        return data[:one.start()] + word + data[one.end():]
    before = data[max(0, one.start() - 12):one.start()]
    if how < 0.8 and len(before) > 3 and b"\n" not in before:
        return re.sub(re.escape(before) + NUMBER.pattern, lambda m: before + word, data)
    factor = r.choice((0, -1, 1e-9, 1000, 1e15, 1e300))
    return NUMBER.sub(lambda m: b"%.17g" % (float(m[0]) * factor) if r.random() < 0.3 else m[0], data)


def lines(r, data):
    rows = data.split(b"\n")
    i, j = r.randrange(len(rows)), r.randrange(len(rows))
    how = r.randrange(10)
    if how == 0:
        del rows[i]
    elif how == 1:
        rows[i:i] = [rows[j]] * r.choice((1, 2, 50))
    elif how == 2:
        rows[i], rows[j] = rows[j], rows[i]
    elif how == 3:
        r.shuffle(rows)
    elif how == 4:
        rows.reverse()
    elif how == 5:
        rows[i] += rows[j]
    elif how == 6:
        rows[i] = rows[i][:r.randrange(len(rows[i]) + 1)]
    elif how == 7:
        rows = [row + b"\r" for row in rows]
    elif how == 8:
        rows = rows[:1] + [row for row in rows[1:] if r.random() < 0.5]
    else:
        rows[i] = rows[i] * r.choice((2, 20, 400)) if len(rows[i]) < 500 else rows[i][:3]
    return b"\n".join(rows)


def words(r, data):
    """A word is doubled, lost, or becomes another text."""
    found = list(re.finditer(rb"[^\s,;:=|\"\[\]{}()]+", data))
    if not found:
        return mutate(r, data)
    one = r.choice(found)
    new = r.choice((b"", one[0] * 2, one[0].upper(), r.choice(found)[0], r.choice(STRINGS).encode(), b"%"))
    if r.random() < 0.2:
        return data.replace(one[0], new) if len(one[0]) > 2 or len(data) < 2000 else data
    return data[:one.start()] + new + data[one.end():]


def columns(r, data):
    """One column of a table is lost, doubled, exchanged, renamed, or has one value only."""
    mark = next((m for m in (b",", b"\t", b"|", b" ") if m in data[:300]), b",")
    rows = [row.split(mark) for row in data.split(b"\n")]
    at, to = r.randrange(max(map(len, rows))), r.randrange(max(map(len, rows)))
    how, word = r.randrange(6), r.choice(WORDS_OF_NUMBERS).encode()
    for number, row in enumerate(rows):
        if at >= len(row) or to >= len(row):
            continue
        if how == 0:
            del row[at]
        elif how == 1:
            row.insert(to, row[at])
        elif how == 2:
            row[at], row[to] = row[to], row[at]
        elif how == 3 and number > 0:
            row[at] = word
        elif how == 4:
            row[at] = b'"' + row[at] + b'"'
        elif how == 5 and number == 0:
            row[at] = r.choice(STRINGS).encode()
    return b"\n".join(mark.join(row) for row in rows)


def text(r, data):
    return r.choice((a_number, a_number, a_number, lines, lines, words, words, columns, mutate))(r, data)
