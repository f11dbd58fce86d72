# SPDX-License-Identifier: Apache-2.0
"""The page of a hang in a real browser: what it shows agrees with the JSON of the same run. STEPSCOPE_CHROMIUM,
STEPSCOPE_PROGRAM and STEPSCOPE_RENDER_PAGE name the browser, the program and what makes pages."""
import copy
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402

DUMPS = os.path.join(HERE, "../hang/dumps")
MARKUP = "<img src=x onerror=window.broken_in=1>"


def binary_links(rank, ranks):
    """The place of a rank in a tree whose parent of n is (n - 1) / 2."""
    down = [d for d in (2 * rank + 1, 2 * rank + 2) if d < ranks] + [-1, -1, -1]
    return "/".join(map(str, down[:3])) + f"->{rank}->{(rank - 1) // 2 if rank else -1}"


class HangPage(CommandPage):
    verb = "hang"

    def log(self, ranks, a_host=8, logged=None, calls=True, name="nccl.log"):
        """A log of a communicator with two rings (upwards and downwards) and two trees (binary, chain)."""
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as out:
            for r in range(ranks if logged is None else logged):
                head = f"node{r // a_host}:{r + 1}:1 [{r % a_host}] NCCL INFO "
                up, down = (r + 1) % ranks, (r - 1) % ranks
                chain = f"{r + 1 if r + 1 < ranks else -1}/-1/-1->{r}->{r - 1}"
                out.write(f"{head}Ring 00 : {down} -> {r} -> {up}\n{head}Ring 01 : {up} -> {r} -> {down}\n"
                          f"{head}Trees [0] {binary_links(r, ranks)} [1] {chain}\n"
                          f"{head}comm 0x{r + 16:x} rank {r} nranks {ranks} cudaDev {r % a_host} busId {r} - Init COMPLETE\n")
                for call in range(2 if calls and r != 1 else 1 if calls else 0):
                    out.write(f"{head}AllReduce: opCount {call} sendbuff 0x1 recvbuff 0x2 count 8 datatype 7 op 0 root 0 "
                              f"comm 0x{r + 16:x} [nranks={ranks}] stream 0x1\n")
        return path

    def ranks_of(self, selector):
        return self.js(f"[...document.querySelectorAll('{selector}')].map((e) => "
                       "[...e.querySelectorAll('circle')].map((c) => Number(c.dataset.rank)))")

    def test_every_section_is_drawn_from_the_same_figures(self):
        data = self.show(self.log(8, a_host=4))
        names = ["findings", "groups", "calls", "nccl", "rings", "trees", "inputs"]
        self.assertEqual(self.states(), dict.fromkeys(names, "drawn"))
        self.check_words()
        self.assertEqual(self.texts("h1"), [data["answer"]["sentence"]])
        self.assertEqual(len(self.texts("#findings [data-finding]")), len(data["findings"]))
        self.assertIn("Rank 1 is missing in", self.texts("#findings [data-finding] > p")[0])
        rows = self.texts("#calls tbody tr")
        self.assertEqual(len(rows), 8)
        for row, last in zip(rows, data["last_calls"]):
            self.assertIn(f"{last['name']} {last['sequence']}", row)
        [shape] = data["nccl"]["communicators"]
        self.assertEqual(self.ranks_of("svg.ring"), [r["ranks"] for r in shape["ring_orders"]])
        self.assertEqual([sorted(t) for t in self.ranks_of("svg.tree-shape")], [list(range(8))] * 2)

    def test_parents_stand_above_their_children(self):
        data = self.show(self.log(8))
        at = self.js("[...document.querySelectorAll('svg.tree-shape')].map((e) => Object.fromEntries("
                     "[...e.querySelectorAll('circle')].map((c) => [c.dataset.rank, Number(c.getAttribute('cy'))])))")
        for places, shape in zip(at, data["nccl"]["communicators"][0]["tree_shapes"]):
            for r in shape["ranks"]:
                if r["up"] is not None:
                    self.assertLess(places[str(r["up"])], places[str(r["rank"])])

    def test_hosts_have_colours_and_a_legend(self):
        self.show(self.log(8, a_host=4))
        colours = self.js("[...document.querySelectorAll('svg.ring')].map((e) => [...e.querySelectorAll('circle')].map((c) => "
                          "c.style.getPropertyValue('--c')))")[0]
        self.assertEqual(len(set(colours[:4])), 1)
        self.assertEqual(len(set(colours)), 2)
        self.assertEqual(self.texts("#rings .legend span.plain"), ["node0", "node1"])

    def test_one_to_a_thousand_ranks(self):
        for ranks in (1, 2, 3, 20, 100, 1000):
            page, data = self.written(self.log(ranks))
            self.open(page)
            self.check_words()
            wanted = [[r["ranks"] for r in c["ring_orders"]] for c in data["nccl"]["communicators"] if c["ranks"] > 1]
            self.assertEqual(self.ranks_of("svg.ring"), wanted[0] if wanted else [])
            self.assertEqual(sorted(map(len, self.ranks_of("svg.tree-shape"))), sorted(
                len(t["ranks"]) for c in data["nccl"]["communicators"] if c["ranks"] > 1 for t in c["tree_shapes"]))
        self.assertLess(os.path.getsize(page), 4 << 20)

    def test_holds_up_everywhere(self):
        page, _ = self.written(self.log(128))
        self.check_everywhere(page)

    def test_a_part_of_the_ranks_is_said_to_be_one(self):
        self.show(self.log(64, logged=5))
        self.check_words()
        self.assertRegex(self.texts("#rings figcaption")[0], r"The log has \d+ of 64 ranks of this ring")
        self.assertIn("The logs have the places of 5 of 64 ranks", self.texts("#trees figcaption")[0])
        self.assertGreater(self.js("document.querySelectorAll('#trees circle.unlogged').length"), 0)

    def test_more_than_can_be_drawn_is_said(self):
        _, data = self.written(self.log(8))
        many = copy.deepcopy(data)
        one = many["nccl"]["communicators"][0]
        one["ring_orders"] = [{"channels": [i], "ranks": list(range(i, 8)) + list(range(i)), "whole": True}
                              for i in range(8)]
        others = [dict(copy.deepcopy(one), ranks=9 + i) for i in range(9)]
        many["nccl"]["communicators"] += others
        huge = dict(copy.deepcopy(one), ranks=3000, tree_shapes=[],
                    ring_orders=[{"channels": [0], "ranks": list(range(3000)), "whole": True}])
        many["nccl"]["communicators"].append(huge)
        self.rendered(many)
        notes = self.texts("#rings .note")
        self.assertIn("The first 4 of 8 orders are drawn; --json has all.", notes)
        self.assertIn("The largest 6 of 11 different communicators are drawn; --json has all.", notes)
        self.assertIn("The first 1,024 of 3,000 ranks are drawn.", self.texts("#rings figcaption")[0])

    def test_dumps_of_the_flight_recorder_have_no_rings(self):
        data = self.show(os.path.join(DUMPS, "missing"))
        self.check_words()
        self.assertEqual(set(self.states()), {"findings", "groups", "calls", "inputs"})
        self.assertEqual(len(self.texts("#calls tbody tr")), len(data["last_calls"]))

    def test_a_folder_of_several_kinds_shows_errors_remedies_and_places(self):
        files = {
            "rank1.log": "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has a total "
                         "capacity of 79.11 GiB of which 1.10 GiB is free. Process 7 has 78.00 GiB memory in use. Of the "
                         "allocated memory 70.00 GiB is allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but "
                         "unallocated.\n",
            "ps_rank0.txt": 'Process 10: python train.py\nPython v3.11.4 (/usr/bin/python3.11)\n\nThread 10 (idle): "MainThread"\n'
                            "    all_reduce (torch/distributed/distributed_c10d.py:2501)\n    step (train.py:120)\n"}
        folder = os.path.join(self.folder.name, "job")
        os.mkdir(folder)
        for name, text in files.items():
            with open(os.path.join(folder, name), "w") as out:
                out.write(text)
        page, data = self.written(folder)
        self.open(page)
        self.check_words()
        incident = data["incident"]
        rows = self.texts("#incident table tbody tr")
        self.assertEqual(len(rows), len(incident["timeline"]) + len(incident["standing"]) + len(incident["last_lines"]))
        self.assertIn("rank1.log:1", rows[0])
        advice = self.texts("#incident [data-memory] li")
        self.assertEqual(advice, [f"{text}." for m in incident["out_of_memory"] for text in m["advice"]])
        self.assertGreater(len(advice), 0)
        self.assertNotIn(0, incident["silent_ranks"])
        self.check_everywhere(page)

    def test_a_log_without_calls_still_opens(self):
        self.show(self.log(4, calls=False))
        self.check_words()
        self.assertEqual(self.texts("#calls .missing"), ["No rank recorded a call."])

    def test_names_are_text(self):
        _, hostile = self.written(self.log(4))
        hostile["nccl"]["environment"] = {MARKUP: [MARKUP]}
        for c in hostile["nccl"]["communicators"]:
            c["id"] = MARKUP
            for m in c["members"]:
                m["host"] = MARKUP
        for f in hostile["findings"]:
            f["sentence"] = f["group_name"] = MARKUP
        for last in hostile["last_calls"]:
            last["name"] = last["label"] = last["group_name"] = MARKUP
        hostile["messages"] = [{"rank": 0, "text": MARKUP, "times": 2}]
        hostile["inputs"][0]["path"] = MARKUP
        self.rendered(hostile)
        self.check_no_markup()


if __name__ == "__main__":
    unittest.main()
