# SPDX-License-Identifier: Apache-2.0
"""live_server_test.py PROGRAM: slow clients, endless headers and 1,000 connections at once do not keep the page of
`stepscope live --serve` from being served, and its memory stays bounded."""

import os
import re
import resource
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time

program = sys.argv[1]
CONNECTIONS = 1000
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(
    resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else 65536, hard)
)


def connect(place, timeout=5):
    return socket.create_connection(place, timeout)


def page_within(place, seconds):
    """Seconds until the page was served; fails after this number of seconds."""
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        try:
            with connect(place) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = b""
                while chunk := client.recv(65536):
                    answer += chunk
            if answer.startswith(b"HTTP/1.1 200") and b"</html>" in answer:
                return time.monotonic() - begin
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit(f"FAILED: the page was not served within {seconds} s")


def memory(process):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) / 1000


def endless_header(place):
    """Sends a header without an end: the server closes or refuses it soon."""
    with connect(place, 20) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ")
        answer = b""
        try:
            for _ in range(4096):
                client.sendall(b"a" * 4096)
                if select.select([client], [], [], 0)[0]:
                    answer = client.recv(100)
                    break
            else:
                sys.exit("FAILED: a header of 16 MB was taken")
        except (BrokenPipeError, ConnectionResetError):
            return
        if answer and not re.match(rb"HTTP/1.1 4(13|31)", answer):
            sys.exit(f"FAILED: an endless header was answered with {answer}")


def trickle(place, clients, stop):
    """Clients that send a byte of a header every second, and never end it."""
    open_clients = []
    for _ in range(clients):
        try:
            client = connect(place)
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            open_clients.append(client)
        except OSError:
            pass
    while not stop.wait(1):
        for client in list(open_clients):
            try:
                client.sendall(b"a")
            except OSError:
                open_clients.remove(client)
    for client in open_clients:
        client.close()


with tempfile.TemporaryDirectory() as folder:
    log = os.path.join(folder, "train.log")
    with open(log, "w") as file:
        for step in range(40):
            file.write(
                f"step {step:5d}  loss 4.0000  norm 2.976  lr 3.00e-04     200.{step % 10} ms   4.46 k tokens/s   16.6 % MFU\n"
            )
    process = subprocess.Popen(
        [program, "live", folder, "--plain", "--serve", "0", "--interval", "0.5s"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        host, port = re.search(r"http://([0-9.]+):(\d+)/", process.stderr.readline()).groups()
        place = (host, int(port))
        page_within(place, 10)
        before = memory(process)

        with connect(place) as other:  # a name of another site that resolves to this host
            other.sendall(b"GET /state.json HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            answer = other.recv(100)
            if not answer.startswith(b"HTTP/1.1 403"):
                sys.exit(f"FAILED: a request for evil.example was answered with {answer}")
        endless_header(place)
        page_within(place, 10)

        # More clients than are served at once, which say nothing.
        idle = []
        for _ in range(CONNECTIONS):
            try:
                idle.append(connect(place, 0.5))
            except OSError:
                pass
        waited_idle = page_within(place, 30)
        for client in idle:
            client.close()

        # As many as are served at once, which never stop talking.
        stop = threading.Event()
        talkers = threading.Thread(target=trickle, args=(place, 300, stop))
        talkers.start()
        time.sleep(3)
        waited_slow = page_within(place, 60)
        stop.set()
        talkers.join()

        after = memory(process)
        if after > before + 32:
            sys.exit(f"FAILED: memory grew from {before:.0f} to {after:.0f} MB")
        if process.poll() is not None:
            sys.exit("FAILED: stepscope live has ended")
        print(
            f"live server: ok; the page came {waited_idle:.0f} s after {len(idle)} idle clients, {waited_slow:.0f} s after"
            f" slow ones; memory {before:.0f} to {after:.0f} MB"
        )
    finally:
        process.kill()
        process.wait()
