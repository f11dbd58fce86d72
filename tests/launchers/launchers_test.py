# SPDX-License-Identifier: Apache-2.0
"""launchers_test.py STEPSCOPE: the recipes of docs/how-to/analyze-many-ranks.md, each with the launcher that it names if
this machine has it, and the analysis that mpirun shares among processes."""

import filecmp
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = ""
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def has_mpi():
    """Whether mpirun starts here and the program has MPI."""
    if not shutil.which("mpirun"):
        return False
    done = subprocess.run([*MPIRUN, "-n", "2", "true"], capture_output=True, check=False)
    return done.returncode == 0


def has_slurm():
    if not shutil.which("srun"):
        return False
    done = subprocess.run(
        ["timeout", "20", "srun", "-n", "2", "true"], capture_output=True, check=False
    )
    return done.returncode == 0


class Launchers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = cls.kept.name
        make = [sys.executable, os.path.join(ROOT, "bench", "make_large_job.py"), "128", cls.folder]
        subprocess.run(make, check=True, capture_output=True)
        cls.traces = os.path.join(cls.folder, "traces")
        cls.digests = os.path.join(cls.folder, "digests")
        subprocess.run(
            [PROGRAM, "digest", cls.traces, "--out", cls.digests], check=True, capture_output=True
        )

    def shell(self, script, out):
        path = os.path.dirname(os.path.abspath(PROGRAM)) + ":" + os.environ["PATH"]
        env = {
            **os.environ,
            "PATH": path,
            "TRACES": self.traces,
            "OUT": os.path.join(self.folder, out),
        }
        done = subprocess.run(
            ["bash", "-c", script],
            capture_output=True,
            text=True,
            env=env,
            timeout=200,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def same_digests(self, out):
        made = sorted(
            os.path.relpath(p, os.path.join(self.folder, out))
            for p in glob.glob(f"{self.folder}/{out}/*")
        )
        expected = sorted(os.listdir(self.digests))
        self.assertEqual(made, expected)
        equal, _, _ = filecmp.cmpfiles(
            self.digests, os.path.join(self.folder, out), expected, shallow=False
        )
        self.assertEqual(len(equal), len(expected))

    def test_xargs(self):
        script = "find $TRACES -name '*.json.gz' -print0 | xargs -0 -n 16 -P 2 stepscope digest --threads 1 --out $OUT"
        self.shell(script, "by_xargs")
        self.same_digests("by_xargs")
        whole = {p: os.stat(p).st_mtime_ns for p in glob.glob(f"{self.folder}/by_xargs/*")}
        lost, cut = sorted(whole)[3:5]
        os.remove(lost)
        with open(cut, "r+b") as file:
            file.truncate(1000)
        self.shell(script, "by_xargs")  # makes what is lost or broken, and nothing else
        self.same_digests("by_xargs")
        new = {p: os.stat(p).st_mtime_ns for p in whole}
        self.assertEqual({p for p in whole if new[p] != whole[p]}, {lost, cut})

    def test_mpirun_digest(self):
        if not has_mpi():
            self.skipTest("no mpirun")
        words = " ".join(MPIRUN)
        self.shell(
            f'{words} -n 3 bash -c \'find $TRACES -name "*.json.gz" | sort'
            ' | awk "NR % $OMPI_COMM_WORLD_SIZE == $OMPI_COMM_WORLD_RANK"'
            " | xargs stepscope digest --threads 1 --out $OUT'",
            "by_mpirun",
        )
        self.same_digests("by_mpirun")

    def test_slurm_digest(self):
        if not has_slurm():
            self.skipTest("no Slurm")
        self.shell(
            'srun -n 2 bash -c \'find $TRACES -name "*.json.gz" | sort'
            ' | awk "NR % $SLURM_NTASKS == $SLURM_PROCID" | xargs stepscope digest --threads 1 --out $OUT\'',
            "by_slurm",
        )
        self.same_digests("by_slurm")

    def test_an_index_digest(self):
        # As a pod of an indexed Job of Kubernetes runs it.
        for index in range(3):
            self.shell(
                f"export JOB_COMPLETION_INDEX={index} PODS=3; find $TRACES -name '*.json.gz' | sort"
                ' | awk "NR % $PODS == $JOB_COMPLETION_INDEX" | xargs stepscope digest --threads 1 --out $OUT',
                "by_index",
            )
        self.same_digests("by_index")

    def test_a_missing_and_a_broken_rank_are_named(self):
        out = os.path.join(self.folder, "holes")
        shutil.copytree(self.digests, out)
        os.remove(os.path.join(out, "rank5_trace.json.gz.digest"))
        broken = os.path.join(out, "rank9_trace.json.gz.digest")
        with open(broken, "r+b") as file:
            file.truncate(2000)
        done = subprocess.run(
            [PROGRAM, "analyze", out, "--json", "-"], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("rank9_trace.json.gz.digest", done.stderr)
        tree = json.loads(done.stdout)
        self.assertEqual(len(tree["ranks"]), 126)
        self.assertTrue(
            any("126" in w or "rank" in w and "128" in w for w in tree["warnings"]),
            tree["warnings"],
        )

    def outputs(self, words, name, inputs=None, program=("analyze",), environment=None):
        path = os.path.join(self.folder, name)
        done = subprocess.run(
            [*words, PROGRAM, program[0], inputs or self.digests, *program[1:], "--json", path],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            # mpirun gives the first process a terminal.
            env={**os.environ, "NO_COLOR": "1", **(environment or {})},
        )
        # The first line has the time that reading took.
        text = done.stdout.split("\n", 1)[-1].replace(path, "PATH")
        with open(path, "rb") as file:
            return done.returncode, text, file.read()

    def test_mpirun_shares_an_analysis(self):
        if not has_mpi():
            self.skipTest("no mpirun")
        alone = self.outputs([], "alone.json")
        self.assertEqual(alone[0], 0)
        raw_alone = self.outputs([], "raw_alone.json", self.traces)
        change = ("whatif", "--change", "compute:0.9")
        changed = self.outputs([], "whatif1.json", program=change)
        # As on one host, where one process has the cores of all, and as on hosts of their own.
        for place in (None, {"STEPSCOPE_PROCESSES": "apart"}):
            for processes in ("2", "3"):
                words = [*MPIRUN, "-n", processes]
                shared = self.outputs(words, f"shared{processes}.json", environment=place)
                self.assertEqual(shared, alone)
            words = [*MPIRUN, "-n", "2"]
            raw = self.outputs(words, "raw.json", self.traces, environment=place)
            self.assertEqual(raw[1:], raw_alone[1:])
            again = self.outputs(words, "whatif2.json", program=change, environment=place)
            self.assertEqual(again, changed)

    def test_processes_with_different_inputs_are_refused(self):
        if not has_mpi():
            self.skipTest("no mpirun")
        done = subprocess.run(
            [*MPIRUN, "-n", "1", PROGRAM, "analyze", self.digests]
            + [":", "-n", "1", PROGRAM, "analyze", self.traces],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("were given different inputs", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_srun_shares_an_analysis(self):
        if not has_slurm():
            self.skipTest("no Slurm")
        done = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True, check=False)
        if "pmix" not in done.stdout + done.stderr:
            self.skipTest("Slurm without PMIx")
        self.assertEqual(
            self.outputs(["srun", "--mpi=pmix", "-n", "2"], "srun.json"),
            self.outputs([], "alone2.json"),
        )

    def test_only_the_first_process_speaks(self):
        if not has_mpi():
            self.skipTest("no mpirun")
        done = subprocess.run(
            [*MPIRUN, "-n", "3", PROGRAM, "analyze", self.folder + "/none"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("no such file or directory"), 1, done.stderr)

    def test_a_process_that_dies_ends_the_others(self):
        if not has_mpi():
            self.skipTest("no mpirun")
        for place in ({}, {"STEPSCOPE_PROCESSES": "apart"}):
            with self.subTest(place=place):
                self.kill_one(place)

    def kill_one(self, place):
        begin = time.monotonic()
        with subprocess.Popen(
            [*MPIRUN, "-n", "2", PROGRAM, "analyze", self.traces],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **place},
        ) as run:
            self.kill_second(run)
            _, told = run.communicate(timeout=100)
        self.assertNotEqual(run.returncode, 0)
        self.assertLess(time.monotonic() - begin, 90)
        self.assertTrue("cannot share the work" in told or "signal 9" in told, told)

    def kill_second(self, run):
        """Kills the process with rank 1 as soon as it runs the program."""
        while run.poll() is None:
            for path in glob.glob("/proc/[0-9]*/environ"):
                try:
                    with open(path, "rb") as file:
                        variables = file.read().split(b"\0")
                    with open(os.path.join(os.path.dirname(path), "cmdline"), "rb") as file:
                        words = file.read().split(b"\0")
                except OSError:
                    continue
                ours = PROGRAM.encode() in words and self.traces.encode() in words
                if ours and b"OMPI_COMM_WORLD_RANK=1" in variables:
                    time.sleep(0.3)
                    os.kill(int(path.split("/")[2]), signal.SIGKILL)
                    return


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
