# SPDX-License-Identifier: Apache-2.0
"""The page of a host profile in a real browser: what it shows agrees with the JSON of the same run. STEPSCOPE_CHROMIUM
and STEPSCOPE_PROGRAM name the browser and the program."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402

NOW = """MainThread;train (t.py:9);forward (m.py:3);item 20
MainThread;train (t.py:9);forward (m.py:3);at::mm 30
MainThread;train (t.py:9);__next__ (torch/utils/data/dataloader.py:9);_try_get_data (torch/utils/data/dataloader.py:1) 10
pt_autograd_0;backward (m.py:4);fetch_sub_module (c.py:332);synchronize (torch/cuda/streams.py:1) 25
pt_data_pin;get (queue.py:180) 60
"""
TIMED = """{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[
{"name":"forward","file":"m.py"},{"name":"take_gil"}]},"profiles":[{"type":"sampled","name":"main",
"unit":"microseconds","startValue":0,"endValue":1000,"samples":[[0],[0,1]],"weights":[200,800]}]}
"""
TRACE = """{"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":9,"tid":9,"ts":100,"dur":1000},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":110,"dur":5,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":120,"dur":400,
 "args":{"correlation":1,"device":0,"stream":7}}]}
"""
BEFORE = """MainThread;train (t.py:8);forward (m.py:2);item 60
pt_autograd_0;backward (m.py:4) 40
"""


class StacksPage(CommandPage):
    verb = "stacks"

    def profile(self, text, name="now.collapsed"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def states(self):
        return self.js("Object.fromEntries([...document.querySelectorAll('section')].map((e) => [e.id, e.dataset.state]))")

    def flame(self, script):
        """Where a bar of the flame graph is: the canvas is asked through a click at its place."""
        return self.js(f"(() => {{ const c = document.querySelector('.flame canvas'); "
                       f"const b = c.getBoundingClientRect(); {script} }})()")

    def test_every_section_is_drawn_from_the_same_figures(self):
        data = self.show(self.profile(NOW))
        self.assertEqual(self.states(), dict.fromkeys(["threads", "flame", "phases", "functions", "inputs"], "drawn"))
        self.assertEqual(self.js("document.querySelector('h1').textContent"), data["answer"]["sentence"])
        self.assertEqual(self.texts(".host-threads .name"), [t["name"] for t in data["threads"]])
        shown = set(self.js("[...document.querySelectorAll('.host-threads [data-phase]')].map((e) => e.dataset.phase)"))
        self.assertEqual(shown, {p["phase"] for t in data["threads"] for p in t["phases"]})
        labels = {p["label"] for p in data["phases"]}
        self.assertEqual(set(self.texts("#phases tbody .chip")), labels)

    def test_a_click_makes_a_bar_as_wide_as_the_graph(self):
        self.show(self.profile(NOW))
        click = ("c.dispatchEvent(new MouseEvent('click', {clientX: b.left + 8, clientY: b.top + 28, bubbles: true})); "
                 "return document.querySelector('#flame .picked').textContent;")
        self.assertIn("of all", self.flame(click))
        self.flame("c.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}));")
        self.assertEqual(self.js("document.querySelector('#flame .picked').textContent"), "")

    def test_the_search_says_what_matches(self):
        self.show(self.profile(NOW))
        self.js("(() => { const i = document.querySelector('#flame input'); i.value = 'forward'; "
                "i.dispatchEvent(new Event('input')); })()")
        self.assertIn("34.5", self.js("document.querySelector('#flame .picked').textContent"))  # 50 of 145

    def test_two_profiles_are_compared(self):
        data = self.show(self.profile(NOW), "--against", self.profile(BEFORE, "before.collapsed"))
        self.assertIsNotNone(data["against"])
        self.assertEqual(self.js("document.querySelector('#flame h2').textContent"), "What changed")
        self.assertIn("Change", self.texts("#phases th"))

    def test_beside_a_trace_each_phase_shows_what_the_device_did(self):
        data = self.show(self.profile(TIMED, "now.json"), "--trace", self.profile(TRACE, "trace.json"),
                         "--offset", "100us")
        joined = data["trace"]["profiles"][0]
        self.assertTrue(joined["joined"])
        self.assertEqual(self.states()["device"], "drawn")
        phases = [p for t in joined["threads"] for p in t["phases"]]
        rows = self.js("[...document.querySelectorAll('#device tbody tr')].map((r) => "
                       "[...r.querySelectorAll('[data-category]')].map((e) => e.dataset.category))")
        self.assertEqual(sorted(map(sorted, rows)), sorted(sorted(p["device"]) for p in phases))
        self.assertEqual(self.js("[...document.querySelectorAll('#device .finding')].map((e) => e.dataset.id)"),
                         ["gil_contention"])

    def test_what_cannot_be_joined_says_why(self):
        data = self.show(self.profile(NOW), "--trace", self.profile(TRACE, "trace.json"))
        why = data["trace"]["profiles"][0]["not_joined"]
        self.assertIn(why, self.js("document.querySelector('#device .missing').textContent"))

    def test_a_phone_needs_no_sideways_scrolling(self):
        self.show(self.profile(NOW), width=390, theme="dark")
        self.assertLessEqual(self.js("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    unittest.main()
