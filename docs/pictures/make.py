"""Make the pictures of the documentation: ``python docs/pictures/make.py``."""

import io
import re
from pathlib import Path

from rich.console import Console

from pellucid.cli.demo import show, take_digits_apart

HERE = Path(__file__).parent


def demo_screen() -> None:
    """What ``pellucid demo`` prints, as a vector picture."""
    take_digits_apart()  # the kernels compile in the first run, and the picture shows the second
    screen = Console(record=True, width=80, file=io.StringIO())
    show(screen, take_digits_apart())
    svg = screen.export_svg(title="pellucid demo")
    # the template names fonts on a server; any fixed-width font will do
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    (HERE / "demo.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    demo_screen()
