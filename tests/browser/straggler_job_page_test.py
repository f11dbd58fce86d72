# SPDX-License-Identifier: Apache-2.0
"""The page of a job's table of operations in a real browser: what it shows agrees with the JSON of the same run.
STEPSCOPE_CHROMIUM and STEPSCOPE_PROGRAM name the browser and the program."""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402


class StragglerJobPage(CommandPage):
    verb = "analyze"

    def table(self, *sizes):
        path = os.path.join(self.folder.name, "trace-P.csv")
        with open(path, "wb") as out:
            subprocess.run([sys.executable, os.path.join(HERE, "../../bench/make_job_table.py"), *map(str, sizes)],
                           stdout=out, check=True)
        return path

    def test_every_section_is_drawn_from_the_same_figures(self):
        data = self.show(self.table(4, 3, 4, 3))
        states = self.js("Object.fromEntries([...document.querySelectorAll('section')].map((e) => "
                         "[e.id, e.dataset.state]))")
        self.assertEqual(states, dict.fromkeys(["workers", "operations", "pipeline", "steps", "inputs"], "drawn"))
        self.assertEqual(self.texts("h1"), [data["answer"]["sentence"]])
        job = data["straggler_job"]
        cells = self.js("[...document.querySelectorAll('#workers .cell')].map((e) => Number(e.dataset.rank))")
        self.assertEqual(sorted(cells), sorted(w["rank"] for w in job["workers"]))
        self.assertEqual(len(cells), 12)
        self.assertEqual(self.texts("#operations tbody td")[:2],
                         [job["by_operation"][0]["name"], f'{job["by_operation"][0]["s"]:.4f} ×'])
        self.assertEqual(len(self.texts("#steps tbody tr")), 3)
        self.assertEqual(len(self.texts("#pipeline tbody tr")), job["stages"])

    def test_many_ranks_fit_a_phone(self):
        for width in (1280, 390):
            self.show(self.table(40, 2, 2, 1), width=width)
            self.assertLessEqual(self.js("document.documentElement.scrollWidth"), width)

    def test_one_stage_has_no_last_stage(self):
        self.show(self.table(2, 1, 2, 2))
        self.assertNotIn("Last stage", self.texts(".figures dt"))
        self.assertFalse(self.js("Boolean(document.getElementById('pipeline'))"))


if __name__ == "__main__":
    unittest.main()
