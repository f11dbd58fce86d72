# SPDX-License-Identifier: Apache-2.0
"""The page of a calibration in a real browser: what it shows agrees with the JSON of the same run. STEPSCOPE_CHROMIUM,
STEPSCOPE_PROGRAM and STEPSCOPE_RENDER_PAGE name the browser, the program and what makes pages."""
import copy
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402

MARKUP = "<img src=x onerror=window.broken_in=1>"


class CalibratePage(CommandPage):
    verb = "calibrate"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        here = os.path.join(cls.folder.name, "here.json")
        page, cls.data = cls.written(cls(), here, "--ranks", "2", "--quick")
        cls.page = page + ".measured.html"
        os.rename(page, cls.page)

    def benchmark(self):
        """nccl-tests' all-reduce of 8 ranks: 20 us + size / 200 GB/s, twice a size."""
        path = os.path.join(self.folder.name, "all_reduce_perf.txt")
        with open(path, "w") as out:
            out.write("# nThread 1 nGpus 8 minBytes 1024 maxBytes 8388608 step: 2(factor) warmup iters: 5 iters: 20 agg "
                      "iters: 1 validation: 1 graph: 0\n#       size         count      type   redop    root     time   "
                      "algbw   busbw #wrong     time   algbw   busbw #wrong\n")
            for size in (4 ** k for k in range(5, 15)):
                time = 20 + size / 2e5
                out.write(f"{size} {size // 4} float sum -1 {time:.2f} 1 1 0 {1.1 * time:.2f} 1 1 0\n")
        return path

    def from_benchmark(self):
        return [os.path.join(self.folder.name, "m.json"), "--from", self.benchmark(), "--machine", "h100_sxm_80gb",
                "--ranks", "8"]

    def test_every_section_is_drawn_from_the_same_figures(self):
        self.open(self.page)
        self.check_words()
        self.assertEqual(set(self.states()), {"links", "kernels", "sources"})
        self.assertEqual(self.texts("h1"), [self.data["answer"]["sentence"]])
        points = self.js("document.querySelectorAll('#links figure:first-of-type path[data-point]').length")
        self.assertEqual(points, len(self.data["collectives"]))
        lines = self.js("document.querySelectorAll('#links path.fit').length")
        self.assertEqual(lines, sum(len(f["pieces"]) for f in self.data["link_fits"]))
        whiskers = self.js("document.querySelectorAll('#links line[stroke-opacity]').length")
        self.assertEqual(whiskers, sum(c["high_ns"] > c["low_ns"] for c in self.data["collectives"]))

    def test_bandwidth_and_one_collective_can_be_chosen(self):
        self.open(self.page)
        self.js("document.querySelector('#links [data-value=rate]').click()")
        self.check_words()
        self.assertIn("bus bandwidth", self.texts("#links svg text"))
        self.js("(() => { const s = document.querySelector('#links select'); s.selectedIndex = 1; "
                "s.dispatchEvent(new Event('change')); })()")
        kinds = self.js("[...new Set([...document.querySelectorAll('#links path[data-point]')].map((e) => "
                        "e.dataset.point))]")
        self.assertEqual(len(kinds), 1)

    def test_benchmarks_of_elsewhere(self):
        page, data = self.written(*self.from_benchmark())
        self.check_everywhere(page)
        self.assertNotIn("kernels", self.states())
        self.assertEqual(self.js("document.querySelectorAll('#links path[data-point]').length"), len(data["collectives"]))
        self.assertEqual(data["collectives"][0]["calls"], 2)

    def test_holds_up_everywhere(self):
        self.check_everywhere(self.page)

    def test_without_links_or_kernels_it_still_opens(self):
        empty = copy.deepcopy(self.data)
        empty.update(collectives=[], operations=[], link_fits=[], sources=[])
        empty["machine"].update(peaks=[], memory_gb_per_s=None, memory_bytes=None)
        self.rendered(empty)
        one = copy.deepcopy(self.data)
        one.update(collectives=one["collectives"][:1], operations=one["operations"][:1])
        one["link_fits"] = [{**one["link_fits"][0], "refused": "one call tells no line", "pieces": []}]
        one["collectives"][0].update(fitted_ns=None, low_ns=None, high_ns=None, calls=None)
        self.rendered(one)

    def test_a_thousand_points(self):
        many = copy.deepcopy(self.data)
        many["collectives"] = (many["collectives"] * 1000)[:1000]
        many["operations"] = (many["operations"] * 1000)[:1000]
        self.rendered(many)
        self.assertLessEqual(len(self.texts("#links tbody tr")), 30)

    def test_names_are_text(self):
        hostile = copy.deepcopy(self.data)
        hostile["machine"]["name"] = hostile["file"] = hostile["answer"]["sentence"] = MARKUP
        hostile["collectives"][0]["kind"] = hostile["operations"][0]["class"] = MARKUP
        hostile["sources"] = hostile["warnings"] = [MARKUP]
        hostile["benchmarks"] = [{"path": MARKUP, "tool": MARKUP, "test": MARKUP, "kind": MARKUP, "ranks": 2, "hosts": 1,
                                  "hosts_assumed": True, "times": 1, "notes": {MARKUP: 1}}]
        self.rendered(hostile)
        self.check_no_markup()


if __name__ == "__main__":
    unittest.main()
