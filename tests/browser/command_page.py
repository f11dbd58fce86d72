# SPDX-License-Identifier: Apache-2.0
"""The ground of the tests of a page that a command of the program writes: the command runs with --html and --json, the page is
opened in a real browser, and a test compares both. STEPSCOPE_CHROMIUM and STEPSCOPE_PROGRAM name the browser and the program."""
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
        run = subprocess.run([os.environ["STEPSCOPE_PROGRAM"], self.verb, *flags, "--html", page, "--json", "-"],
                             capture_output=True)
        assert run.returncode == code, run.stderr.decode()
        return page, json.loads(run.stdout)

    def show(self, *flags, width=1280, theme="light", code=0):
        page, data = self.written(*flags, code=code)
        self.browser.prefer(theme)
        self.browser.size(width, 900)
        self.browser.open(page)
        return data

    def js(self, script):
        return self.browser.evaluate(script)

    def texts(self, selector):
        return self.js(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)")
