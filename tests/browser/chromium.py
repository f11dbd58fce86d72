# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium driven over its DevTools pipe (NUL-separated JSON on two file descriptors): no driver program,
no port, only the standard library."""
import base64
import json
import os
import select
import subprocess
import tempfile
import time


class Chromium:
    """One browser with one page. Uncaught errors of the page and console errors collect in `errors`."""

    def __init__(self, program, width=1280, height=900):
        self.profile = tempfile.TemporaryDirectory(prefix="stepscope-browser-", ignore_cleanup_errors=True)
        to_browser, self.out = os.pipe()
        self.inp, from_browser = os.pipe()

        def place_pipes():  # the protocol uses descriptors 3 and 4
            high = [os.dup2(fd, 100 + i) for i, fd in enumerate((to_browser, from_browser))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--hide-scrollbars", "--disable-dev-shm-usage", "--disable-background-networking",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=place_pipes, close_fds=False)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.last, self.session, self.errors, self.events = b"", 0, None, [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def close(self):
        os.close(self.out)
        self.process.terminate()
        self.process.wait(20)
        os.close(self.inp)
        self.profile.cleanup()

    def message(self, timeout):
        deadline = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.inp], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.inp, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser does not answer" if ready == [] else "the browser is gone")
            self.buffer += data
        head, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(head)

    def note(self, event):
        method, p = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = p["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Network.requestWillBeSent" and not p["request"]["url"].startswith(("file:", "data:", "about:")):
            self.errors.append("network: " + p["request"]["url"])
        self.events.append(method)

    def call(self, method, timeout=120, **params):
        self.last += 1
        request = {"id": self.last, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message(timeout)
            if answer.get("id") != self.last:
                self.note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def processor_time(self):
        """Seconds so far of each renderer, by process: what a page costs, however busy the machine is."""
        session, self.session = self.session, None
        processes = self.call("SystemInfo.getProcessInfo")["processInfo"]
        self.session = session
        return {p["id"]: p["cpuTime"] for p in processes if p["type"] == "renderer"}

    def evaluate(self, script):
        """The value of an expression in the page; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"].get("exception", {}).get("description"))
        return answer["result"].get("value")

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def prefer(self, scheme, media=""):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path, timeout=60):
        """Loads a page and waits until it says that it is complete (or failed)."""
        self.errors, self.events = [], []
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.until("document.documentElement?.dataset.state", timeout)

    def until(self, condition, timeout=30):
        deadline = time.monotonic() + timeout
        while not self.evaluate(condition):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {condition}")
            time.sleep(0.05)

    def key(self, text):
        """A character, or a key that writes none ("ArrowDown")."""
        for kind in ("keyDown", "keyUp"):
            typed = text if kind == "keyDown" and len(text) == 1 else ""
            self.call("Input.dispatchKeyEvent", type=kind, key=text, text=typed)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def screenshot(self, path, whole=False):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as out:
            out.write(base64.b64decode(picture["data"]))

    def pdf(self, path):
        paper = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        with open(path, "wb") as out:
            out.write(base64.b64decode(paper["data"]))
