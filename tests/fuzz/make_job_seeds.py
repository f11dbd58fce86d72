#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_job_seeds.py DIR: writes the seeds of the fuzz targets for job tables: DIR/job_csv, DIR/parquet (with a
writer of its own for the flat subset)."""
import struct
import subprocess
import sys
from pathlib import Path

OUT = Path(sys.argv[1])
HERE = Path(__file__).resolve().parent


def put(kind, name, data):
    folder = OUT / kind
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


# CSV and YAML
made = subprocess.run([sys.executable, HERE / "../../bench/make_job_table.py", "2", "2", "2", "2"], check=True,
                      stdout=subprocess.PIPE, text=True).stdout
head, *rows = made.splitlines()
put("job_csv", "table", made)
put("job_csv", "one_step", "\n".join([head] + [r for r in rows if r.split(",")[3] == "0"]))
put("job_csv", "missing_member", "\n".join([head] + [r for r in rows if "forward-recv" not in r]) + "\n")
put("job_csv", "odd_step", "\n".join([head] + rows[:-3]) + "\n")
put("job_csv", "rank_missing", "\n".join([head] + [r for r in rows if not r.startswith("1,1,")]) + "\n")
put("job_csv", "backwards", "\n".join([head] + [r.replace(",10.", ",-10.") for r in rows]) + "\n")
put("job_csv", "quoted", "\n".join(",".join(f'"{c}"' for c in r.split(",")) for r in [head] + rows[:9]) + "\r\n")
put("job_csv", "not_numbers", "\n".join([head, "a,b,c,d,gc,e,f,g,h,i,j", "0,0,0,0,gc,nan,inf,0,0,0,0", "1,2,3",
                                         "0,0,0,1e99,gc,1e400,1,0,0,0,0", "0,0,0,0,nap,1,1,0,0,0,0"]))
put("job_csv", "meta", (HERE / "../../bench/make_job_table.py").name + "\n")
put("job_csv", "yaml", "---\n# job\ntrial_name: 'a'\nrun_id: 0\ndp_size: 4\npp_size: 2\ntp_size: 1\nworld_size: 8\n")
put("job_csv", "yaml_deep", "a:\n  b: [1, {c: d}]\n- e\nf: |\n  g\nh: *i\nj: &k !l m\n")


# Snappy: literals, and copies of each form
def varint(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def literal(data):
    n = len(data) - 1
    if n < 60:
        return bytes([n << 2]) + data
    size = (n.bit_length() + 7) // 8
    return bytes([(59 + size) << 2]) + n.to_bytes(size, "little") + data


def snappy(data):
    return varint(len(data)) + b"".join(literal(data[i:i + 70000]) for i in range(0, len(data), 70000))


# Parquet: thrift's compact protocol, pages, footer
def zigzag(n):
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


def struct_of(*fields):
    out, last = b"", 0
    for number, kind, value in fields:
        out += bytes([(number - last) << 4 | kind]) + value
        last = number
    return out + b"\0"


I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12


def text_of(s):
    return varint(len(s)) + s.encode()


def list_of(kind, items):
    n = len(items)
    return (bytes([n << 4 | kind]) if n < 15 else bytes([0xf0 | kind]) + varint(n)) + b"".join(items)


def runs(values, width):
    """Runs of one value, and one packed group where a value stands alone."""
    out, i = b"", 0
    while i < len(values):
        n = 1
        while i + n < len(values) and values[i + n] == values[i]:
            n += 1
        if n >= 4:
            out += varint(n << 1) + values[i].to_bytes((width + 7) // 8, "little")
            i += n
            continue
        eight = values[i:i + 8] + [0] * (8 - len(values[i:i + 8]))
        bits = sum(v << (k * width) for k, v in enumerate(eight))
        out += varint(1 << 1 | 1) + bits.to_bytes(width, "little")
        i += 8
    return out


FORMS = {1: "<i", 2: "<q", 4: "<f", 5: "<d"}


def plain(kind, values):
    if kind == 6:
        return b"".join(struct.pack("<I", len(v)) + v.encode() for v in values)
    return b"".join(struct.pack(FORMS[kind], v) for v in values)


def page(number, body, codec, header):
    packed = snappy(body) if codec == 1 else body
    return struct_of((1, I32, zigzag(number)), (2, I32, zigzag(len(body))), (3, I32, zigzag(len(packed))),
                     header) + packed


def parquet(columns, codec=0, dictionary=(), encoding=None, optional=True, rows_said=None):
    file, chunks = b"PAR1", []
    rows = len(columns[0][2])
    for name, kind, values in columns:
        begin = len(file)
        there = [v for v in values if v is not None]
        levels = runs([int(v is not None) for v in values], 1) if optional else b""
        body = struct.pack("<I", len(levels)) + levels if optional else b""
        dictionary_at = 0
        code = 0
        if name in dictionary:
            distinct = sorted(set(there))
            dictionary_at = begin
            file += page(2, plain(kind, distinct), codec,
                         (7, STRUCT, struct_of((1, I32, zigzag(len(distinct))), (2, I32, zigzag(0)))))
            width = max(1, (len(distinct) - 1).bit_length())
            body += bytes([width]) + runs([distinct.index(v) for v in there], width)
            code = 8
        else:
            body += plain(kind, there)
        data_at = len(file)
        file += page(0, body, codec, (5, STRUCT, struct_of((1, I32, zigzag(rows)), (2, I32, zigzag(encoding or code)),
                                                           (3, I32, zigzag(3)), (4, I32, zigzag(3)))))
        fields = [(1, I32, zigzag(kind)), (2, LIST, list_of(I32, [zigzag(code)])),
                  (3, LIST, list_of(BINARY, [text_of(name)])), (4, I32, zigzag(codec)), (5, I64, zigzag(rows)),
                  (6, I64, zigzag(len(file) - begin)), (7, I64, zigzag(len(file) - begin)), (9, I64, zigzag(data_at))]
        if dictionary_at:
            fields.append((11, I64, zigzag(dictionary_at)))
        chunks.append(struct_of((2, I64, zigzag(begin)), (3, STRUCT, struct_of(*fields))))
    schema = [struct_of((4, BINARY, text_of("schema")), (5, I32, zigzag(len(columns))))]
    schema += [struct_of((1, I32, zigzag(kind)), (3, I32, zigzag(int(optional))), (4, BINARY, text_of(name)))
               for name, kind, _ in columns]
    group = struct_of((1, LIST, list_of(STRUCT, chunks)), (2, I64, zigzag(len(file))), (3, I64, zigzag(rows)))
    footer = struct_of((1, I32, zigzag(1)), (2, LIST, list_of(STRUCT, schema)),
                       (3, I64, zigzag(rows if rows_said is None else rows_said)), (4, LIST, list_of(STRUCT, [group])))
    return file + footer + struct.pack("<I", len(footer)) + b"PAR1"


names = head.split(",")
cells = [r.split(",") for r in rows[:24]]


def column(name, kind):
    raw = [c[names.index(name)] for c in cells]
    return name, kind, [v if kind == 6 else float(v) if kind in (4, 5) else int(v) for v in raw]


def columns_of(real):
    return [column(n, {"optype": 6, "step": 2, "start_ts": real, "duration": real}.get(n, 1)) for n in names]


ids = [n for n in names if n not in ("start_ts", "duration")]
table = columns_of(4)
put("parquet", "dictionary_snappy", parquet(table, codec=1, dictionary=ids))
put("parquet", "plain", parquet(columns_of(5), optional=False))
put("parquet", "required_dictionary", parquet(table, dictionary=names, optional=False))
holes = [(n, k, [None if i % 5 == j % 5 else v for i, v in enumerate(vs)]) for j, (n, k, vs) in enumerate(table)]
put("parquet", "absent", parquet(holes, codec=1, dictionary=ids))
put("parquet", "codec", parquet(table, codec=6))
put("parquet", "encoding", parquet(table, encoding=5))
put("parquet", "rows", parquet(table, rows_said=1 << 40))
put("parquet", "few_columns", parquet(table[:3]))
put("parquet", "cut", parquet(table, codec=1, dictionary=ids)[:300])
put("parquet", "no_footer", b"PAR1" + b"\0" * 20 + b"PAR1")
