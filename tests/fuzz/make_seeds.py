#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_seeds.py DIR: writes the seeds of the reader's fuzz target: small traces, one for each thing that
trace writers do, well-formed or not."""
import gzip
import subprocess
import sys
from pathlib import Path

HEAD = '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "totalGlobalMem": 80, ' \
    '"computeMajor": 9, "computeMinor": 0, "numSms": 132}], "record_shapes": 1, "with_stack": 0, ' \
    '"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "nccl_version": "2.22", ' \
    '"pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 2, ' \
    '"ranks": [0, 1]}, {"pg_name": "1", "uid": "x", "ranks": "[0, 1]"}, {"ranks": "[0, ..."}]}, ' \
    '"host_name": "h", "cupti_version": 26, "baseTimeNanoseconds": 1711964646000000000, "traceEvents": [\n'
OP = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 10, "tid": 11, "ts": 1.5, "dur": 20.25, ' \
    '"args": {"External id": 3, "Sequence number": 7, "Fwd thread id": 0, "Input Dims": [[8, 16], [16, 4]], ' \
    '"Input type": ["float", "float"], "Concrete Inputs": ["", ""]}}'
RUN = '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": 2, "dur": 1, ' \
    '"args": {"External id": 3, "cbid": 211, "correlation": 9}}'
KERNEL = '{"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 6.125, "dur": 9, ' \
    '"args": {"External id": 3, "device": 0, "stream": 7, "correlation": 9, "grid": [1, 1, 1]}}'
COMM = '{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": 7, "dur": 9, ' \
    '"args": {"device": 0, "stream": 20, "Collective name": "allreduce", "In msg nelems": 8, "Out msg nelems": 8, ' \
    '"Group size": 2, "dtype": "Float", "In split size": "[]", "Out split size": "[]", ' \
    '"Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]", ' \
    '"Global rank start": 0, "Global rank stride": 1, "Seq": 4, "Src Rank": 0, "Dst Rank": 1, ' \
    '"Is asynchronized op": true}}'
COPY = '{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 20, "dur": 1, ' \
    '"args": {"bytes": "4096", "stream": "0x0"}}'
SYNC = '{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 21, "dur": 1, ' \
    '"args": {"stream": 7, "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 8}}'
MEMORY = '{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 10, "tid": 11, "ts": 3, ' \
    '"args": {"Total Reserved": 99, "Total Allocated": 50, "Device Id": 0, "Device Type": 1, ' \
    '"Addr": 18446744073709551615, "Bytes": -50}}'
RANGE = '{"ph": "X", "cat": "cuda_profiler_range", "name": "k", "pid": 0, "tid": 0, "ts": 6, "dur": 9, ' \
    '"args": {"smsp__inst.sum": 0.5, "bad": inf, "text": "1.5"}}'
NAMES = '{"name": "process_name", "ph": "M", "ts": 0, "pid": 10, "tid": 0, "args": {"name": "python"}}, ' \
    '{"name": "thread_name", "ph": "M", "ts": 0, "pid": 10, "tid": 11, "args": {"name": "main"}}'
FLOW = '{"ph": "s", "id": 9, "pid": 10, "tid": 11, "ts": 2, "cat": "ac2g", "name": "ac2g"}, ' \
    '{"ph": "f", "id": 9, "pid": 0, "tid": 7, "ts": 6, "cat": "ac2g", "name": "ac2g", "bp": "e"}'


def x(name, extra='', start=0):
    return f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 2, "ts": {start}, "dur": 5{extra}}}'


def edge(ph, ts, name='', pid=1, tid=1):
    named = f'"name": "{name}", ' if name else ''
    return f'{{{named}"ph": "{ph}", "pid": {pid}, "tid": {tid}, "ts": {ts}}}'


def wrap(*events, head='{"traceEvents": [', tail=']}'):
    return head + ',\n'.join(events) + tail


def merged():
    rank = '{{"ph": "M", "name": "process_name", "pid": {0}, "args": {{"name": "Rank {1} training loop process"}}}}'
    row = '{{"ph": "X", "cat": "{2}", "name": "n{1}", "pid": {0}, "tid": 1, "ts": {1}, "dur": 1, "args": {3}}}'
    events = []
    for pid, number in ((100, 0), (200, 1)):
        events += [rank.format(pid, number), row.format(pid, number, 'cpu_op', '{"Sequence number": 1}'),
                   row.format(pid, number, 'gpu_memcpy', '{"bytes": 1}'), row.format(pid, number, 'cuda_sync', '{}'),
                   row.format(pid, number, 'cuda_profiler_range', '{"metric": 2}'),
                   COMM.replace('"pid": 0', f'"pid": {pid}'), MEMORY.replace('"pid": 10', f'"pid": {pid}')]
    events += [x('nobody'), MEMORY.replace('"pid": 10', '"pid": 7'), '{"ph": "C", "name": "c", "ts": 1, "args": {"v": 1}}']
    ranks = '], "stepscopeRanks": [{"distributedInfo": {"rank": 0, "world_size": 2}, "host_name": "a"}, ' \
        '{"distributedInfo": {"rank": 1}}, 3]}'
    return wrap(*events, tail=ranks)


LONG = '"Call stack": "' + 'x.py(1): f;' * 7000 + '"'
SEEDS = {
    'full': HEAD + ',\n'.join([NAMES, OP, RUN, KERNEL, COMM, COPY, SYNC, MEMORY, RANGE, FLOW]) + '], "traceName": "t"}',
    'base_behind': wrap(OP, KERNEL, tail='], "distributedInfo": {"rank": 0}, "baseTimeNanoseconds": "12345678"}'),
    'bare': wrap(OP, KERNEL, head='[', tail=']'), 'bare_open': wrap(OP, KERNEL, head='[', tail=',\n'),
    'bare_then_text': wrap(OP, head='[', tail='] xyz'), 'bom': '\ufeff' + wrap(OP),
    'commas': wrap(OP + ',', KERNEL + ',,', tail=',]}'),
    'two_arrays': wrap(OP, tail='], "traceEvents": [' + KERNEL + ']}'),
    'quotes': wrap(x('a "b" c'), x('odd " quote', start=1), x('ends "', start=2), x('x", "y', start=3)),
    'backslash': wrap(x('path\\'), x('two\\\\', start=1), x('esc \\"q\\" \\u00e9 \\ud83d\\ude00 \\ud800 \\x', start=2),
                      x('end\\', ', "args": {"kind": "a"}', 3)),
    'control': wrap(x('a\tb\x01\x7f'), x('\u00e9', start=1)),
    'no_number': wrap(x('a', ', "args": {"blocks per SM": inf, "warps per SM": -nan}'), x('b').replace('"dur": 5', '"dur": nan'),
                      x('c').replace('"ts": 0', '"ts": inf')),
    'strings': wrap(x('a').replace('"ts": 0', '"ts": "1712.125"').replace('"dur": 5', '"dur": "3"').replace('"pid": 1', '"pid": "Spans"'),
                    x('b').replace('"tid": 2', '"tid": "12"')),
    'numbers': wrap(*(x('a').replace('"ts": 0', '"ts": ' + n) for n in
                      ('1e3', '1.23456', '.5', '5.', '-7', '99999999999999999999', '1e300', 'null', '12345678901234.5e-3', '+3'))),
    'durations': wrap(x('a').replace('"dur": 5', '"dur": -5'), x('b').replace(', "dur": 5', ''), x('c').replace('"ts": 0, ', ''),
                      x('d').replace('"dur": 5', '"dur": 9000000000000')),
    'edges': wrap(edge('B', 1, 'a'), edge('B', 2, 'b'), edge('E', 3), edge('E', 4, 'a'), edge('E', 5), edge('B', 6, 'c'),
                  edge('B', 7, 'd'), edge('E', 8, 'c'), edge('E', 9, 'other'), edge('B', 10, 'open'), edge('E', 1, 'z', tid=3)),
    'odd_events': wrap('1', '"text"', '[]', 'null', '{}', '{"ph": "XX"}', '{"ph": "?", "ts": 1}', '}', OP, '{"name": 3}',
                       '{"ph": "X", "ts": 1, "name": 5, "pid": nan}'),
    'no_cat': wrap(*('{"name": "%s", "ph": "X", "ts": 1, "dur": 1, "tid": 0, "pid": "%s", "args": {}}' % pair for pair in
                     (('aten::add', 'CPU functions'), ('ProfilerStep#1', 'CPU functions'), ('k', 'CUDA functions'),
                      ('Memcpy HtoD', 'CUDA functions'), ('Memset', 'CUDA functions'), ('x', 'other'))), head='[', tail=']'),
    'cats': wrap(*('{"name": "dma%d", "ph": "X", "ts": %d, "dur": 1, "pid": 3, "tid": 4, "cat": "%s"}' % (i, i, c) for i, c in
                   enumerate(('Operator', 'Kernel', 'Memcpy', 'Runtime', 'mtia_ccp_events', 'mtia_ccp_events', 'xpu_runtime',
                              'hpu_op', 'overhead', 'Trace', 'python_function', 'gpu_user_annotation', 'cuda_event', 'new')))),
    'order': '{"traceEvents": [{"args": {"correlation": 4, "device": 1}, "dur": 2, "ts": 1, "tid": 7, "pid": 1, '
             '"name": "k", "cat": "kernel", "ph": "X"}], "schemaVersion": 1}',
    'inner': wrap(x('a', ', "args": {"list": [{"ph": "X", "ts": 1}, {"name": "b"}, {"ph": "X", "ts": 2}], "deep": {"a": [[{}]]}}'),
                  x('b "q', ', "args": {"list": ["a "b" c", {"ph": "X"}], "x": {"y": [1, "z"]}}')),
    'cut_string': wrap(OP, tail=',\n{"ph": "X", "cat": "ker'), 'cut_args': wrap(OP, tail=',\n{"ph": "X", "args": {"list": [{"ph": "X", "ts'),
    'cut_tail': wrap(OP, tail='], "traceName": "/tm'), 'cut_brace': wrap(OP, tail=']'), 'cut_head': HEAD[:200],
    'damage': wrap(OP, '{"ph": "X", "name" 3}', '{"ph": "X", "args": {"Input Dims": [[1, 2}}', KERNEL, '{"ph": X: {"a"', OP),
    'head': '{"say": "a "b" c", "inf": inf, "info": "infra \x01", "path": "C:\\", "x": 1, "base": 1.5, "deep": '
            + '[' * 120 + ']' * 120 + ', "baseTimeNanoseconds": 1.5, "with_flops": true, "traceEvents": [' + OP + ']}',
    'behind': wrap(OP, tail=']} {"traceEvents": []}'), 'behind_bad': wrap(OP, tail='] x y'),
    'empty': '', 'space': ' \n', 'object': '{}', 'array': '[]', 'no_events': '{"a": [1, 2]}', 'text': 'hello', 'numbers_only': '[1, 2, 3]',
    'ints_only': '{"traceEvents": 5}', 'no_colon': '{"a" 1}', 'no_phase': '[{"a": 1}]', 'base_big': '{"baseTimeNanoseconds": -1, "traceEvents": [' + OP + ']}',
    'one_rank': wrap('{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "[rank 3] python"}}', x('a')),
    'merged': merged(), 'long': wrap(x('a', ', "args": {' + LONG + '}'), x('b "q', ', "args": {' + LONG + '}')),
}

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
for name, text in SEEDS.items():
    data = text.encode()
    (out / name).write_bytes(data)
plain = SEEDS['full'].encode()
packed = gzip.compress(plain, mtime=0)
halves = gzip.compress(plain[:900], mtime=0) + gzip.compress(plain[900:], mtime=0)
binary = {'gzip': packed, 'gzip_members': halves + b'\0' * 20, 'gzip_cut': packed[:-30], 'gzip_only_header': packed[:12],
          'gzip_then_text': packed + b'text', 'gzip_bad': packed[:60] + b'\xff' * 30 + packed[90:],
          'utf8': wrap(x('PLACE')).encode().replace(b'PLACE', b'\xff\xc3(\xe2\x82'),
          'nul': SEEDS['full'].encode()[:1200] + b'\0' * 300 + SEEDS['full'].encode()[1500:]}
frame = subprocess.run(['zstd', '-q', '-19', '-c'], input=plain, stdout=subprocess.PIPE, check=True).stdout
binary |= {'zstd': frame, 'zstd_frames': frame + frame, 'zstd_cut': frame[:-40], 'zstd_bad': frame[:40] + b'\xff' * 20 + frame[60:]}
for name, data in binary.items():
    (out / name).write_bytes(data)
