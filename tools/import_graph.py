"""Draw which room of the package imports which, from the code: ``python tools/import_graph.py``.

Writes ``docs/pictures/import-graph.svg`` and the table of all imports in ``docs/architecture.md``. A test fails while
either is not what the code says.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "pellucid"
PICTURE = ROOT / "docs" / "pictures" / "import-graph.svg"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- written by tools/import_graph.py -->\n", "<!-- end -->\n"

# the rooms from the ground up, and how far to the right each stands; an import goes down, unless it waits for a call
FLOORS: tuple[dict[str, float], ...] = (
    {"_core": 2.7},
    {"solvers": 0.5, "vectors": 2, "metrics": 3.2, "persistence": 4.4, "datasets": 5.4},
    {"rows": 2},
    {"preparation": 2.5},
    {"binary": 0, "clusters": 1, "manifold": 2, "concepts": 3, "selection": 4},
    {"search": 3.45},
    {"plots": 1.9},
    {"explorer": 0.6, "integrations": 3.0},
    {"cli": 4.6},
)

BOX, COLUMN, FLOOR, MARGIN = (118, 34), 154, 78, 24
STYLE = """
    .ground { fill: #ffffff } .room { fill: #eef3fa; stroke: #5b7db1 } .path { stroke: #5b7db1 } .head { fill: #5b7db1 }
    text { fill: #1c2733; font: 14px ui-monospace, monospace; text-anchor: middle } .note { font-size: 12px }
    .path { fill: none; stroke-width: 1.4 } .late { stroke-dasharray: 4 4 }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #14181d } .room { fill: #202c3d; stroke: #86aadd } text { fill: #e6ebf1 }
      .path { stroke: #86aadd } .head { fill: #86aadd }
    }
"""


def room_of(path: Path) -> str:
    """The room that a module stands in; "" for the package itself."""
    first = path.relative_to(SOURCE).parts[0]
    return {"__init__.py": "", "__main__.py": "cli"}.get(first, first.removesuffix(".py"))


def imports_of(path: Path) -> Iterator[tuple[str, bool]]:
    """Rooms of this package that a module imports, wherever in the file, and whether that does not run when the module
    is imported: inside a function, or for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = {id(n) for outer in ast.walk(tree) if waits(outer) for n in ast.walk(outer)}
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively; say from where"
            if node.module == "pellucid":
                names = [f"pellucid.{a.name}" if is_room(a.name) else "pellucid" for a in node.names]
            elif node.module:
                names = [node.module]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        for name in names:
            if name.split(".")[0] == "pellucid":
                yield (name.split(".") + [""])[1], id(node) in late


def waits(node: ast.AST) -> bool:
    for_types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return for_types or isinstance(node, ast.FunctionDef)


def is_room(name: str) -> bool:
    return (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()


def edges() -> dict[tuple[str, str], bool]:
    """Which room imports which, and whether only late; the package itself, with its version, is no room."""
    found: dict[tuple[str, str], bool] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for target, late in imports_of(path):
            pair = room_of(path), target
            if all(pair) and pair[0] != pair[1]:
                found[pair] = found.get(pair, True) and late
    return found


def floor(room: str) -> int:
    return next(i for i, rooms in enumerate(FLOORS) if room in rooms)


def drawn(found: dict[tuple[str, str], bool]) -> list[tuple[str, str]]:
    """The edges of the picture: to the ground, on which all stand, there is none, and what a longer way down implies is
    left out."""
    down = {pair for pair in found if floor(pair[0]) > floor(pair[1])}
    below = {room: {b for a, b in down if a == room} for rooms in FLOORS for room in rooms}

    def reached(room: str) -> set[str]:
        return below[room].union(*(reached(other) for other in below[room]))

    return sorted(
        (a, b)
        for a, b in found
        if b not in FLOORS[0] and not ((a, b) in down and any(b in reached(other) for other in below[a] - {b}))
    )


def places() -> dict[str, tuple[float, float]]:
    """Centre of each box."""
    left, top = MARGIN + BOX[0] / 2, MARGIN + BOX[1] / 2
    return {
        room: (left + column * COLUMN, top + (len(FLOORS) - 1 - i) * FLOOR)
        for i, rooms in enumerate(FLOORS)
        for room, column in rooms.items()
    }


def picture() -> str:
    found, at = edges(), places()
    width, height = (round(max(place[i] for place in at.values()) + BOX[i] / 2 + MARGIN) for i in (0, 1))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="Which room imports which">',
        f"  <style>{STYLE}  </style>",
        '  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        f'  <rect class="ground" width="{width}" height="{height}" rx="8"/>',
    ]
    for a, b in drawn(found):
        (x, y), (u, v) = at[a], at[b]
        up = v < y  # imported when it is called: leaves and arrives on the other sides
        y, v = (y - BOX[1] / 2, v + BOX[1] / 2) if up else (y + BOX[1] / 2, v - BOX[1] / 2)
        bend = (v - y) / 2
        look = "path late" if found[a, b] else "path"
        lines.append(
            f'  <path class="{look}" marker-end="url(#tip)" d="M{x:g} {y:g} C{x:g} {y + bend:g} {u:g} {v - bend:g} '
            f'{u:g} {v:g}"><title>{a} imports {b}</title></path>'
        )
    for room, (x, y) in at.items():
        w = width - 2 * MARGIN if room == "_core" else BOX[0]
        lines.append(
            f'  <rect class="room" x="{x - w / 2:g}" y="{y - BOX[1] / 2:g}" width="{w:g}" height="{BOX[1]}" rx="6"/>'
        )
        name = "_core: everyone may import it" if room == "_core" else room
        lines.append(f'  <text x="{x:g}" y="{y + 5:g}">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


def table() -> str:
    """Every room with all that it imports, from the top down."""
    found = edges()
    lines = ["| room | imports | imported when called |", "| --- | --- | --- |"]
    for room in (room for rooms in reversed(FLOORS) for room in rooms):
        cells = [
            ", ".join(f"`{b}`" for a, b in sorted(found) if a == room and found[a, b] == late) or "–"
            for late in (False, True)
        ]
        lines.append(f"| `{room}` | {cells[0]} | {cells[1]} |")
    return "\n".join([*lines, ""])


def page() -> str:
    """The page with the table as it should be."""
    text = PAGE.read_text(encoding="utf-8")
    assert len(re.findall(f"{BEGIN}.*?{END}", text, flags=re.S)) == 1, f"{PAGE} has no place for the table"
    return re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{table()}\n{END}", text, flags=re.S)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8", newline="\n")
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
