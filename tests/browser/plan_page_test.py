# SPDX-License-Identifier: Apache-2.0
"""The page of a search for plans in a real browser: what it shows agrees with the JSON of the same run. STEPSCOPE_CHROMIUM
and STEPSCOPE_PROGRAM name the browser and the program."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402

GPT3 = ["gpt3-175b", "--machine", "a100_sxm_80gb", "--global-batch", "128", "--fix", "tp=8"]


class PlanPage(CommandPage):
    verb = "plan"

    def test_every_section_is_drawn_from_the_same_figures(self):
        data = self.show(*GPT3, "--gpus", "64:128", "--against", "tp=8,pp=8", "--against", "tp=7")
        states = self.js("Object.fromEntries([...document.querySelectorAll('section')].map((e) => "
                         "[e.id, e.dataset.state]))")
        self.assertEqual(states, dict.fromkeys(
            ["account", "why", "ranking", "front", "devices", "rejected", "sensitivity", "launch"], "drawn"))
        self.assertEqual(self.js("document.querySelector('h1').textContent"), data["answer"]["sentence"])
        self.assertEqual(self.texts("#why .own-plan"), [p["sentence"] for p in data["against"]])
        self.assertEqual(len(self.texts("#ranking tbody tr")), len(data["best"]))
        self.assertEqual(len(self.texts("#devices tbody tr")), len(data["by_devices"]))
        self.assertEqual(sum("≈" in row for row in self.texts("#ranking tbody tr")),
                         sum(p["near_tie"] for p in data["best"]))
        self.assertEqual(self.texts("#launch summary"), ["Megatron-LM", "DeepSpeed", "torchtitan"])
        self.assertEqual(self.texts("#launch pre"), [f["text"] for f in data["flags"]])
        self.assertIn("80\u202f%: ", self.texts(".figures small")[0])
        self.assertEqual(self.texts(".remark"), data["answer"]["remarks"])

    def test_the_front_has_every_plan_and_says_it(self):
        data = self.show(*GPT3, "--gpus", "128", "--against", "tp=8,pp=8")
        plans = {(p["step_time_ns"], p["memory_bytes"]["total"])
                 for p in data["pareto"] + data["best"] + data["against"]}
        self.assertEqual(self.js("document.querySelectorAll('#front svg [data-plan]').length"), len(plans))
        self.assertEqual(self.js("document.querySelectorAll('#front svg [data-plan=own]').length"), 1)
        tips = self.js("[...document.querySelectorAll('#front svg [data-plan=front]')].map((e) => e.dataset.tip)")
        for plan in data["pareto"][:1] + data["pareto"][-1:]:
            self.assertTrue(any(plan["words"] in tip for tip in tips), plan["words"])
        self.js("document.querySelector('#front').scrollIntoView(), document.querySelector("
                "'#front svg [data-plan=front]').dispatchEvent(new PointerEvent('pointermove', "
                "{bubbles: true, clientX: 400, clientY: 400}))")
        self.assertIn("a step", self.js("document.getElementById('tip').textContent"))

    def test_the_percentages_of_the_waterfall_sum_to_a_hundred_but_for_their_rounding(self):
        self.show(*GPT3, "--gpus", "128")
        shown = self.texts("#account .fall-row .percent")[1:]
        tenths = [0 if "<" in t else round(10 * float(re.sub("[^0-9.]", "", t))) for t in shown]
        self.assertLessEqual(abs(sum(tenths) - 1000), len(tenths) / 2, shown)

    def test_the_differences_lead_from_one_step_to_the_other(self):
        data = self.show(*GPT3, "--gpus", "128", "--against", "tp=8,pp=8,recompute=full")
        gains = data["against"][0]["gains"]
        shown = self.js("[...document.querySelectorAll('#why [data-gain]')].map((e) => e.dataset.gain)")
        self.assertEqual(sorted(shown), sorted(["all", "all"] + [g["term"] for g in gains]))
        widths = self.js("[...document.querySelectorAll('#why [data-gain] .fill')].map((e) => "
                         "[parseFloat(e.style.left), parseFloat(e.style.width)])")
        best = data["best"][0]["step_time_ns"]
        last = widths[-2]  # paid or saved: one of its ends is the fastest step
        ends = [last[0], last[0] + last[1]]
        self.assertLess(min(abs(e / widths[-1][1] - 1) for e in ends), 1e-5, best)

    def test_on_paper_everything_is_there(self):
        data = self.show(*GPT3, "--gpus", "128")
        self.js("dispatchEvent(new Event('beforeprint'))")
        self.assertTrue(self.js("[...document.querySelectorAll('details')].every((d) => d.open)"))
        self.assertEqual(self.js("new Set([...document.querySelectorAll('section')].map((e) => "
                                 "e.dataset.state)).size"), 1)
        self.assertEqual(self.texts("#launch pre"), [f["text"] for f in data["flags"]])
        self.js("dispatchEvent(new Event('afterprint'))")

    def test_where_nothing_fits_the_page_says_so(self):
        data = self.show("gpt3-175b", "--machine", "a100_sxm_80gb", "--global-batch", "8", "--gpus", "2",
                         "--against", "tp=2", code=1)
        self.assertIn("would be enough", self.js("document.querySelector('h1').textContent"))
        self.assertEqual(data["best"], [])
        self.assertEqual(self.texts("section h2"), ["Your plan and the fastest", "What was searched"])

    def test_a_phone_needs_no_sideways_scrolling(self):
        self.show(*GPT3, "--gpus", "128", "--against", "tp=8,pp=8", width=390, theme="dark")
        self.assertLessEqual(self.js("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    unittest.main()
