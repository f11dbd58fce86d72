# SPDX-License-Identifier: Apache-2.0
"""The page of a prediction in a real browser: what it shows agrees with the JSON of the same run. STEPSCOPE_CHROMIUM
and STEPSCOPE_PROGRAM name the browser and the program."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402

GPT3 = ["gpt3-175b", "--machine", "a100_sxm_80gb", "--global-batch", "1536", "--recompute", "selective"]


class PredictPage(CommandPage):
    verb = "predict"

    def test_every_section_is_drawn_from_the_same_figures(self):
        data = self.show(*GPT3, "--gpus", "1024", "--tp", "8", "--pp", "16", "--vary", "zero=0,1")
        states = self.js("Object.fromEntries([...document.querySelectorAll('section')].map((e) => "
                         "[e.id, e.dataset.state]))")
        self.assertEqual(states, dict.fromkeys(
            ["account", "memory", "comparison", "roofline", "operations", "formulas"], "drawn"))
        self.assertEqual(self.js("document.querySelector('h1').textContent"), data["answer"]["sentence"])
        self.assertIn("80\u202f%: ", self.texts(".figures small")[0])
        shown = self.js("[...document.querySelectorAll('#account [data-term]')].map((e) => e.dataset.term)")
        self.assertEqual(set(shown), {"all"} | {t["name"] for t in data["step_terms"] if t["ns"]})
        drawn = self.js("[...document.querySelectorAll('.roofline circle')].map((e) => e.dataset.operation)")
        self.assertEqual(sorted(drawn), sorted(r["name"] for r in data["layers"] if r["intensity"]))
        self.assertEqual(self.js("document.querySelectorAll('#comparison tbody tr').length"), 2)

    def test_the_waterfall_ends_where_the_step_is_used_up(self):
        self.show(*GPT3, "--gpus", "1024", "--tp", "8", "--pp", "16")
        left = self.js("parseFloat([...document.querySelectorAll('#account .fall-row .fill')].pop().style.left)")
        self.assertAlmostEqual(left, 0, places=6)

    def test_the_percentages_sum_to_a_hundred_but_for_their_rounding(self):
        self.show(*GPT3, "--gpus", "1024", "--tp", "8", "--pp", "16")
        for section in ("account", "memory"):
            shown = self.js(f"[...document.querySelectorAll('#{section} .fall-row .percent')].map((e) => e.textContent)")
            tenths = [0 if "<" in t else round(10 * float(re.sub("[^0-9.]", "", t))) for t in shown]
            whole = 2000 if section == "account" else 1000  # the first row is the step
            self.assertLessEqual(abs(sum(tenths) - whole), len(tenths) / 2, shown)

    def test_no_label_of_the_roofline_lies_on_another_or_on_the_roof(self):
        for width in (1280, 390):
            self.show("llama-3-70b", "--machine", "h100_sxm_80gb", "--gpus", "512", "--global-batch", "512", "--seq",
                      "8192", "--tp", "8", "--sequence-parallel", "--pp", "4", width=width)
            boxes = self.js("[...document.querySelectorAll('.roofline text:not([text-anchor=middle])')].map((e) => {"
                            "const b = e.getBoundingClientRect(); return [e.textContent, b.left, b.top + 3, b.right, "
                            "b.bottom - 3]; })")
            self.assertGreater(len(boxes), 8)
            for i, (name, left, top, right, bottom) in enumerate(boxes):
                for other, *o in boxes[:i]:
                    apart = right <= o[0] or o[2] <= left or bottom <= o[1] or o[3] <= top
                    self.assertTrue(apart, f"{name} lies on {other} at {width}")
            over = self.js("(() => { const roof = document.querySelector('.roofline .roof'); const n = "
                           "roof.getTotalLength(); const m = roof.getScreenCTM(); const on = []; for (let l = 0; l < n; "
                           "l += 2) { const p = roof.getPointAtLength(l).matrixTransform(m); for (const e of "
                           "document.querySelectorAll('.roofline text.ink')) { const b = e.getBoundingClientRect(); if "
                           "(p.x > b.left && p.x < b.right && p.y > b.top + 3 && p.y < b.bottom - 3) "
                           "on.push(e.textContent); } } return [...new Set(on)]; })()")
            self.assertEqual(over, [])

    def test_memory_that_lacks_is_shown_as_such(self):
        data = self.show(*GPT3, "--gpus", "8", "--tp", "8", code=1)  # it does not fit
        self.assertFalse(data["memory"]["fits"])
        self.assertTrue(self.js("!!document.querySelector('[data-memory=lacking]')"))
        self.assertFalse(self.js("!!document.querySelector('[data-memory=spare]')"))

    def test_the_tables_of_a_layer_are_on_the_page(self):
        notebook = os.path.join(os.environ["STEPSCOPE_EXAMPLES"], "notebook")
        data = self.show(os.path.join(notebook, "model.json"), "--machine", os.path.join(notebook, "machine.json"),
                         "--plan", os.path.join(notebook, "plan.json"), "--layers", "--conventions", "notebook")
        self.check_words()
        tables = self.js("[...document.querySelectorAll('#layers table')].map((t) => "
                         "[...t.querySelectorAll('tbody tr')].map((r) => r.firstChild.textContent))")
        self.assertEqual(tables, [[r["layer"] for r in t["rows"]] for t in data["layer_tables"]])
        self.assertIn("464", self.texts("#layers tbody tr:nth-child(2) td:nth-child(2)")[0])  # GFLOP of qkv_proj

    def test_a_phone_needs_no_sideways_scrolling(self):
        self.show(*GPT3, "--gpus", "1024", "--tp", "8", "--pp", "16", width=390, theme="dark")
        self.assertLessEqual(self.js("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    unittest.main()
