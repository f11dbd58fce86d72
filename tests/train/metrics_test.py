#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""metrics_test.py STEPSCOPE TEXT: scrapes `stepscope train --metrics 0` while it trains, holds what it says against
the grammar of OpenMetrics 1.0 (github.com/OpenObservability/OpenMetrics), and takes a port that is taken."""
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

NAME = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
NUMBER = re.compile(r'[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[Ii]nf(?:inity)?|[Nn]a[Nn]')
SUFFIXES = {
    'counter': {'_total', '_created'},
    'gauge': {''},
    'histogram': {'_bucket', '_count', '_sum', '_created'},
    'summary': {'', '_count', '_sum', '_created'},
    'info': {'_info'},
    'stateset': {''},
    'unknown': {''},
}


def fail(why, line):
    raise SystemExit(f'no OpenMetrics: {why}: {line!r}')


def labels_of(text, line):
    """The labels between braces, in order."""
    found, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        if not match or match[1] in found:
            fail('a label', line)
        found[match[1]] = match[2]
        at = match.end()
        if at < len(text):
            if text[at] != ',' or at + 1 == len(text):
                fail('between labels', line)
            at += 1
    return found


def parse(text):
    """{family: {'type', 'samples': {(name, labels): value}}}; exits where the grammar is broken."""
    if not text.endswith('# EOF\n') or text.count('# EOF') != 1:
        fail('it must end in # EOF', text[-40:])
    families, current = {}, None
    for line in text[:-len('# EOF\n')].splitlines():
        if line.startswith('#'):
            words = line.split(' ', 3)
            if len(words) != 4 or words[1] not in ('TYPE', 'UNIT', 'HELP') or not NAME.fullmatch(words[2]):
                fail('a descriptor', line)
            if words[2] != current:
                if words[2] in families:
                    fail('a family in two places', line)
                current = words[2]
                families[current] = {'samples': {}}
            family = families[current]
            if words[1] in family or family['samples']:
                fail('a descriptor twice, or behind samples', line)
            family[words[1]] = words[3]
            if words[1] == 'TYPE' and words[3] not in SUFFIXES:
                fail('a type', line)
            if words[1] == 'UNIT' and not current.endswith('_' + words[3]):
                fail('a unit that the name does not end in', line)
            continue
        match = re.fullmatch(r'([^{ ]+)(?:\{(.*)\})? (\S+)(?: (\S+))?', line)
        if not match or not NAME.fullmatch(match[1]) or not NUMBER.fullmatch(match[3]):
            fail('a sample', line)
        if current is None or not match[1].startswith(current):
            fail('a sample without its family', line)
        family, suffix = families[current], match[1][len(current):]
        kind = family.get('TYPE', 'unknown')
        labels = labels_of(match[2] or '', line)
        value = float(match[3])
        if suffix not in SUFFIXES[kind]:
            fail(f'a suffix of {kind}', line)
        if kind == 'counter' and not value >= 0:
            fail('a counter below zero', line)
        if kind == 'info' and value != 1:
            fail('an info is 1', line)
        if (suffix == '_bucket') != ('le' in labels) or (kind == 'summary' and suffix == '') != ('quantile' in labels):
            fail('le or quantile', line)
        key = (match[1], tuple(sorted(labels.items())))
        if key in family['samples']:
            fail('a sample twice', line)
        family['samples'][key] = value
    for name, family in families.items():
        if family.get('TYPE') == 'histogram':
            buckets = [(dict(k[1])['le'], v) for k, v in family['samples'].items() if k[0].endswith('_bucket')]
            values = [v for _, v in buckets]
            count = family['samples'][(name + '_count', ())]
            if values != sorted(values) or buckets[-1] != ('+Inf', count):
                fail('buckets', name)
    return families


def counters(families):
    return {key: value for family in families.values() if family.get('TYPE') == 'counter'
            for key, value in family['samples'].items()}


def scrape(port):
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=20) as answer:
        assert answer.headers['Content-Type'].startswith('application/openmetrics-text; version=1.0.0'), answer.headers
        return answer.read().decode()


def main():
    stepscope, text = map(os.path.abspath, sys.argv[1:3])
    common = [stepscope, 'train', '--data', text, '--preset', 'llama-tiny', '--micro-batch', '2', '--seq', '32', '--quiet',
              '--peak-tflops', '0.1', '--ranks', '2', '--zero', '3']
    with tempfile.TemporaryDirectory() as folder:
        job = subprocess.Popen(common + ['--steps', '100000', '--metrics', '0'], stderr=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, text=True, cwd=folder)
        try:
            said = ''
            for said in job.stderr:  # ranks that share cores are reported first
                if said.startswith('metrics: '):
                    break
            port = int(re.search(r'^metrics: http://127\.0\.0\.1:(\d+)/metrics$', said)[1])
            until = time.monotonic() + 120
            seen = []
            while len(seen) < 2 and time.monotonic() < until:
                families = parse(scrape(port))
                steps = families.get('stepscope_steps', {'samples': {}})['samples']
                if steps.get(('stepscope_steps_total', ()), 0) > 0 and (not seen or counters(seen[0]) != counters(families)):
                    seen.append(families)
                time.sleep(0.2)
            assert len(seen) == 2, 'it did not go on'
            first, later = counters(seen[0]), counters(seen[1])
            for key, value in first.items():
                assert later[key] >= value, (key, value, later[key])
            for family in ('stepscope_activity_seconds', 'stepscope_exposed_communication_seconds',
                           'stepscope_memory_bytes'):
                ranks = {dict(key[1])['rank'] for key in seen[1][family]['samples']}
                assert ranks == {'0', '1'}, (family, ranks)
            job_labels = [dict(key[1]) for key in seen[1]['stepscope_job']['samples']]
            assert job_labels == [{'world': '2', 'ranks': '2'}], job_labels
            for gauge in ('loss', 'learning_rate', 'step', 'tokens_per_second', 'mfu_ratio'):
                assert len(seen[1]['stepscope_' + gauge]['samples']) == 1, gauge
        finally:
            job.terminate()
            job.communicate()
        assert job.returncode == 130, job.returncode
        # A taken port: one line names it, at once.
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            taken.listen()
            port = taken.getsockname()[1]
            refused = subprocess.run(common + ['--steps', '5', '--metrics', str(port)], capture_output=True, text=True,
                                     cwd=folder, check=False)
        lines = [line for line in refused.stderr.splitlines() if 'share' not in line]
        assert refused.returncode == 1, refused
        assert len(lines) == 1 and f'127.0.0.1:{port}' in lines[0] and 'choose another' in lines[0], lines
        # A file that is replaced as a whole.
        open_to_all = subprocess.run(common + ['--steps', '3', '--metrics', '0.0.0.0:0'], capture_output=True, text=True,
                                     cwd=folder, check=False)
        assert open_to_all.returncode == 1 and '--token-file' in open_to_all.stderr, open_to_all.stderr
        done = subprocess.run(common + ['--steps', '3', '--metrics', 'metrics.txt'], capture_output=True, text=True,
                              cwd=folder, check=False)
        assert done.returncode == 0, done.stderr
        with open(f'{folder}/metrics.txt', encoding='utf-8') as file:
            written = parse(file.read())
        assert written['stepscope_steps']['samples'][('stepscope_steps_total', ())] == 3
    print('scraped twice while training, 2 ranks each; a taken port is refused; a file holds all 3 steps')


main()
