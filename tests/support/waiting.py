"""Waiting for what happens, never for a time: the one limit only ends a test that hangs."""

import time

# seconds; no machine is so busy that what a test waits for takes this long
PATIENCE = 600.0


def until(happened, patience=PATIENCE):
    """Look again and again until ``happened()`` is true, and give that back."""
    last = time.monotonic() + patience
    while not (found := happened()):
        assert time.monotonic() < last, "what the test waits for does not happen"
        time.sleep(0.01)
    return found


class Clock:
    """A stand-in for the module ``time`` that stands still except for sleeps, and calls ``meanwhile`` in each."""

    def __init__(self, meanwhile=lambda: None):
        self.now, self.sleeps, self.meanwhile = 0.0, [], meanwhile

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.sleeps.append(seconds)
        self.now += seconds
        self.meanwhile()
