// Results as pictures of their own, for slides and papers: plain SVG on white, in the colours of the page.

import type { Analogram, BinaryConcept, Cluster, Explanation, Hit, Item, Parts } from "./api";
import { css, hex, hue, mix } from "./colours";
import { marks, placed } from "./graph";
import { percent, signed } from "./format";
import { bitName } from "./names.svelte";
import { caption, shared } from "./state.svelte";

const FONT = `font-family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"`;
const escape = (text: string) =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);
const cut = (text: string, most: number) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
const colour = (name: string) => {
  const names = shared.info?.concepts ?? [];
  return hex(hue(Math.max(0, names.indexOf(name)), names.length, false));
};

function text(x: number, y: number, content: string, options = ""): string {
  return `<text x="${x}" y="${y}" fill="#1b1f27" font-size="13" ${FONT} ${options}>${escape(content)}</text>`;
}

function frame(width: number, height: number, content: string[]): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
    `<rect width="100%" height="100%" fill="#fff"/>${content.join("")}</svg>`
  );
}

export function bars(title: string, rows: { name: string; share: number }[]): string {
  const high = Math.max(...rows.map((r) => r.share), 1e-9);
  const out = [text(16, 28, cut(title, 80), 'font-weight="600"')];
  rows.forEach(({ name, share }, i) => {
    const y = 46 + i * 24;
    out.push(text(120, y + 13, cut(name, 18), 'text-anchor="end"'));
    out.push(
      `<rect x="130" y="${y}" width="${((380 * share) / high).toFixed(1)}" height="17" rx="3" fill="${colour(name)}"/>`,
    );
    out.push(text(136 + (380 * share) / high, y + 13, percent(share, 1)));
  });
  return frame(600, 62 + rows.length * 24, out);
}

export const partsChart = (title: string, parts: Parts) =>
  bars(
    title,
    parts.parts.map((p) => ({ name: p.concept, share: p.share })),
  );

export function hitsChart(title: string, query: string, hits: Hit[]): string {
  const out = [text(16, 28, title, 'font-weight="600"'), text(16, 48, cut(query, 105), 'opacity=".7"')];
  hits.forEach((hit, i) => {
    const y = 66 + i * 26;
    out.push(text(34, y + 13, String(hit.rank), 'text-anchor="end" opacity=".6"'));
    out.push(text(44, y + 13, hit.score.toFixed(3)));
    let x = 92;
    hit.shares?.forEach((signed, j) => {
      const share =
        Math.max(0, signed) /
        Math.max(
          1,
          hit.shares!.reduce((sum, s) => sum + Math.max(0, s), 0),
        );
      out.push(
        `<rect x="${x.toFixed(1)}" y="${y + 3}" width="${(80 * share).toFixed(1)}" height="11" fill="${colour(shared.info!.concepts[j])}"/>`,
      );
      x += 80 * share;
    });
    out.push(text(184, y + 13, cut(caption(hit.item), 84)));
  });
  return frame(760, 80 + hits.length * 26, out);
}

export function itemsChart(title: string, items: Item[], most = 200): string {
  const out = [text(16, 28, title, 'font-weight="600"')];
  items.slice(0, most).forEach((item, i) => {
    out.push(text(16, 56 + i * 22, cut(item.id, 18), 'opacity=".6"'), text(150, 56 + i * 22, cut(caption(item), 90)));
  });
  return frame(760, 58 + Math.min(items.length, most) * 22, out);
}

export function whyChart(title: string, why: Explanation): string {
  const rows = why.terms
    .map((term, j) => ({ name: why.names[j], term }))
    .sort((a, b) => Math.abs(b.term) - Math.abs(a.term));
  const concepts = rows.length;
  rows.push({ name: "not in any concept", term: why.residual });
  if (why.presence) rows.push({ name: "likely has the concept", term: why.presence });
  const high = Math.max(...rows.map((r) => Math.abs(r.term)), 1e-9);
  const out = [text(16, 28, `${title}: score ${signed(why.score, 3)}`, 'font-weight="600"')];
  rows.forEach(({ name, term }, i) => {
    const y = 46 + i * 24;
    const width = (170 * Math.abs(term)) / high;
    const fill = i >= concepts ? "#9aa3b2" : colour(name);
    out.push(text(150, y + 13, cut(name, 20), 'text-anchor="end"'));
    out.push(
      `<rect x="${(330 - (term < 0 ? width : 0)).toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="17" rx="3" fill="${fill}"/>`,
    );
    out.push(text(520, y + 13, signed(term, 3)));
  });
  out.push(`<line x1="330" x2="330" y1="40" y2="${50 + rows.length * 24}" stroke="#1b1f27"/>`);
  return frame(600, 66 + rows.length * 24, out);
}

