# SPDX-License-Identifier: Apache-2.0
"""Each rule of oracles.py finds its fault, and leaves a sound run alone. run.py finds programs that crash, hang and eat
memory, and gives each number the same case twice."""
import os
import stat
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import cases
import mutate_arguments
import oracles
import run
import seeds
from oracles import Ended, judge

PROGRAM = sys.argv.pop(1)
CASE = cases.Case(0, "analyze", "kineto", {"a.json": b"{}"}, ["analyze", "a.json", "--json", "out.json"],
                  {"--json": "out.json"})
SOUND = Ended(0, 0.1, False, 50_000_000, b"A step takes 3.2 ms.\n", b"")
REFUSED = replace(SOUND, code=1, out=b"", err=b"stepscope: a.json: byte 3: no known trace format; check the path\n")


def faults(ended=SOUND, case=CASE, written=b'{"a": 1}'):
    return judge(case, ended, 1_000_000_000, lambda name: written)


def error(text, code=1, case=CASE):
    return faults(replace(REFUSED, code=code, err=b"stepscope: " + text + b"\n"), case)


class Rules(unittest.TestCase):
    def test_sound_runs_have_no_fault(self):
        self.assertEqual(faults(), [])
        self.assertEqual(faults(REFUSED), [])
        self.assertEqual(error(b"a.json: line 2: field \"x\" must be a number from 1 to 9"), [])
        self.assertEqual(error(b"--tp = 3 is no divisor of 8; give another", 2), [])

    def test_how_a_run_ends(self):
        self.assertEqual(faults(replace(SOUND, late=True)), ["hang"])
        self.assertIn("signal 11", faults(replace(SOUND, code=-11)))
        self.assertIn("exit 134", faults(replace(SOUND, code=134)))
        self.assertIn("memory", faults(replace(SOUND, bytes=1_000_000_001)))
        self.assertTrue(faults(replace(REFUSED, err=b"stepscope: a.json: out of memory; give more\n")))

    def test_a_remedy_names_flags_of_its_verb(self):
        self.assertEqual(error(b"a.json: no step; give --step-annotation NAME"), [])
        self.assertTrue(error(b"a.json: no step; give --gpus-per-nodes N"))
        self.assertTrue(error(b"a.json: no step; give --ds-config FILE"))
        self.assertEqual(error(b"a.json: no step; stepscope predict MODEL --ds-config FILE reads it"), [])
        self.assertTrue(error(b"a.json: no step; stepscope predict MODEL --from FILE reads it"))

    def test_silence(self):
        self.assertIn("exit 1 without a message", faults(replace(REFUSED, err=b"")))
        self.assertIn("exit 0 with nothing on standard output", faults(replace(SOUND, out=b"")))
        self.assertTrue(faults(replace(SOUND, err=b"stepscope: a.json: byte 1: damaged; copy it\n")))
        self.assertEqual(faults(written=None), ["exit 0 without the output of --json"])
        self.assertEqual(faults(written=b""), ["exit 0 without the output of --json"])
        self.assertEqual(faults(REFUSED, written=b""), ["the output of --json is empty"])
        with tempfile.TemporaryDirectory() as folder:
            csv = replace(CASE, outputs={"--csv": folder})
            self.assertEqual(faults(case=csv), ["exit 0 without the tables of --csv"])
            Path(folder, "steps.csv").write_text("step,ns\n1,2\n")
            self.assertEqual(faults(case=csv), [])
            Path(folder, "steps.csv").write_text("step,ns\n1,nan\n")
            self.assertEqual(faults(case=csv), ["a table of --csv has nan or inf"])
            Path(folder, "steps.csv").write_text("rank,name,ns\n1,NaN,1\n")
            self.assertEqual(faults(case=csv), [])

    def test_words(self):
        for text in (b"MFU nan %\n", b"inf GB/s\n", b"a -inf b\n"):
            self.assertIn("standard output has nan or inf", faults(replace(SOUND, out=text)))
        for text in (b"info: nano, infinite banana nan.json\n", b'of "nan" and `inf`\n'):
            self.assertEqual(faults(replace(SOUND, out=text)), [])
        named = replace(CASE, arguments=["compare", "nan", "b.log"])
        self.assertEqual(faults(replace(SOUND, out=b"  A nan  2\n"), named), [])
        names = replace(CASE, files={"a.json": b'{"name": "a inf b"}'})
        self.assertEqual(faults(replace(SOUND, out=b"a inf b  2\n"), names), [])
        self.assertTrue(faults(replace(SOUND, out=b"a inf b  2\n"), replace(names, verb="check")))
        valued = replace(CASE, arguments=["plan", "gpt2", "--price=nan%"])
        self.assertEqual(faults(replace(SOUND, out=b"--price: nan% is no price\n"), valued), [])
        self.assertTrue(faults(replace(SOUND, out=b"MFU nan %\n"), valued))
        self.assertIn("standard output has a control character", faults(replace(SOUND, out=b"a\x1b[2Jb\n")))
        self.assertIn("standard output has a control character", faults(replace(SOUND, out="a\u202eb\n".encode())))
        self.assertIn("standard error is no UTF-8", faults(replace(REFUSED, err=b"stepscope: a.json: \xff; check it\n")))

    def test_json(self):
        self.assertEqual(faults(written=b'{"a": NaN}'), ["--json: JSON has NaN"])
        self.assertEqual(faults(written=b'{"a": 1e999}'), ["--json: JSON has a number without a finite value"])
        self.assertEqual(faults(written=b'{"a": 1, "a": 2}'), ["--json: a key stands twice in an object of JSON"])
        self.assertEqual(faults(written=b'{"a": "\xff"}'), ["--json: JSON is no UTF-8"])
        self.assertEqual(faults(written=b'{"a": 1'), ["--json: JSON is no JSON"])
        to_output = replace(CASE, outputs={"--json": "-"})
        self.assertEqual(faults(replace(SOUND, out=b"{"), to_output), ["--json -: JSON is no JSON"])

    def test_messages(self):
        self.assertTrue(any("no place" in f for f in error(b"something is wrong; check it")))
        self.assertTrue(any("no remedy" in f for f in error(b"a.json: byte 3: is odd")))
        self.assertTrue(any("does not begin" in f for f in faults(replace(REFUSED, err=b"a.json: odd; check it\n"))))
        self.assertTrue(any("blames" in f for f in error(b"a.json: byte 3: odd; check it", 2)))
        self.assertEqual(error(b"a.json: byte 3: odd; check it", 2, replace(CASE, words_changed=True)), [])


