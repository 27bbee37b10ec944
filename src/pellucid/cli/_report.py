"""The demo's report: one HTML file with everything in it, pictures too."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path
from typing import Any

from pellucid._core.atomic import atomic_path

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --faint: #52606d; --paper: #ffffff; --line: #d8dee4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --faint: #9fb0c0; --paper: #16191d; --line: #3a424b; }
}
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0; }
main { max-width: 58rem; margin: 0 auto; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.4rem 0 .4rem; }
p { max-width: 44rem; margin: .5rem 0; } .lead { color: var(--faint); }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; padding: .6rem;
  box-sizing: border-box; border: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .8rem; font-size: .85rem; }
.columns { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(19rem, 1fr)); }
"""


def write_report(path: Path, found: dict[str, Any], model: Any, item: Any, validation: Any) -> None:
    """Write what the demo found; without matplotlib, tables and words alone."""
    drawn = pictures(found, model, item, validation)
    query, figures, folder = found["query"], found["figures"], path.parent
    concept = escape(query["concept"])
    body = [
        "<h1>What 3 000 scenes are made of</h1>",
        f'<p class="lead">Pellucid learned a positive cone for each of {figures["concepts"]} concepts from the vectors '
        "of described scenes and the labels of some of them. A vector is then a sum of parts, one for each concept, "
        "and any collection can be searched by one part alone.</p>",
        "<h2>Finding scenes that share one concept with the query</h2>",
        "<p>Mean average precision of the first 20 results, for scenes that neither fit has seen: the same concept "
        "(some animal), and the same thing under it (a dog).</p>",
        drawn.get("retrieval", ""),
        scores(figures["retrieval_map_at_20"]),
        "<h2>What each concept holds, in words</h2>",
        "<p>No words went into these cones: of 2 000 common words, those of which the least is left outside.</p>",
        drawn.get("captions") or captions(found["captions"]),
        "<h2>Groups found without any label</h2>",
        "<p>Twelve clusters, each with atoms of its own beside those that all share; the words nearest to what is its "
        "own.</p>",
        groups(found["groups"]),
        "<h2>One scene and its parts</h2>",
        f"<p>{escape(query['text'])}</p>",
        drawn.get("parts") or parts(found["parts"]),
        f"<h2>Its neighbours, as a whole and by {concept}</h2>",
        drawn.get("neighbours")
        or '<div class="columns">'
        + hits(found, "plain", "nearest as a whole")
        + hits(found, "filtered", f"nearest by {concept}")
        + "</div>",
        "<h2>The same, but unlike each other</h2>",
        f"<p>The nearest by {concept} beside {len(found['hits']['diverse'])} of a longer list that do not repeat each "
        "other.</p>",
        '<div class="columns">' + hits(found, "filtered", "nearest") + hits(found, "diverse", "diverse") + "</div>",
        "<h2>Why is the first neighbour close?</h2>",
        f"<p>{escape(found['hits']['plain'][0].item['text'])}</p>",
        drawn.get("why") or f"<pre>{escape(str(found['why']))}</pre>",
        *(
            ["<h2>Cones are separate parts</h2>", "<p>Atoms of one concept are used together, others rarely.</p>"]
            + [drawn["together"]]
            if "together" in drawn
            else ["<p>Install <code>pellucid[plots]</code> to have pictures here.</p>"]
        ),
        "<h2>Go on</h2>",
        commands(folder, query),
    ]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Pellucid demo</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>"
    )
    with atomic_path(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def pictures(found: dict[str, Any], model: Any, item: Any, validation: Any) -> dict[str, str]:
    """Every picture as an HTML figure; none if matplotlib is not there."""
    from pellucid import plots

    query = found["query"]
    try:
        drawn = {
            "retrieval": (
                plots.retrieval(found["figures"]["retrieval_map_at_20"]),
                "Methods compared, as in the table",
            ),
            "captions": (plots.captions(found["captions"]), "The words that each concept holds best"),
            "parts": (plots.component_bars(model, item), "Share of each concept in the scene"),
            "neighbours": (
                plots.neighbours(
                    found["hits"]["filtered"],
                    found["hits"]["plain"],
                    concept=query["concept"],
                    relevant=lambda hit: query["concept"] in hit.item["labels"],
                ),
                f"Neighbours as a whole and by {query['concept']}; a filled dot marks those that have the concept",
            ),
            "why": (plots.explanation(found["why"]), "The cosine of the two scenes as a sum over concepts"),
            "together": (
                plots.heatmap(model.cooccurrence(validation), groups=model.groups_, names=model.concept_names_),
                "How often atoms are used together; blocks along the diagonal are concepts",
            ),
        }
    except ImportError:
        return {}
    return {name: figure(ax, text) for name, (ax, text) in drawn.items()}


def figure(ax: Any, text: str) -> str:
    stream = io.BytesIO()
    ax.figure.savefig(stream, format="png", dpi=140, metadata={"Software": None})
    encoded = base64.b64encode(stream.getvalue()).decode()
    width = round(100 * ax.figure.get_figwidth())  # pixels, so that the text in all pictures has one size
    return f'<figure><img src="data:image/png;base64,{encoded}" width="{width}" alt="{escape(text)}"></figure>'


def scores(table: dict[str, dict[str, float]]) -> str:
    rows = "".join(
        f'<tr><td>{escape(title)}</td><td class="n">{row["general"]:.3f}</td><td class="n">{row["sub"]:.3f}</td></tr>'
        for title, row in table.items()
    )
    head = '<tr><th>search by</th><th class="n">same concept</th><th class="n">same thing</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def captions(found: dict[str, list[tuple[str, float]]]) -> str:
    rows = "".join(
        f"<tr><th>{escape(str(concept))}</th><td>{escape(', '.join(word for word, _ in words))}</td></tr>"
        for concept, words in found.items()
    )
    return f"<table><tbody>{rows}</tbody></table>"


def parts(found: list[tuple[float, str]]) -> str:
    rows = "".join(f'<tr><td>{escape(name)}</td><td class="n">{share:.0%}</td></tr>' for share, name in found)
    return f"<table><tbody>{rows}</tbody></table>"


def hits(found: dict[str, Any], kind: str, title: str) -> str:
    rows = "".join(
        f'<tr><td class="n">{hit.score:.2f}</td><td>{escape(hit.item["text"])}</td></tr>' for hit in found["hits"][kind]
    )
    return f'<table><thead><tr><th class="n"></th><th>{title}</th></tr></thead><tbody>{rows}</tbody></table>'


def groups(found: list[dict[str, Any]]) -> str:
    rows = "".join(
        f'<tr><td class="n">{group["items"]}</td><td>{escape(", ".join(group["words"]))}</td></tr>'
        for group in sorted(found, key=lambda group: -group["items"])
    )
    return f'<table><tr><th class="n">scenes</th><th>nearest words</th></tr>{rows}</table>'


def commands(folder: Path, query: dict[str, str]) -> str:
    place = escape(str(folder))
    return (
        "<p>The folder of this report has the vectors, the words, the model and the collection:</p><pre>"
        f"pellucid explore {place}/collection --model {place}/model.safetensors --model {place}/clusters.safetensors "
        f"--model {place}/binary.safetensors --words {place}/words.parquet\n"
        f"pellucid search {place}/collection --model {place}/model.safetensors --item {query['id']} "
        f"--concept {escape(query['concept'])} --explain\n"
        f"pellucid concepts fit {place}/scenes.parquet --words {place}/concepts.parquet -o zero-shot.safetensors</pre>"
    )
