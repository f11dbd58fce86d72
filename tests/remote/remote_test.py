# SPDX-License-Identifier: Apache-2.0
"""remote_test.py STEPSCOPE: inputs behind URLs answer as local files do, and each fault of a server has an error that
names the URL and a remedy."""

import gzip
import json
import os
import random
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

from servers import KEY_ID, REGION, SECRET, TOKEN, S3Handler, Server, etag_of, no_ranges

PROGRAM = ""


def trace(rank, events=20000, world=2):
    """The text of a torch.profiler trace with 3 steps."""
    random.seed(rank)
    step = 1_000_000
    rows = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": f"ProfilerStep#{s}",
            "pid": 1,
            "tid": 1,
            "ts": s * step,
            "dur": step,
        }
        for s in range(3)
    ]
    gap = 3 * step / events
    for i in range(events):
        at = i * gap
        rows.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": f"gemm_{random.randrange(50)}_{random.getrandbits(256):x}"[:60]
                if i % 7 == 0
                else "gemm",
                "pid": 0,
                "tid": 7,
                "ts": at,
                "dur": gap * random.uniform(0.2, 0.9),
                "args": {
                    "device": 0,
                    "stream": 7,
                    "correlation": i + 1,
                    "note": f"{random.getrandbits(200):x}",
                },
            }
        )
    return json.dumps(
        {
            "schemaVersion": 1,
            "distributedInfo": {"rank": rank, "world_size": world},
            "traceEvents": rows,
        }
    ).encode()