export function heatChart(title: string, names: string[], matrix: number[][]): string {
  const side = 34;
  const left = 130;
  const top = 130;
  const out = [text(16, 28, title, 'font-weight="600"')];
  names.forEach((name, i) => {
    out.push(text(left - 8, top + i * side + 21, cut(name, 16), 'text-anchor="end"'));
    const x = left + i * side + 20;
    out.push(text(x, top - 8, cut(name, 16), `transform="rotate(-55 ${x} ${top - 8})"`));
    matrix[i].forEach((share, j) => {
      const fill = i === j ? "#eceef2" : css(mix([255, 255, 255], [79, 92, 214], Math.min(1, share)));
      out.push(
        `<rect x="${left + j * side}" y="${top + i * side}" width="${side - 2}" height="${side - 2}" rx="3" fill="${fill}"/>`,
      );
      if (i !== j) {
        const ink = share > 0.55 ? "#fff" : "#1b1f27";
        out.push(
          `<text x="${left + j * side + 16}" y="${top + i * side + 20}" font-size="10" text-anchor="middle" fill="${ink}" ${FONT}>${Math.round(100 * share)}</text>`,
        );
      }
    });
  });
  return frame(left + names.length * side + 60, top + names.length * side + 20, out);
}

/** Bars of several stretches each, which may leave a rest. */
function stacks(
  title: string,
  rows: { name: string; parts: [number, string][]; note: string }[],
  key: [string, string][],
): string {
  const out = [text(16, 28, cut(title, 80), 'font-weight="600"')];
  let x = 130;
  for (const [name, fill] of key) {
    out.push(`<rect x="${x}" y="40" width="12" height="10" rx="2" fill="${fill}"/>`, text(x + 18, 50, name));
    x += 40 + 8 * name.length;
  }
  rows.forEach(({ name, parts, note }, i) => {
    const y = 66 + i * 24;
    let left = 130;
    out.push(text(120, y + 13, cut(name, 18), 'text-anchor="end"'));
    out.push(`<rect x="130" y="${y}" width="300" height="17" rx="3" fill="#eceef2"/>`);
    for (const [share, fill] of parts) {
      const width = 300 * Math.max(0, Math.min(1, share));
      out.push(`<rect x="${left.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="17" fill="${fill}"/>`);
      left += width;
    }
    out.push(text(440, y + 13, cut(note, 44)));
  });
  return frame(760, 82 + rows.length * 24, out);
}

const OWN = "#4f5cd6";
const COMMON = "#9aa3b2";
const PARTS: [string, string][] = [
  ["its own", OWN],
  ["shared by all", COMMON],
];

export const clustersChart = (title: string, clusters: Cluster[]) =>
  stacks(
    title,
    clusters.map((c) => ({
      name: `${c.name} (${c.count})`,
      parts: [
        [c.own ?? 0, OWN],
        [c.common ?? 0, COMMON],
      ],
      note: c.words.join(", "),
    })),
    PARTS,
  );

export const splitChart = (title: string, [own, common]: number[]) =>
  stacks(
    title,
    [
      {
        name: "parts",
        parts: [
          [own, OWN],
          [common, COMMON],
        ],
        note: `own ${percent(own)}, shared ${percent(common)}`,
      },
    ],
    PARTS,
  );

export const binaryChart = (title: string, concepts: BinaryConcept[]) =>
  stacks(
    title,
    concepts.map((c) => ({
      name: `${bitName(c.concept)} (${c.count})`,
      parts: [[c.share, OWN]],
      note: c.words.join(", ") || (c.label?.name ?? ""),
    })),
    [["share of the weights", OWN]],
  );

export function analogramChart(title: string, graph: Analogram): string {
  const [width, height] = [960, 680];
  const said = (items: number[]) =>
    cut(graph.items ? caption(graph.items[items[0]]) : graph.names[items[0]], 26) +
    (items.length > 1 ? ` +${items.length - 1}` : "");
  const at = placed(graph, width, height, 190, said);
  const line = (c: number) => hex(hue(c, graph.concepts.length, false));
  const out = graph.edges.map(
    ([v, u, c]) =>
      `<line x1="${at[v].x.toFixed(1)}" y1="${at[v].y.toFixed(1)}" x2="${at[u].x.toFixed(1)}" y2="${at[u].y.toFixed(1)}" stroke="${line(c)}" stroke-width="2.4"/>`,
  );
  const halo = 'stroke="#fff" stroke-width="4" paint-order="stroke"';
  marks(graph, at, width, height).forEach(({ x, y }, c) =>
    out.push(
      `<text x="${x.toFixed(1)}" y="${(y + 4).toFixed(1)}" fill="${line(c)}" font-size="11" font-weight="650" text-anchor="middle" ${halo} ${FONT}>${c + 1}</text>`,
    ),
  );
  for (const node of at) {
    const hidden = node.items.length === 0;
    out.push(
      `<circle cx="${node.x.toFixed(1)}" cy="${node.y.toFixed(1)}" r="${hidden ? 3 : 6}" fill="${hidden ? "#fff" : "#1b1f27"}" stroke="${hidden ? "#8a93a3" : "#fff"}"/>`,
    );
    if (hidden) continue;
    out.push(text(node.x + node.dx, node.y + node.dy, said(node.items), `text-anchor="${node.anchor}" ${halo}`));
  }
  out.push(text(16, 28, cut(title, 80), 'font-weight="600"'));
  return frame(width, height, out);
}
