#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fault_table.py STEPSCOPE TEXT [--table]: what becomes of a training run whose rank dies or hangs, whose checkpoint is
damaged, whose disk is full. Each run must say what failed, leave no process behind, and end with the weights of a run
that nothing happened to, bit for bit. --table: all cases, as a table; without it a choice of them."""
import concurrent.futures
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

STEPSCOPE, TEXT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WHOLE = '--table' in sys.argv[3:]
STEPS = 6
PHASES = ['start', 'data', 'forward', 'backward', 'exchange', 'optimizer', 'checkpoint']
TRAIN = ['train', '--data', TEXT, '--preset', 'llama-tiny', '--micro-batch', '1', '--seq', '16', '--ranks', '2',
         '--zero', '3', '--peak-tflops', '0.1', '--quiet']


class Run:
    """A command in a folder of its own; lines of standard error with the seconds at which they came."""

    def __init__(self, folder, flags, before=None, limit=None, export=True, steps=STEPS):
        self.folder, self.lines = folder, []
        self.begin = time.monotonic()

        def prepare():
            if limit is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        # The folder's name identifies the processes.
        exports = ['--export', f'{folder}/weights.safetensors'] if export else ['--prompt', folder]
        self.process = subprocess.Popen([STEPSCOPE] + TRAIN + ['--steps', str(steps)] + flags + exports,
                                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=folder,
                                        preexec_fn=prepare)
        reader = threading.Thread(target=self.read)
        reader.start()
        if before:
            before(self)
        self.process.wait()
        reader.join()
        self.code = self.process.returncode

    def read(self):
        for line in self.process.stderr:
            self.lines.append((time.monotonic() - self.begin, line.rstrip()))

    def text(self):
        return '\n'.join(line for _, line in self.lines)

    def first(self, pattern, after=0.0):
        """(seconds, line) of the first line that matches."""
        return next(((t, line) for t, line in self.lines if t >= after and re.search(pattern, line)), None)

    def weights(self):
        path = f'{self.folder}/weights.safetensors'
        if not os.path.exists(path):
            return None
        with open(path, 'rb') as file:
            return hashlib.sha256(file.read()).hexdigest()

    def orphans(self):
        """Processes of this run that are left; they get a moment to end."""
        until = time.monotonic() + 20
        while True:
            left = []
            for pid in filter(str.isdigit, os.listdir('/proc')):
                try:
                    with open(f'/proc/{pid}/cmdline', 'rb') as file:
                        words = file.read()
                    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
                        zombie = file.read().rsplit(')', 1)[1].split()[0] == 'Z'
                except OSError:
                    continue
                if self.folder.encode() in words and not zombie:
                    left.append(pid)
            if not left or time.monotonic() > until:
                return left
            time.sleep(0.1)


class Wrong(Exception):
    pass


def need(truth, run, why):
    if not truth:
        raise Wrong(f'{why}: exit {run.code}\n{run.text()}')


def row(fault, run, message, seconds, sound):
    need(not run.orphans(), run, 'a process is left')
    equal = run.weights() == sound if sound else None
    need(equal is not False, run, 'other weights')
    return fault, message, f'{seconds:.1f}' if seconds is not None else '', {True: 'yes', None: 'n/a'}[equal]


def dying(folder, kind, phase, sound):
    """A rank is killed or stopped in step 4; step 2 and 4 have checkpoints, and the run starts again from one."""
    run = Run(folder, ['--checkpoint', f'{folder}/saved', '--checkpoint-every', '2', '--restarts', '1', '--inject',
                       f'{kind}:1:{phase}@4', '--deadline', '3s'])
    need(run.code == 0, run, 'it did not start again')
    injected = run.first('--inject: rank 1 gets')
    need(injected, run, 'nothing was injected')
    named = run.first(r'[Rr]ank 1\b', injected[0] + 1e-9)
    need(named, run, 'rank 1 is not named')
    # A death in the optimizer is noticed at the next collective, after the others' step.
    step = 'step [45]' if phase == 'optimizer' else 'step 4'
    need(phase == 'start' or re.search(step, named[1]), run, 'the step is not named')
    need(run.first('starting again'), run, 'it does not say that it starts again')
    again = run.first('no committed checkpoint' if phase == 'start' else 'going on from .*step')
    need(again, run, 'it does not say from where')
    return row(f'{"SIGKILL" if kind == "kill" else "SIGSTOP"} in {phase}', run, named[1], named[0] - injected[0], sound)


def supervisor_dies(folder):
    os.mkdir(f'{folder}/saved')

    def kill(run):
        while run.process.poll() is None and not os.listdir(f'{folder}/saved'):
            time.sleep(0.05)
        run.process.kill()
    run = Run(folder, ['--checkpoint', f'{folder}/saved', '--checkpoint-every', '1'], before=kill, steps=100000)
    return row('SIGKILL of the supervisor', run, 'all ranks end with it', None, None)


def resumed(folder, name, damage, pattern, sound):
    """A checkpoint is damaged; --resume says so and goes on from the one before."""
    first = Run(folder, ['--checkpoint', f'{folder}/saved', '--checkpoint-every', '2'], steps=4)
    need(first.code == 0, first, 'the first part')
    newest = sorted(d for d in os.listdir(f'{folder}/saved') if os.path.isdir(f'{folder}/saved/{d}'))[-1]
    damage(f'{folder}/saved/{newest}')
    run = Run(folder, ['--checkpoint', f'{folder}/saved', '--resume'])
    said = run.first(pattern)
    need(run.code == 0 and said, run, 'the damage is not named')
    need(run.first('going on from .*2$'), run, 'it did not go on from the checkpoint before')
    need(os.path.isdir(f'{folder}/saved/{newest}.damaged'), run, 'the damaged checkpoint was not kept')
    return row(name, run, said[1], said[0], sound)


def biggest(folder):
    return max((os.path.join(folder, f) for f in os.listdir(folder)), key=os.path.getsize)


def tear(folder):
    path = biggest(folder)
    os.truncate(path, os.path.getsize(path) // 2)


def flip(folder):
    path = biggest(folder)
    with open(path, 'r+b') as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def full_in_checkpoint(folder):
    """No file may grow beyond 64 KiB: parts of checkpoints are larger. Training goes on and fails at its end."""
    run = Run(folder, ['--checkpoint', f'{folder}/saved', '--checkpoint-every', '3', '--transport', 'threads'],
              limit=65536,
              export=False)
    need(run.code == 1 and run.first('not everything could be written'), run, 'training did not go on')
    said = run.first('saved')
    need(said, run, 'the checkpoint is not named')
    need('step' in said[1] or 'File too large' in said[1] or 'No space' in said[1], run, 'why is not said')
    need(not [d for d in os.listdir(f'{folder}/saved') if os.path.exists(f'{folder}/saved/{d}/COMMIT')], run,
         'a torn checkpoint was committed')
    return row('no room for a checkpoint', run, said[1], said[0], None)


def full_in_trace(folder):
    run = Run(folder, ['--trace', f'{folder}/traces', '--trace-steps', '1,1,3,1', '--transport', 'threads'], limit=512,
              export=False)
    said = run.first('traces')
    need(run.code == 1 and said, run, 'the trace is not named')
    return row('no room for a trace', run, said[1], said[0], None)


def main():
    top = tempfile.mkdtemp(prefix='stepscope-faults-')
    failed = []
    try:
        number = iter(range(1000))

        def folder():
            path = f'{top}/{next(number)}'
            os.mkdir(path)
            return path

        sound_run = Run(folder(), [])
        need(sound_run.code == 0, sound_run, 'the run that nothing happens to')
        sound = sound_run.weights()
        kills = PHASES if WHOLE else ['start', 'exchange', 'checkpoint']
        stops = PHASES if WHOLE else ['backward']
        cases = [lambda phase=p: dying(folder(), 'kill', phase, sound) for p in kills]
        cases += [lambda phase=p: dying(folder(), 'stop', phase, sound) for p in stops]
        cases += [lambda: supervisor_dies(folder()),
                  lambda: resumed(folder(), 'torn checkpoint', tear, r'skipping .*the file ends here', sound),
                  lambda: resumed(folder(), 'a bit flipped in a checkpoint', flip, r'skipping .*(checksum|cannot read its part)', sound),
                  lambda: full_in_checkpoint(folder()), lambda: full_in_trace(folder())]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(case) for case in cases]:
                try:
                    fault, message, seconds, equal = future.result()
                    print(f'{fault} | {message.replace(top, "…")} | {seconds} | {equal}', flush=True)
                except Wrong as wrong:
                    failed.append(str(wrong))
                    print('WRONG:', wrong, flush=True)
        # Other tests keep folders there while this one runs.
        segments = [f for f in os.listdir('/dev/shm') if 'stepscope' in f and os.path.isfile(f'/dev/shm/{f}')]
        if segments:
            failed.append('segments')
            print('WRONG: segments are left:', segments)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    sys.exit(1 if failed else 0)


main()
