# SPDX-License-Identifier: Apache-2.0
"""The page of memory snapshots in a real browser: what it shows agrees with the JSON of the same run. STEPSCOPE_CHROMIUM,
STEPSCOPE_PROGRAM and STEPSCOPE_MAKE_SNAPSHOT name the browser, the program and what makes snapshots."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402


class MemoryPage(CommandPage):
    verb = "memory"

    def snapshot(self, kind, name="snapshot.pickle"):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as out:
            subprocess.run([os.environ["STEPSCOPE_MAKE_SNAPSHOT"], kind, "1", "pickle"], stdout=out, check=True)
        return path

    def states(self):
        return self.js("Object.fromEntries([...document.querySelectorAll('section')].map((e) => [e.id, e.dataset.state]))")

    def test_every_section_is_drawn_from_the_same_figures(self):
        data = self.show(self.snapshot("training"))
        sections = ["time", "findings", "holders", "flame", "fragments", "inputs"]
        self.assertEqual(self.states(), dict.fromkeys(sections, "drawn"))
        self.assertEqual(self.js("document.querySelector('h1').textContent"), data["answer"]["sentence"])
        shown = set(self.js("[...document.querySelectorAll('#time path[data-use]')].map((e) => e.dataset.use)"))
        timeline = data["devices"][0]["timeline"]
        self.assertEqual(shown, {u for p in timeline for u, b in p["by_use_bytes"].items() if b > 0})
        places = [h["place"] for h in data["devices"][0]["peak"]["holders"]]
        self.assertIn(places[0], self.js("document.querySelector('#holders tbody tr').textContent"))
        findings = self.js("[...document.querySelectorAll('#findings [data-finding]')].map((e) => e.dataset.finding)")
        self.assertEqual(findings, [f["id"] for f in data["devices"][0]["findings"]])

    def test_allocations_that_failed_are_listed(self):
        data = self.show(self.snapshot("short"))
        failed = data["devices"][0]["out_of_memory"]
        self.assertGreater(len(failed), 0)
        self.assertEqual(self.states()["shortages"], "drawn")
        self.assertEqual(self.js("document.querySelectorAll('#shortages tbody tr').length"), min(len(failed), 20))

    def test_each_device_can_be_chosen(self):
        self.show(self.snapshot("training", "rank0.pickle"), self.snapshot("noise", "rank1.pickle"))
        self.assertEqual(self.js("document.querySelectorAll('#time select option').length"), 2)


if __name__ == "__main__":
    unittest.main()
