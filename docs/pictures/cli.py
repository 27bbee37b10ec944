"""Screens of docs/cli.md: commands as they are typed, and what they print."""

import io
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from click.testing import CliRunner
from rich.console import Console
from rich.text import Text

from pellucid import vectors
from pellucid.cli import group
from pellucid.cli.demo import run

SCREENS = {
    "fit": [
        "concepts fit scenes.parquet --labels labels --n-atoms 6 -o scenes.safetensors",
        "concepts caption scenes.safetensors --words words.parquet",
    ],
    "search": [
        "index scenes.parquet -o scenes",
        "search scenes --model scenes.safetensors --item scene-1673 --concept animal -k 3 --explain",
        "search scenes --model scenes.safetensors --item scene-1673 --concept animal -k 3 --diverse",
    ],
    "structure": [
        "clusters fit collection --n-clusters 12 --n-atoms 4 --n-common 8 -o clusters.safetensors",
        "binary fit animals.parquet --method assignment -o animals.safetensors",
    ],
}
ANIMALS = ["trout", "carp", "eagle", "sparrow", "robin", "cat", "lion", "horse"]
GROUPS = [[2, 3, 4], [5, 6, 7], [0, 1], [3, 4], [5, 6], *([i] for i in range(8))]


def command_screens(folder: Path) -> None:
    with TemporaryDirectory() as place:
        run(Path(place))  # leaves the scenes and the words as files
        before = os.getcwd()
        os.chdir(place)
        directions = np.linalg.qr(np.random.default_rng(0).standard_normal((40, len(GROUPS))))[0].T
        kinds = np.array([[i in group for group in GROUPS] for i in range(len(ANIMALS))]).astype(int)
        vectors.write("animals.parquet", kinds @ directions, ANIMALS)
        try:
            for name, lines in SCREENS.items():
                (folder / f"cli-{name}.svg").write_text(picture(lines), encoding="utf-8")
        finally:
            os.chdir(before)


def picture(lines: list[str]) -> str:
    screen = Console(record=True, width=92, file=io.StringIO(), highlight=False)
    for line in lines:
        screen.print(f"[bold green]$[/] [bold]pellucid {line}[/]")
        done = CliRunner().invoke(group, line.split(), env={"FORCE_COLOR": "1", "COLUMNS": "92"}, color=True)
        assert done.exit_code == 0, done.output
        screen.print(Text.from_ansi(re.sub(r", [\d.]+ s\.", ".", done.stdout)))  # times differ from run to run
    # the template names fonts on a server; any fixed-width font will do
    return re.sub(r"@font-face \{.*?\}\s*", "", screen.export_svg(title="pellucid"), flags=re.S)
