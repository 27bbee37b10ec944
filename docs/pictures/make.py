"""Make the pictures of the documentation: ``python docs/pictures/make.py``."""

import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from binary import binary_pictures
from cli import command_screens
from clusters import cluster_pictures
from comparison import comparison_pictures
from concepts import concept_pictures
from erasure import erasure_pictures
from manifold import manifold_pictures
from programmes import programme_pictures
from rich.console import Console
from selection import selection_pictures

from pellucid.cli.demo import run

HERE = Path(__file__).parent


def demo_screen() -> None:
    """What ``pellucid demo`` prints, as a vector picture."""
    screen = Console(record=True, width=80, file=io.StringIO(), highlight=False)
    with TemporaryDirectory() as folder:
        run(
            Path(folder) / "pellucid-demo",
            lambda section, found: section(screen, {**found, "output": Path("pellucid-demo")}),
        )
    svg = screen.export_svg(title="pellucid demo")
    # the template names fonts on a server; any fixed-width font will do
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    (HERE / "demo.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    demo_screen()
    concept_pictures(HERE)
    comparison_pictures(HERE)
    erasure_pictures(HERE)
    programme_pictures(HERE)
    command_screens(HERE)
    selection_pictures(HERE)
    binary_pictures(HERE)
    cluster_pictures(HERE)
    manifold_pictures(HERE)
