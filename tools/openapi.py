"""Write the description of the explorer's HTTP service to web/openapi.json, which the page's types are made from.

No server is started and no collection opened: the routes describe themselves.
"""

import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "web" / "openapi.json"


def description() -> str:
    from pellucid.explorer.app import build
    from pellucid.explorer.limits import Limits

    state: Any = None  # only a request would ask it something
    schema = build(state, token=None, hosts=None, limits=Limits()).openapi()
    schema["info"]["version"] = "0.0.0"  # so that a release changes nothing here
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(description(), encoding="utf-8", newline="\n")