class Remote(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.small = [trace(r, 300) for r in range(2)]
        cls.large = trace(0, 60000, 1)

    def run_program(self, *words, **environment):
        env = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("AWS_", "CURL_")) and not k.lower().endswith("_proxy")
        }
        env.update(environment)
        return subprocess.run(
            [PROGRAM, *words], capture_output=True, text=True, env=env, timeout=100, check=False
        )

    def refused(self, url, *told, words=("analyze",), **environment):
        done = self.run_program(*words, url, **environment)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for words_of_it in (url.split("?")[0], *told):
            self.assertIn(words_of_it, done.stderr)
        return done

    def json_of(self, inputs, **environment):
        done = self.run_program("analyze", *inputs, "--json", "-", **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        tree = json.loads(done.stdout)
        for part in tree["inputs"]:
            part["path"] = os.path.basename(part["path"])
        text = json.dumps(
            {k: v for k, v in tree.items() if k not in ("read_seconds", "traces", "seconds")}
        )
        return text

    def local(self, name, data):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(data)
        return path

    def test_a_url_answers_as_the_file_does(self):
        self.assertGreater(len(self.large), 9 << 20)  # the head and parts of several connections
        packed = gzip.compress(self.large, 1)
        for name, data in (("large.json", self.large), ("large.json.gz", packed)):
            with Server() as server:
                server.files.bytes["/" + name] = data
                expected = self.json_of([self.local(name, data)])
                self.assertEqual(self.json_of([f"{server.url}/{name}"]), expected)
                asked = [r for _, r in server.files.requests]
                self.assertEqual(
                    asked.count("bytes=0-1048575"), 1
                )  # recognising and reading: one request
                self.assertEqual(len(asked), len(set(asked)))  # no part is asked for twice

    def test_two_ranks_and_a_mixture_with_local_files(self):
        paths = [self.local(f"two/rank{r}.json", t) for r, t in enumerate(self.small)]
        with Server() as server:
            for r, t in enumerate(self.small):
                server.files.bytes[f"/rank{r}.json"] = t
            expected = self.json_of(paths)
            urls = [f"{server.url}/rank{r}.json" for r in range(2)]
            self.assertEqual(self.json_of(urls), expected)
            self.assertEqual(self.json_of([paths[0], urls[1]]), expected)

    def test_whatif_check_and_digest_take_urls(self):
        with Server() as server:
            for r, t in enumerate(self.small):
                server.files.bytes[f"/rank{r}.json"] = t
            urls = [f"{server.url}/rank{r}.json" for r in range(2)]
            for words in (["whatif", *urls, "--change", "communication_free"], ["check", urls[0]]):
                done = self.run_program(*words)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertNotIn("cannot", done.stderr)
            out = os.path.join(self.folder.name, "digests")
            for kept in (False, True):
                done = self.run_program("digest", *urls, "--out", out, "--json", "-")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(
                    [d["kept"] for d in json.loads(done.stdout)["digests"]], [kept, kept]
                )
            self.assertEqual(
                json.loads(self.json_of([out]))["job"]["steps"],
                json.loads(self.json_of(urls))["job"]["steps"],
            )

    def test_secrets_of_a_url_are_not_shown(self):
        with Server() as server:
            server.files.bytes["/rank0.json"] = self.small[0]
            url = f"{server.url}/rank0.json?X-Amz-Signature=topsecret"
            for words in (["analyze", url], ["analyze", url, "--json", "-"]):
                done = self.run_program(*words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("topsecret", done.stdout + done.stderr)
            done = self.run_program("analyze", f"{server.url}/none.json?X-Amz-Signature=topsecret")
            self.assertNotIn("topsecret", done.stdout + done.stderr)

    def test_s3_objects_prefixes_and_patterns(self):
        paths = [self.local(f"s3/rank{r}.json", t) for r, t in enumerate(self.small)]
        expected = self.json_of(paths)
        with Server(S3Handler) as server:
            files = server.files
            for r, t in enumerate(self.small):
                files.bytes[f"/traces/run 1/a+b&c/rank{r}.json"] = t
            files.bytes["/traces/run 1/a+b&c/"] = b""
            files.bytes["/traces/run 1/notes.md"] = b"no trace"
            files.page = 2
            aws = {
                "AWS_ENDPOINT_URL": server.url,
                "AWS_REGION": REGION,
                "AWS_ACCESS_KEY_ID": KEY_ID,
                "AWS_SECRET_ACCESS_KEY": SECRET,
                "AWS_SESSION_TOKEN": TOKEN,
            }
            for inputs in (
                [f"s3://traces/run 1/a+b&c/rank{r}.json" for r in range(2)],
                ["s3://traces/run 1/"],
                ["s3://traces/run 1"],
                ["s3://traces"],
                ["s3://traces/run 1/*/rank?.json"],
            ):
                self.assertEqual(self.json_of(inputs, **aws), expected, inputs)
            out = os.path.join(self.folder.name, "s3digests")
            done = self.run_program("digest", "s3://traces/run 1/", "--out", out, **aws)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.exists(os.path.join(out, "a+b&c/rank1.json.digest")))
            one = "s3://traces/run 1/a+b&c/rank0.json"
            self.refused("s3://traces/none.json", "404", "NoSuchKey", "check bucket", **aws)
            self.refused("s3://traces/none/", "no traces below", **aws)
            self.refused("s3://traces/run 1/*.pt", "no object matches", **aws)
            self.refused(
                one,
                "403",
                "SignatureDoesNotMatch",
                "clock",
                **{**aws, "AWS_SECRET_ACCESS_KEY": "wrong"},
            )
            self.refused(
                one, "403", "AWS_ACCESS_KEY_ID", AWS_ENDPOINT_URL=server.url, AWS_REGION=REGION
            )
            self.refused(
                one,
                "AuthorizationHeaderMalformed",
                f"AWS_REGION={REGION}",
                **{**aws, "AWS_REGION": "us-east-1"},
            )
            files.signed = False  # a public bucket
            self.assertEqual(
                self.json_of(["s3://traces/run 1"], AWS_ENDPOINT_URL=server.url), expected
            )

    def test_an_answer_without_success_names_its_remedy(self):
        with Server() as server:
            url = server.url + "/t.json"
            self.refused(url, "HTTP 404 (not found)", "check the URL")
            server.files.faults["/t.json"] = lambda h: h.answer(403) or True
            self.refused(url, "HTTP 403 (forbidden)", "~/.netrc")
            tries = len(server.files.requests)
            server.files.faults["/t.json"] = lambda h: h.answer(503) or True
            self.refused(url, "HTTP 503", "tried 3 times")
            self.assertGreaterEqual(len(server.files.requests) - tries, 3)
            self.refused(server.url + "/", "folder of a web server")

    def test_a_busy_server_is_asked_again(self):
        with Server() as server:
            server.files.bytes["/rank0.json"] = self.small[0]
            answers = []

            def busy_once(handler):
                answers.append(1)
                return handler.answer(503) is None if len(answers) == 1 else False

            server.files.faults["/rank0.json"] = busy_once
            self.json_of([server.url + "/rank0.json"])
            self.assertGreaterEqual(len(answers), 2)

    def test_a_server_without_ranges(self):
        with Server() as server:
            server.files.bytes["/large.json"] = self.large
            server.files.bytes["/rank0.json"] = self.small[0]
            server.files.faults = {"/large.json": no_ranges, "/rank0.json": no_ranges}
            self.refused(server.url + "/large.json", "does not serve parts", "download")
            self.json_of([server.url + "/rank0.json"])  # the first answer is the whole file

    def test_a_file_that_changes_between_requests(self):
        other = self.large.replace(b"gemm", b"gemn")

        def change(with_match):
            def serve(handler):
                first = handler.headers["Range"].startswith("bytes=0-")
                if first:
                    handler.serve(self.large, etag=None if with_match else "")
                elif with_match:
                    handler.serve(other)
                else:
                    handler.serve(other, etag="", modified="Mon, 02 Nov 2026 10:00:01 GMT")
                return True

            return serve

        for with_match in (True, False):
            with Server() as server:
                server.files.faults["/large.json"] = change(with_match)
                self.refused(
                    server.url + "/large.json", "changed while it was read", "writer has finished"
                )

    def test_a_body_that_ends_early(self):
        def cut(handler):
            if handler.headers["Range"].startswith("bytes=0-"):
                return False
            part = handler.headers["Range"].removeprefix("bytes=").split("-")
            size = int(part[1]) - int(part[0]) + 1
            headers = [
                ("Content-Range", f"bytes {part[0]}-{part[1]}/{len(self.large)}"),
                ("ETag", etag_of(self.large)),
                ("Last-Modified", "Mon, 02 Nov 2026 10:00:00 GMT"),
            ]
            handler.answer(206, b"x" * 1000, headers, length=size)
            return True

        with Server() as server:
            server.files.bytes["/large.json"] = self.large
            server.files.faults["/large.json"] = cut
            self.refused(server.url + "/large.json", "byte 1048576", "tried 3 times")

    def test_redirects(self):
        with Server() as server:
            server.files.bytes["/rank0.json"] = self.small[0]
            server.files.faults["/moved.json"] = lambda h: (
                h.answer(302, b"", [("Location", server.url + "/rank0.json")]) or True
            )
            server.files.faults["/loop.json"] = lambda h: (
                h.answer(302, b"", [("Location", server.url + "/loop.json")]) or True
            )
            server.files.faults["/file.json"] = lambda h: (
                h.answer(302, b"", [("Location", "file:///etc/passwd")]) or True
            )
            self.json_of([server.url + "/moved.json"])
            self.refused(server.url + "/loop.json", "redirects", "that they lead to")
            self.refused(server.url + "/file.json", "cannot be read", "redirect")

    def test_timeouts_and_hosts_that_are_not_there(self):
        with Server() as server:

            def silent(_):
                time.sleep(20)
                return True

            server.files.faults["/t.json"] = silent
            begin = time.monotonic()
            self.refused(server.url + "/t.json", "STEPSCOPE_URL_TIMEOUT", STEPSCOPE_URL_TIMEOUT="1")
            self.assertLess(time.monotonic() - begin, 15)

            def dripping(handler):
                handler.send_response(200)
                handler.send_header("Content-Length", "1000000")
                handler.end_headers()
                for _ in range(40):  # two bytes a second
                    handler.wfile.write(b"{ ")
                    handler.wfile.flush()
                    time.sleep(1)
                return True

            server.files.faults["/drip.json"] = dripping
            self.refused(server.url + "/drip.json", "1024 bytes/sec", STEPSCOPE_URL_TIMEOUT="2")
            gone = server.url
        self.refused(gone + "/t.json", "cannot be read", "check host and port")
        self.refused("http://no-such-host.invalid/t.json", "cannot be read", "name of the host")

    def test_certificates(self):
        pair = os.path.join(self.folder.name, "pair.pem")
        try:
            subprocess.run(
                [
                    "openssl",
                    "req",
                    "-x509",
                    "-newkey",
                    "rsa:2048",
                    "-nodes",
                    "-days",
                    "2",
                    "-keyout",
                    pair,
                    "-out",
                ]
                + [
                    pair + ".crt",
                    "-subj",
                    "/CN=127.0.0.1",
                    "-addext",
                    "subjectAltName=IP:127.0.0.1",
                ],
                check=True,
                capture_output=True,
            )
        except FileNotFoundError:
            self.skipTest("no openssl")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair + ".crt", pair)
        with Server(context=context) as server:
            server.files.bytes["/rank0.json"] = self.small[0]
            server.files.faults["/down.json"] = lambda h: (
                h.answer(302, b"", [("Location", "http://127.0.0.1:1/")]) or True
            )
            self.refused(server.url + "/rank0.json", "CURL_CA_BUNDLE")
            self.json_of([server.url + "/rank0.json"], CURL_CA_BUNDLE=pair + ".crt")
            self.refused(server.url + "/down.json", "https", CURL_CA_BUNDLE=pair + ".crt")
            # AWS_CA_BUNDLE is for s3:// alone, and CURL_CA_BUNDLE is before it.
            self.refused(server.url + "/rank0.json", "CURL_CA_BUNDLE", AWS_CA_BUNDLE=pair + ".crt")
            both = {"CURL_CA_BUNDLE": pair + ".crt", "AWS_CA_BUNDLE": "/no/such/file.pem"}
            self.json_of([server.url + "/rank0.json"], **both)
        with Server(S3Handler, context=context) as server:
            server.files.signed = False
            server.files.bytes["/traces/rank0.json"] = self.small[0]
            s3 = {"AWS_ENDPOINT_URL": server.url, "AWS_REGION": REGION}
            self.json_of(["s3://traces/rank0.json"], AWS_CA_BUNDLE=pair + ".crt", **s3)
            self.json_of(["s3://traces/rank0.json"], **both, **s3)
            self.refused("s3://traces/rank0.json", "CURL_CA_BUNDLE", **s3)

    def test_no_libcurl(self):
        # A file of this name that is not a library stands first on the path of libraries.
        folder = os.path.join(self.folder.name, "lib")
        os.makedirs(folder, exist_ok=True)
        self.local("lib/libcurl.so.4", b"no library")
        self.refused("https://127.0.0.1/t.json", "libcurl", "install it", LD_LIBRARY_PATH=folder)

    def test_memory_is_bounded(self):
        # Logs are read as streams: one of 64 MiB takes no more memory than a small one and the parts that are ahead.
        text = b"x" * 1000 + b"\n"
        with Server() as server:
            server.files.bytes["/notes.log"] = text * 65000
            server.files.bytes["/small.log"] = text * 10

            def peak(name):
                words = ["/usr/bin/time", "-f", "%M", PROGRAM, "check", f"{server.url}/{name}"]
                done = subprocess.run(
                    words,
                    capture_output=True,
                    text=True,
                    check=False,
                    env={"PATH": "/usr/bin:/bin"},
                )
                return int(done.stderr.split()[-1])

            if os.path.exists("/usr/bin/time"):
                self.assertLess(peak("notes.log") - peak("small.log"), 40 << 10)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