class Runs(unittest.TestCase):
    def ended(self, script):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "program")
            path.write_text("#!/bin/sh\n" + script)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
            case = cases.Case(0, "analyze", "kineto", {"d/a.json": b"{}"}, ["analyze", "d/a.json"])
            return run.run_case(str(path), case, seconds=1)

    def test_a_program_is_watched(self):
        self.assertEqual(self.ended("cat d/a.json")[1], [])
        self.assertEqual(self.ended("kill -SEGV $$")[1], ["signal 11"])
        late, found = self.ended("sleep 60 & wait")
        self.assertEqual(found, ["hang"])
        self.assertLess(late.seconds, 20)
        self.assertEqual(self.ended("exit 7")[1][0], "exit 7")
        for said in ("a.json: is not analysed: stepscope has a bug (a.cc:1: x); please report it",
                     "a.cc:1: x; this is a bug of stepscope, please report it"):
            self.assertIn("a failed check: stepscope: " + said, self.ended(f"echo 'stepscope: {said}' >&2; exit 1")[1])
        before = os.getcwd()
        self.ended("true")
        self.assertEqual(os.getcwd(), before)

    def test_a_number_is_a_case(self):
        flags = mutate_arguments.flags_of(run.ROOT)
        with tempfile.TemporaryDirectory() as folder:
            all_seeds, sides = seeds.all_seeds(run.ROOT, PROGRAM, folder)
        made = [[cases.fingerprint(cases.make(n, seed, all_seeds, sides, flags)) for n in range(60)] for seed in (1, 1, 2)]
        self.assertEqual(made[0], made[1])
        self.assertNotEqual(made[0], made[2])
        self.assertGreater(len(set(made[0])), 55)
        verbs = {s.verb for s in all_seeds}
        self.assertLessEqual({"analyze", "whatif", "check", "memory", "hang", "digest", "stacks", "compare", "sweep", "runs", "live", "predict", "plan",
                              "calibrate", "train"}, verbs)


if __name__ == "__main__":
    unittest.main()
