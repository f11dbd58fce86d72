"""Programs that take turns at training: each answers a line "N" on its standard input, after N steps, with
"<processor ms> <wall ms>" and sleeps until the next."""

import statistics
import subprocess


class Served:
    def __init__(self, *command, **popen):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **popen)
        self.answer = []  # all words of the last answer

    def run(self, steps):
        """Milliseconds per step: processor time, wall time."""
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        self.answer = self.process.stdout.readline().split()
        if len(self.answer) < 2:
            raise SystemExit(f"{' '.join(self.process.args)} has ended: {self.process.wait()}")
        return tuple(float(word) / steps for word in self.answer[:2])


def print_ratios(name, rows):
    """`rows`: both programs' (processor, wall) of each round. Returns the ratio of speeds: min, median, max."""
    for i, clock in enumerate(["processor", "wall"]):
        ours = [row[0][i] for row in rows]
        theirs = [row[1][i] for row in rows]
        ratio = [b / a for a, b in zip(ours, theirs)]
        print(f"  {clock:9} stepscope {statistics.median(ours):.1f} ms, {name} {statistics.median(theirs):.1f} ms: "
              f"{min(ratio):.2f} / {statistics.median(ratio):.2f} / {max(ratio):.2f} times as fast")
