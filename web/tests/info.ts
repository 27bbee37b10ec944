import type { Hit, Info } from "../src/lib/api";

/** A collection of three items with two concepts. */
export const info = (changed: Partial<Info> = {}): Info => ({
  name: "demo",
  folder: "/data/demo",
  count: 3,
  dimension: 4,
  engine: "exact",
  columns: [],
  text_column: "text",
  has_thumbnails: false,
  model: "/data/model.safetensors",
  concepts: ["animal", "plant"],
  labels: ["animal", "plant"],
  presence: false,
  n_clusters: null,
  n_binary: null,
  encoder: null,
  files: {},
  image_shape: null,
  version: "0",
  ...changed,
});

export const hit = (row: number): Hit => ({
  rank: row + 1,
  score: 1 / (row + 1),
  id: `item-${row}`,
  item: { id: `item-${row}`, row, columns: {} },
  shares: null,
});
