# SPDX-License-Identifier: Apache-2.0
"""The page of a check in a real browser: what it shows agrees with the JSON of the same run. STEPSCOPE_CHROMIUM,
STEPSCOPE_PROGRAM and STEPSCOPE_RENDER_PAGE name the browser, the program and what makes pages."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402

TRACES = os.path.join(HERE, "../../examples/train_tiny/traces/ddp")


class CheckPage(CommandPage):
    verb = "check"

    def table(self, ranks, steps, name="ranks.csv", slow=()):
        """A CSV of step times; `slow` are (rank, step) that take twice as long."""
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as out:
            out.write("step,rank,step_time_ms\n")
            for step in range(steps):
                for rank in range(ranks):
                    time = 100 + (step * 7 + rank * 3) % 5 / 10
                    out.write(f"{step},{rank},{2 * time if (rank, step) in slow else time}\n")
        return path

    def cells(self):
        return self.js("document.querySelectorAll('#ranks svg.heat rect:not(.cursor)').length")

    def test_every_section_is_drawn_from_the_same_figures(self):
        data = self.show(TRACES)
        self.assertEqual(self.states(), dict.fromkeys(["checks", "steps", "ranks", "next"], "drawn"))
        self.assertEqual(self.texts("h1"), [data["answer"]["sentence"]])
        self.assertEqual(self.texts("#checks li > :last-child"), [c["sentence"] for c in data["checks"]])
        self.assertEqual(len(self.texts("#ranks tbody tr")), 1 + len(data["step_times"]["ranks"]))
        self.assertEqual(self.cells(), data["step_times"]["steps"] * len(data["step_times"]["ranks"]))

    def test_the_map_says_which_rank_deviates_at_which_step(self):
        self.show(self.table(4, 12, slow={(2, 7)}))
        self.assertEqual(self.cells(), 48)
        opaque = self.js("[...document.querySelectorAll('#ranks svg.heat rect')].map((e) => "
                         "Number(e.getAttribute('fill-opacity')))")
        self.assertEqual(max(range(48), key=opaque.__getitem__), 2 * 12 + 7)  # rows of ranks
        self.js("document.querySelector('#ranks svg.heat').focus()")
        for key in ["ArrowDown"] * 3 + ["ArrowRight"] * 7:  # the first key shows the first cell
            self.browser.key(key)
        said = self.texts("#ranks [aria-live]")[0].replace("\u202f", " ")
        self.assertRegex(said, r"^rank 2, step 7: \+\d+\.\d %$")

    def test_the_pointer_shows_the_cell_under_it(self):
        self.show(self.table(3, 6))
        cell = "document.querySelectorAll('#ranks svg.heat rect')[7]"
        self.js(f"{cell}.scrollIntoView({{block: 'center'}})")
        self.js("new Promise((done) => setTimeout(done, 300))")  # a scroll hides the tip
        x, y = self.js(f"(() => {{ const b = {cell}.getBoundingClientRect(); return [b.left + b.width / 2, b.top + "
                       "b.height / 2]; })()")
        self.browser.mouse("mouseMoved", x, y)
        self.browser.until("!document.getElementById('tip').hidden")
        self.assertRegex(self.texts("#tip")[0], "^rank 1, step 1: ")

    def test_a_thousand_ranks_and_steps_stay_small(self):
        page, data = self.written(self.table(1000, 1000, "large.csv", slow={(513, 444)}))
        self.assertLess(os.path.getsize(page), 4 << 20)
        self.open(page)
        self.assertLess(self.cells(), 20000)
        self.assertEqual(len(self.texts("#ranks tbody tr")), 25)
        self.assertIn("A cell joins several ranks or steps", self.texts("#ranks figcaption")[0])
        self.check_words()
        self.check_everywhere(page)
        self.assertEqual(len(data["step_times"]["ranks"]), 1000)

    def test_holds_up_everywhere(self):
        page, _ = self.written(self.table(5, 30))
        self.check_everywhere(page)

    def test_one_step_and_one_rank(self):
        self.show(self.table(1, 1))
        self.check_words()
        self.assertEqual(self.cells(), 0)

    def test_an_input_without_ranks_says_so(self):
        path = os.path.join(self.folder.name, "list.csv")
        with open(path, "w") as out:
            out.write("step_time_ms\n" + "5\n6\n5.5\n" * 20)
        self.show(path)
        self.check_words()
        self.assertIn("does not tell the ranks", self.texts("#ranks .missing")[0])

    def test_checklists_are_shown_if_requested(self):
        data = self.show(TRACES, "--list")
        self.check_words()
        self.assertEqual(self.texts("#lists h3"), [c["title"] for c in data["checklists"]])
        self.assertEqual(self.texts("#lists li > :last-child"),
                         [line["evidence"] for c in data["checklists"] for line in c["lines"]])
        status = {"fine": "good", "look": "look", "unknown": "unknown"}
        self.assertEqual(self.js("[...document.querySelectorAll('#lists li')].map((e) => e.dataset.status)"),
                         [status[line["result"]] for c in data["checklists"] for line in c["lines"]])
        page, _ = self.written(TRACES, "--list")
        self.check_everywhere(page)

    def test_a_log_tells_more(self):
        path = os.path.join(self.folder.name, "train.log")
        with open(path, "w") as out:
            for i in range(40):
                out.write(f" iteration {i + 1}/ 100 | elapsed time per iteration (ms): {500 + i % 3}.0 | "
                          f"global batch size: 64 | lm loss: {9 - i / 10} |\n")
        self.show(path)
        self.check_words()
        self.assertIn("log", self.states())

    def test_without_steps_it_still_opens(self):
        data = self.show(self.table(1, 1))
        data["step_times"] = {"steps": 0, "warm_up": 0, "counted_from": None, "job": None, "ranks": [], "columns": [],
                              "map": []}
        self.rendered(data)

    def test_names_are_text(self):
        self.show(self.table(2, 3, "<img src=x onerror=window.broken_in=1>.csv"))
        self.check_no_markup()
        self.assertIn("<img src=x", self.texts(".kicker")[0])


if __name__ == "__main__":
    unittest.main()
