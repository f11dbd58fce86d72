# SPDX-License-Identifier: Apache-2.0
"""The ground of the tests of a page that a command of the program writes: the command runs with --html and --json, the page is
opened in a real browser, and a test compares both. STEPSCOPE_CHROMIUM, STEPSCOPE_PROGRAM and STEPSCOPE_RENDER_PAGE name the browser, the program and what makes a
page of any JSON."""
import json
import os
import subprocess
import tempfile
import unittest

from chromium import Chromium


class CommandPage(unittest.TestCase):
    verb = None  # subcommand; a test class sets it

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix=f"stepscope-{cls.verb}-")
        cls.browser = Chromium(os.environ["STEPSCOPE_CHROMIUM"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])

    def written(self, *flags, code=0):
        page = os.path.join(self.folder.name, "page.html")
        run = subprocess.run([os.environ["STEPSCOPE_PROGRAM"], self.verb, "--html", page, "--json", "-", *flags],
                             capture_output=True)
        assert run.returncode == code, run.stderr.decode()
        return page, json.loads(run.stdout)

    def show(self, *flags, width=1280, theme="light", code=0):
        page, data = self.written(*flags, code=code)
        self.open(page, width, theme)
        return data

    def open(self, page, width=1280, theme="light"):
        self.browser.prefer(theme)
        self.browser.size(width, 900)
        self.browser.open(page)
        self.browser.until("document.documentElement.dataset.state === 'complete'")

    def rendered(self, tree):
        """Opens the page of any JSON."""
        data, page = (os.path.join(self.folder.name, name) for name in ("tree.json", "tree.html"))
        with open(data, "w") as out:
            json.dump(tree, out)
        subprocess.run([os.environ["STEPSCOPE_RENDER_PAGE"], data, page], check=True)
        self.open(page)
        self.check_words()

    def states(self):
        return self.js("Object.fromEntries([...document.querySelectorAll('section')].map((e) => [e.id, e.dataset.state]))")

    def check_words(self):
        """Every section is drawn, and nothing reads NaN, undefined or [object Object]."""
        self.assertEqual(set(self.states().values()), {"drawn"})
        text = self.js("document.querySelector('main').outerHTML")
        for wrong in ("NaN", "undefined", "[object", "Infinity"):
            at = text.find(wrong)
            self.assertEqual(at, -1, text[max(0, at - 200):at + 100])

    def check_everywhere(self, page):
        """The page holds up on a phone and on a wide screen, in both themes, and on paper."""
        for width in (375, 1440):
            for theme in ("light", "dark"):
                self.open(page, width, theme)
                self.check_words()
                self.assertLessEqual(self.js("document.documentElement.scrollWidth"), width)
                self.assertEqual(self.js("[...document.querySelectorAll('svg[role], svg [tabindex]')].filter((e) => "
                                         "!e.getAttribute('aria-label')).length"), 0)
        paper = os.path.join(self.folder.name, "page.pdf")
        self.browser.pdf(paper)
        self.assertGreater(os.path.getsize(paper), 10000)

    def check_no_markup(self):
        """Text that looks like HTML is text."""
        self.assertEqual(self.js("document.querySelectorAll('main img, main script, main iframe').length"), 0)
        self.assertIsNone(self.js("window.broken_in ?? null"))

    def js(self, script):
        return self.browser.evaluate(script)

    def texts(self, selector):
        return self.js(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")
