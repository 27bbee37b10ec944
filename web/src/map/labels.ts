// Which names are written on the map, and where: as many as fit, the most telling first, none over another.

import type { MapName } from "../lib/api";
import type { Camera } from "./camera";

export interface Label extends MapName {
  /** the middle of its box on the screen, and its size */
  px: number;
  py: number;
  width: number;
  height: number;
}

export const NEAR = 1.8; // zoom from which words of the items are written, too
const FEW = 8; // with fewer names than this words are written from afar, too
const MOST_FAR = 20;
const MOST_NEAR = 40;
const GAP = 4;
const TALL = [17, 15];

export function placeLabels(
  names: MapName[],
  camera: Camera,
  measure: (text: string, level: number) => number,
  blocked: { left: number; top: number; right: number; bottom: number }[] = [],
): Label[] {
  const near = camera.zoom >= NEAR;
  const far = names.filter((name) => name.level === 0);
  const listed = near || far.length < FEW ? names : far;
  const placed: Label[] = [];
  for (const name of listed) {
    if (placed.length >= (near ? MOST_NEAR : MOST_FAR)) break;
    const [px, py] = camera.screen(name.x, name.y);
    const [width, height] = [measure(name.name, name.level), TALL[name.level]];
    const [left, right, top, bottom] = [px - width / 2, px + width / 2, py - height / 2, py + height / 2];
    if (left < 2 || top < 2 || right > camera.width - 2 || bottom > camera.height - 2) continue;
    if (blocked.some((b) => left < b.right && right > b.left && top < b.bottom && bottom > b.top)) continue;
    const covers = (other: Label) =>
      Math.abs(other.px - px) < (other.width + width) / 2 + GAP &&
      Math.abs(other.py - py) < (other.height + height) / 2 + GAP;
    if (!placed.some(covers)) placed.push({ ...name, px, py, width, height });
  }
  return placed;
}
