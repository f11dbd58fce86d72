# SPDX-License-Identifier: Apache-2.0
"""The pages of a comparison and of a sweep in a real browser: what they show agrees with the JSON of the same run.
STEPSCOPE_CHROMIUM, STEPSCOPE_PROGRAM and STEPSCOPE_RENDER_PAGE name the browser, the program and what makes pages."""
import copy
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402

TRACES = os.path.join(HERE, "../../examples/train_tiny/traces")
MARKUP = "<img src=x onerror=window.broken_in=1>"


class Lists(CommandPage):
    def list_of(self, name, level, steps=40, outlier=5):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as out:
            out.write("step_time_ms\n")
            for i in range(steps):
                out.write(f"{level * (outlier if i == 20 else 1 + 0.01 * (i * 7 % 5))}\n")
        return path


class ComparePage(Lists):
    verb = "compare"

    def traces(self):
        return [os.path.join(TRACES, name) for name in ("ddp", "fsdp")]

    def test_every_section_is_drawn_from_the_same_figures(self):
        data = self.show(*self.traces())
        self.assertEqual(set(self.states()), {"distributions", "changes", "parts", "arms"})
        self.check_words()
        self.assertEqual(self.texts("h1"), [data["answer"]["sentence"]])
        budget = [p for p in data["parts"] if p["kind"] == "budget"]
        self.assertEqual(len(self.texts("#changes tbody tr")), len(budget))
        drawn = self.js("[...document.querySelectorAll('#changes [data-term]')].map((e) => e.dataset.term)")
        self.assertEqual(drawn[:-1], [p["name"] for p in budget if p["difference_ns"]])
        self.assertEqual(drawn[-1], "all")

    def test_the_waterfall_ends_at_the_difference_of_the_means(self):
        data = self.show(*self.traces())
        whole = sum(p["b_ns"] - p["a_ns"] for p in data["parts"] if p["kind"] == "budget")
        shown = self.texts("#changes .fall-row.end .amount")[0].replace("\u202f", " ")
        self.assertAlmostEqual(float(shown.split()[0]), whole / 1e6, delta=1)

    def test_launches_have_strips(self):
        a, b = ([self.list_of(f"{n}{i}.csv", level) for i in range(3)] for n, level in (("a", 10), ("b", 11)))
        data = self.show("--a", *a, "--b", *b, "--order", "ABBAAB", "--max-regression", "50%")
        self.check_words()
        self.assertEqual(self.js("document.querySelectorAll('#distributions [data-strip]').length"), 8)
        self.assertEqual(len(self.texts("#arms table:first-of-type tbody tr")), 6 + len(data["a"]["outliers"] +
                                                                                     data["b"]["outliers"]))
        self.assertIn("No parts of the step are known", self.texts("#changes .missing")[0])

    def test_one_step_and_very_many(self):
        for steps in (1, 30000):
            page, data = self.written(self.list_of("a.csv", 10, steps), self.list_of("b.csv", 11, steps))
            self.assertLessEqual(len(data["a"]["launches"][0]["sorted_ns"]), 1000)
            self.assertLess(os.path.getsize(page), 1 << 20)
            self.open(page)
            self.check_words()
            self.assertLess(self.js("document.querySelectorAll('#distributions circle').length"), 600)

    def test_holds_up_everywhere(self):
        page, _ = self.written(*self.traces())
        self.check_everywhere(page)

    def test_a_thousand_kernels_and_launches(self):
        data = self.show(*self.traces())
        part = {**data["parts"][0], "kind": "kernel"}
        data["parts"] += [{**part, "name": f"kernel<{i}>", "difference_ns": float(i)} for i in range(1000)]
        data["a"]["launches"] *= 1000
        self.rendered(data)
        rows = self.js("[...document.querySelectorAll('#parts tbody')].map((e) => e.rows.length)")
        self.assertEqual(max(rows), 20)
        self.assertLess(self.js("document.querySelectorAll('#distributions [data-strip]').length"), 20)
        self.assertIn("Launches without a strip of their own: 988", self.texts("#distributions .note")[0])

    def test_names_are_text(self):
        data = self.show(self.list_of(f"{MARKUP}.csv", 10), self.list_of("b.csv", 11))
        self.check_no_markup()
        hostile = copy.deepcopy(data)
        hostile["parts"] = [{"kind": kind, "name": MARKUP, "a_ns": 1, "b_ns": 2, "difference_ns": 1, "interval_ns": None,
                             "p": None, "q": None, "called": False} for kind in ("budget", "class", "kernel")]
        self.rendered(hostile)
        self.check_no_markup()


class SweepPage(Lists):
    verb = "sweep"

    def sweep(self, *values, launches="2"):
        for i, value in enumerate(values):
            self.list_of(f"{value}.csv", 10 + i // 2)
        return ["--vary", "size=" + ",".join(values), "--launches", launches, "--", "/bin/sh", "-c",
                "cp '" + os.path.join(self.folder.name, "{size}.csv") + "' {out}"]

    def test_every_section_is_drawn_from_the_same_figures(self):
        data = self.show(*self.sweep("1MB", "2MB", "3MB", "4MB"))
        self.check_words()
        self.assertEqual(self.texts("h1"), [data["answer"]["sentence"]])
        self.assertEqual(self.texts("#table tbody tr td:first-child"), [v["value"] for v in data["values"]])
        said = dict(zip([v["value"] for v in data["values"]], self.texts("#table tbody tr td:nth-child(2)")))
        self.assertEqual(said[data["best"]], "smallest median")
        for value in data["ties"]:
            self.assertEqual(said[value], "ties with it")
        self.assertEqual(len(self.texts("#launches tbody tr")), len(data["order"]))
        self.assertEqual(self.js("document.querySelectorAll('#launches circle').length"), len(data["order"]))

    def test_one_value(self):
        self.show(*self.sweep("only", launches="1"))
        self.check_words()

    def test_holds_up_everywhere(self):
        page, _ = self.written(*self.sweep("a", "b", "c"))
        self.check_everywhere(page)

    def test_a_thousand_values(self):
        data = self.show(*self.sweep("a", "b"))
        data["values"] += [{**data["values"][1], "value": f"v{i}", "best": False} for i in range(1000)]
        self.rendered(data)
        self.assertIn("The first 40 of 1,002 values", self.texts("#values .note")[0])
        self.assertEqual(len(self.texts("#table tbody tr")), 40)

    def test_values_are_text(self):
        data = self.show(*self.sweep("a", "b"))
        data["name"] = data["values"][0]["value"] = data["best"] = MARKUP
        data["order"] = [MARKUP, "b"]
        self.rendered(data)
        self.check_no_markup()


if __name__ == "__main__":
    unittest.main()
