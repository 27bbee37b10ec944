// Results leave the page as text for a program, a table or a picture.

import { tell } from "./state.svelte";

export function save(name: string, content: Blob | string, type = "text/plain") {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
  tell(`Saved ${name}.`);
}

export async function copy(text: string) {
  try {
    await navigator.clipboard.writeText(text);
    tell("Copied: paste it into Python.");
  } catch {
    tell("This browser does not let the page copy; the text is in the box.");
    prompt("Copy this:", text);
  }
}

const cell = (value: unknown) => {
  const text = value === null || value === undefined ? "" : Array.isArray(value) ? value.join("; ") : String(value);
  // a spreadsheet would run a cell that begins like a formula
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const csv = (rows: unknown[][]) => rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

/** An SVG as a PNG, twice as large. */
export async function png(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.width * 2;
  canvas.height = image.height * 2;
  const context = canvas.getContext("2d")!;
  context.scale(2, 2);
  context.drawImage(image, 0, 0);
  return blob(canvas);
}

export const blob = (canvas: HTMLCanvasElement): Promise<Blob> =>
  new Promise((done, failed) =>
    canvas.toBlob((b) => (b ? done(b) : failed(new Error("The picture is too large."))), "image/png"),
  );
