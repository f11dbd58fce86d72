# SPDX-License-Identifier: Apache-2.0
"""A web server with ranges and a server that looks like S3, with the faults that tests ask for. Both serve dictionaries
of bytes. The S3 server computes each signature from the request that it got, as AWS describes Signature Version 4."""

import hashlib
import hmac
import http.server
import threading
import time
import urllib.parse
import xml.sax.saxutils

KEY_ID = "AKIDEXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "a session's token/+="
REGION = "eu-test-1"


class Files:
    """What a server serves, and the requests that it got."""

    def __init__(self):
        self.bytes = {}
        self.faults = {}  # path: function of the handler that answers instead; true: it has answered
        self.requests = []
        self.signed = True
        self.page = 1000  # objects in a page of a list


def etag_of(data):
    return '"' + hashlib.md5(data).hexdigest() + '"'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    @property
    def files(self):
        return self.server.files

    def answer(self, code, body=b"", headers=(), length=None):
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        if length is not None:
            self.wfile.flush()
            self.close_connection = True

    def serve(self, data, etag=None, modified="Mon, 02 Nov 2026 10:00:00 GMT", length=None):
        etag = etag_of(data) if etag is None else etag
        headers = [("ETag", etag)] if etag else []
        if modified:
            headers.append(("Last-Modified", modified))
        match = self.headers.get("If-Match")
        if match is not None and match != etag:
            return self.answer(412)
        asked = self.headers.get("Range")
        if asked is None:
            return self.answer(200, data, headers)
        first, last = (int(n) for n in asked.removeprefix("bytes=").split("-"))
        if first >= len(data):
            return self.answer(416, b"", [*headers, ("Content-Range", f"bytes */{len(data)}")])
        part = data[first : last + 1]
        headers.append(("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(data)}"))
        return self.answer(206, part, headers, length)

    def do_GET(self):
        try:
            self.get()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def get(self):
        path = urllib.parse.unquote(self.path.split("?")[0])
        self.files.requests.append((path, self.headers.get("Range")))
        fault = self.files.faults.get(path)
        if fault and fault(self):
            return
        data = self.files.bytes.get(path)
        if data is None:
            self.answer(404)
        else:
            self.serve(data)


def no_ranges(handler):
    handler.answer(200, handler.files.bytes[urllib.parse.unquote(handler.path.split("?")[0])])
    return True


class S3Handler(Handler):
    def error(self, code, name, headers=()):
        self.answer(
            code, f"<?xml version='1.0'?><Error><Code>{name}</Code></Error>".encode(), headers
        )

    def wrong_signature(self):
        """Why the request is not signed as Signature Version 4 asks; None: it is."""
        given = self.headers.get("Authorization", "")
        if not given.startswith("AWS4-HMAC-SHA256 "):
            return "AccessDenied"
        parts = dict(
            p.strip().split("=", 1) for p in given.removeprefix("AWS4-HMAC-SHA256 ").split(",")
        )
        key_id, day, region, service, end = parts["Credential"].split("/")
        instant = self.headers["x-amz-date"]
        names = parts["SignedHeaders"].split(";")
        if (key_id, service, end) != (KEY_ID, "s3", "aws4_request"):
            return "InvalidAccessKeyId"
        if region != REGION:
            return "AuthorizationHeaderMalformed"
        if (
            abs(time.time() - time.mktime(time.strptime(instant, "%Y%m%dT%H%M%SZ")) + time.timezone)
            > 900
        ):
            return "RequestTimeTooSkewed"
        must = {"host"} | {n.lower() for n in self.headers if n.lower().startswith("x-amz-")}
        if (
            names != sorted(names)
            or not must <= set(names)
            or self.headers.get("x-amz-security-token") != TOKEN
        ):
            return "InvalidRequest"
        path, _, query = self.path.partition("?")
        pairs = sorted(
            (
                urllib.parse.quote(urllib.parse.unquote(n), safe="-_.~"),
                urllib.parse.quote(urllib.parse.unquote(v), safe="-_.~"),
            )
            for n, _, v in (p.partition("=") for p in query.split("&") if p)
        )
        canonical = "\n".join(
            [
                "GET",
                urllib.parse.quote(urllib.parse.unquote(path), safe="/-_.~"),
                "&".join(f"{n}={v}" for n, v in pairs),
                *(f"{n}:{self.headers[n].strip()}" for n in names),
                "",
                ";".join(names),
                self.headers["x-amz-content-sha256"],
            ]
        )
        if self.headers["x-amz-content-sha256"] != hashlib.sha256(b"").hexdigest():
            return "XAmzContentSHA256Mismatch"
        scope = f"{day}/{region}/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{instant}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = ("AWS4" + SECRET).encode()
        for part in (day, region, "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        right = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        return None if hmac.compare_digest(right, parts["Signature"]) else "SignatureDoesNotMatch"

    def get(self):
        if self.files.signed:
            wrong = self.wrong_signature()
            if wrong == "AuthorizationHeaderMalformed":
                return self.error(400, wrong, [("x-amz-bucket-region", REGION)])
            if wrong:
                return self.error(403, wrong)
        path, _, query = self.path.partition("?")
        asked = urllib.parse.parse_qs(query)
        if asked.get("list-type") == ["2"]:
            return self.list(urllib.parse.unquote(path).strip("/"), asked)
        if (
            urllib.parse.unquote(path) not in self.files.bytes
            and urllib.parse.unquote(path) not in self.files.faults
        ):
            return self.error(404, "NoSuchKey")
        return super().get()

    def list(self, bucket, asked):
        prefix = f"/{bucket}/" + asked.get("prefix", [""])[0]
        names = sorted(n for n in self.files.bytes if n.startswith(prefix))
        begin = int(asked.get("continuation-token", ["0"])[0])
        page = names[begin : begin + self.files.page]
        more = begin + self.files.page < len(names)
        keys = "".join(
            f"<Contents><Key>{xml.sax.saxutils.escape(n.removeprefix(f'/{bucket}/'))}</Key></Contents>"
            for n in page
        )
        token = (
            f"<NextContinuationToken>{begin + self.files.page}</NextContinuationToken>"
            if more
            else ""
        )
        self.files.requests.append(("list", prefix))
        self.answer(
            200, f"<?xml version='1.0'?><ListBucketResult>{keys}{token}</ListBucketResult>".encode()
        )


class Server:
    """A server on a free port of this machine while it is the context."""

    def __init__(self, handler=Handler, context=None):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        self.http.files = self.files = Files()
        if context:
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
