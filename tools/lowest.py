"""Print the lowest versions that pyproject.toml allows, as constraints for pip: `python tools/lowest.py search plots`.

Without names of extras, those of the core.
"""

import re
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib  # type: ignore[no-redef]


def lowest(extras: list[str]) -> list[str]:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    found = (re.fullmatch(r"([\w-]+)(?:\[[\w,-]+\])?>=([\w.]+).*", requirement) for requirement in wanted)
    return [f"{match[1]}=={match[2]}" for match in found if match]


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
