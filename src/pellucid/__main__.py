"""Where the command begins: Ctrl-C says the same from the first moment, also while the rest is being imported."""

import os
import signal
from types import FrameType


def _stop(number: int, frame: FrameType | None) -> None:
    os.write(2, b"Stopped.\n")
    os._exit(1)


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, _stop)
    from pellucid._core import interrupts
    from pellucid.cli import main as run

    interrupts.listen()
    try:
        run()
    finally:
        interrupts.deafen()


if __name__ == "__main__":
    main()
