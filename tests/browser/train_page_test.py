# SPDX-License-Identifier: Apache-2.0
"""The page of a run of training in a real browser: what it shows agrees with the JSON of the same run.
STEPSCOPE_CHROMIUM, STEPSCOPE_PROGRAM and STEPSCOPE_RENDER_PAGE name the browser, the program and what makes pages."""
import copy
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402

MARKUP = "<img src=x onerror=window.broken_in=1>"


class TrainPage(CommandPage):
    verb = "train"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = os.path.join(cls.folder.name, "text.txt")
        with open(text, "w") as out:
            out.write("".join(chr(97 + i * i % 23) + " " * (i % 5 == 0) for i in range(20000)))
        cls.run_of = ["--data", text, "--ranks", "2", "--transport", "threads", "--peak-tflops", "0.1", "--quiet"]
        sizes = ["--micro-batch", "2", "--seq", "32"]
        cls.page, cls.data = cls.written(cls(), *cls.run_of, *sizes, "--steps", "8", "--validation", "10%",
                                         "--evaluate-every", "4", "--isolate", "--checkpoint",
                                         os.path.join(cls.folder.name, "ck"))
        os.rename(cls.page, cls.page + ".whole.html")
        cls.page += ".whole.html"

    def test_every_section_is_drawn_from_the_same_figures(self):
        self.open(self.page)
        self.check_words()
        data = self.data
        self.assertEqual(set(self.states()), {"loss", "steps", "budget", "memory", "collectives", "statistics",
                                              "isolation", "events"})
        self.assertEqual(self.texts("h1"), [data["answer"]["sentence"]])
        self.assertEqual(len(self.texts("#memory tbody tr")), len(data["memory"]) + 1)  # and all together
        self.assertEqual(len(self.texts("#collectives tbody tr")), len(data["collectives"]))
        lines = self.js("[...document.querySelectorAll('#steps path[data-rank]')].map((e) => e.dataset.rank).sort()")
        self.assertEqual(lines, ["0", "1"])
        dots = self.js("document.querySelectorAll('#loss figure:first-of-type circle').length")
        self.assertEqual(dots, sum(s["validation_loss"] is not None for s in data["steps"]))
        self.assertIn(data["checkpoints"][0], self.texts("#events li")[0])

    def test_the_budget_is_the_mean_of_the_counted_steps(self):
        self.open(self.page)
        shown = self.js("Object.fromEntries([...document.querySelectorAll('#budget .stack.tall [data-ns]')].map((e) => "
                        "[e.dataset.category, Number(e.dataset.ns)]))")
        self.assertEqual(shown, {k: v for k, v in self.data["means"]["budget_ns"].items() if v})

    def test_holds_up_everywhere(self):
        self.check_everywhere(self.page)

    def test_one_step_of_one_rank(self):
        flags = [("1" if a == "2" else a) for a in self.run_of]
        self.show(*flags, "--micro-batch", "1", "--seq", "32", "--steps", "1")
        self.check_words()
        self.assertNotIn("steps", self.states())

    def test_without_steps_it_still_opens(self):
        empty = copy.deepcopy(self.data)
        empty.update(steps=[], rank_steps=[], memory=[], collectives=[], isolation=None, stats=None, checkpoints=[],
                     means={"budget_ns": {}, "phases_ns": {}, "ranks": []})
        self.rendered(empty)
        self.assertEqual(set(self.states()), {"memory", "events"})

    def test_many_steps_are_thinned_and_it_says_so(self):
        self.open(self.page)
        data = self.js("JSON.parse(document.getElementById('data').textContent)")
        self.assertEqual(data["drawn"], {"of_steps": 8, "every": 1})
        self.assertNotIn("phases_ns", data["steps"][0])
        data["drawn"] = {"of_steps": 2500, "every": 3}
        data["steps"] = [{**data["steps"][i % 8], "index": i} for i in range(834)]
        data["rank_steps"] = [{**r, "index": i} for i in range(834) for r in data["rank_steps"][:2]]
        self.rendered(data)
        self.assertIn("Of 2,500 steps the longest of each 3 in turn is drawn.", self.texts("#steps .lede")[0])

    def test_names_are_text(self):
        hostile = copy.deepcopy(self.data)
        hostile["setup"]["model"] = hostile["answer"]["sentence"] = hostile["memory"][0]["name"] = MARKUP
        hostile["checkpoints"] = hostile["offload"] = hostile["warnings"] = [MARKUP]
        hostile["stats"]["layers"][0]["name"] = hostile["collectives"][0]["kind"] = MARKUP
        self.rendered(hostile)
        self.check_no_markup()


if __name__ == "__main__":
    unittest.main()
