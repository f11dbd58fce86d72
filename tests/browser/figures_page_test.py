# SPDX-License-Identifier: Apache-2.0
"""A figure that stands in several places of an analysis is the same in each: the head of the page, its bar, the account, the
time budget, and the terminal. STEPSCOPE_CHROMIUM, STEPSCOPE_PROGRAM and STEPSCOPE_EXAMPLES name the browser, the program and
the recorded runs."""
import collections
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from command_page import CommandPage  # noqa: E402

RUNS = ["train_tiny/traces/ddp", "train_tiny/traces/fsdp", "train_tiny/traces/pp", "record_gpu/traces/mixture",
        "record_gpu/traces/gpt2_compiled", "record_gpu/traces/mesh"]
# [place, label, amounts …] of what names a part of the step.
PAIRS = """(() => {
  const own = (e) => [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent).join('').trim();
  const text = (e) => e.textContent.trim();
  const pairs = [];
  for (const [place, legend] of [['head', '.one-bar'], ['budget', '#budget']])
    for (const b of document.querySelectorAll(`${legend} .legend button[data-category]`))
      pairs.push([place, own(b), text(b.querySelector('.amount'))]);
  for (const row of document.querySelectorAll('#account .fall-row[data-term]'))
    pairs.push(['account', text(row.querySelector('.what')), text(row.querySelector('.percent')),
                text(row.querySelector('.amount'))]);
  return pairs;
})()"""


def percent(text):
    return 0.05 if text.startswith("<") else float(text.split()[0])


class Figures(CommandPage):
    verb = "analyze"

    def of_terminal(self, run):
        text = subprocess.run([os.environ["STEPSCOPE_PROGRAM"], self.verb, run, "-v"], capture_output=True,
                              check=True).stdout.decode()
        rows = []
        for line in text[text.index("\nWhere ") + 1:].split("\n")[1:]:
            row = re.match(r"  (\S.*?)\s+(-?[\d.]+ [nµm]?s)\s+(-?[\d.]+ %)", line)
            if not row:
                break
            rows.append(["terminal", row[1], row[3], row[2]])
        return rows

    def check_parts(self, run):
        told = collections.defaultdict(list)
        for place, label, *amounts in self.js(PAIRS) + self.of_terminal(run):
            for amount in amounts:
                amount = re.sub(r"\s", " ", amount)
                told[label, "%" in amount].append((place, amount))
        several = 0
        for (label, is_share), all_of in told.items():
            several += len({place for place, _ in all_of}) > 1
            amounts = [amount for _, amount in all_of]
            if is_share:
                self.assertEqual(len({percent(a) for a in amounts}), 1, (label, all_of))
            else:
                self.assertEqual(len(set(amounts)), 1, (label, all_of))
        self.assertGreater(several, 4)

    def check_step(self):
        figure, notes, sentence = self.js(
            "(() => { const d = [...document.querySelectorAll('.figures dt')].find((e) => e.textContent === 'Step')"
            ".nextSibling; return [d.firstChild.textContent, d.textContent, document.querySelector('h1').textContent]; })()")
        said = re.search(r"step (?:of|takes) ([\d.]+ \S?s)", re.sub(r"\s", " ", sentence))
        self.assertIsNotNone(said, sentence)
        if "first to last rank" not in notes:
            self.assertEqual(re.sub(r"\s", " ", figure), said[1])

    def test_a_part_of_the_step_has_one_share_and_one_time_and_the_step_one_length(self):
        for name in RUNS:
            with self.subTest(run=name):
                run = os.path.join(os.environ["STEPSCOPE_EXAMPLES"], name)
                self.show(run)
                self.check_step()
                self.check_parts(run)


if __name__ == "__main__":
    unittest.main()
