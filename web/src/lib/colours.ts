// One colour per concept, the same in every view, and the colours of the map.

export type Rgb = [number, number, number];

/** OKLCH to sRGB: equal steps of hue look equally bright. */
function oklch(light: number, chroma: number, hue: number): Rgb {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((v) => {
    const c = v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, c)));
  }) as Rgb;
}

/** Twelve that stay apart also for who sees no red, no green or no blue (tests/lib/colours.test.ts). */
const TWELVE: Record<"light" | "dark", Rgb[]> = {
  light: [
    [68, 102, 248],
    [200, 7, 52],
    [0, 105, 3],
    [179, 49, 183],
    [148, 136, 21],
    [21, 155, 206],
    [88, 0, 134],
    [238, 64, 148],
    [142, 18, 100],
    [17, 34, 180],
    [36, 205, 69],
    [231, 114, 253],
  ],
  dark: [
    [127, 98, 253],
    [221, 245, 9],
    [230, 41, 62],
    [3, 209, 252],
    [255, 162, 166],
    [209, 122, 181],
    [191, 63, 195],
    [56, 254, 200],
    [76, 155, 251],
    [136, 215, 62],
    [252, 116, 25],
    [136, 166, 91],
  ],
};

/** The i-th of n colours: up to twelve of the chosen ones, beyond that steps on the wheel, neighbours far apart. */
export function hue(i: number, n: number, dark: boolean): Rgb {
  if (n <= 12) return TWELVE[dark ? "dark" : "light"][i % 12];
  const step = [5, 7, 3, 2, 11].find((s) => n % s !== 0)!;
  const turn = 28 + (360 * ((i * step) % n)) / n;
  const lift = i % 2 ? 0.055 : 0;
  return dark ? oklch(0.71 + lift, 0.145, turn) : oklch(0.6 - lift, 0.15, turn);
}

export const css = ([r, g, b]: Rgb) => `rgb(${r} ${g} ${b})`;
export const hex = (rgb: Rgb) => "#" + rgb.map((v) => v.toString(16).padStart(2, "0")).join("");
export const pack = ([r, g, b]: Rgb) => (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
export const mix = (a: Rgb, b: Rgb, t: number): Rgb => a.map((v, i) => Math.round(v + (b[i] - v) * t)) as Rgb;

/** Black or white, whichever can be read on that colour. */
export function inkOn(rgb: Rgb): string {
  const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

export const ground = (dark: boolean): Rgb => (dark ? [14, 17, 23] : [250, 250, 248]);
export const faint = (dark: boolean): Rgb => (dark ? [58, 66, 80] : [205, 209, 216]);
export const plainDot = (dark: boolean): Rgb => (dark ? [122, 140, 255] : [79, 92, 214]);

const LEVELS = 64;

export interface Paint {
  /** per point a colour, packed as the bytes of a pixel */
  colours: Uint32Array;
  /** what is drawn first; null for the order of rows */
  order: Uint32Array | null;
}

/** All points alike. */
export function plainPaint(n: number, dot: Rgb): Paint {
  return { colours: new Uint32Array(n).fill(pack(dot)), order: null };
}

/** From faint to the full colour, strong values on top. */
export function byValue(values: Float32Array, strong: Rgb, dark: boolean): Paint & { high: number } {
  const high = Math.max(1e-9, Math.min(1, nearlyHighest(values)));
  const table = Uint32Array.from({ length: LEVELS }, (_, i) =>
    pack(mix(faint(dark), strong, (i / (LEVELS - 1)) ** 0.8)),
  );
  const levels = new Uint8Array(values.length);
  const colours = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    levels[i] = Math.min(LEVELS - 1, Math.max(0, (values[i] / high) * LEVELS));
    colours[i] = table[levels[i]];
  }
  return { colours, order: byLevel(levels), high };
}

/** What one in two hundred values exceeds, judged from a sample: single ones must not make all others pale. */
function nearlyHighest(values: Float32Array): number {
  const step = Math.max(1, Math.floor(values.length / 20_000));
  const some = values.filter((_, i) => i % step === 0).sort();
  return some[Math.floor(some.length * 0.995)] ?? 0;
}

/** One colour per code; codes outside the table are faint, and lie below. */
export function byCode(codes: Uint16Array, table: Rgb[], dark: boolean): Paint {
  const packed = table.map(pack);
  const none = pack(faint(dark));
  const colours = new Uint32Array(codes.length);
  const levels = new Uint8Array(codes.length);
  let outside = false;
  for (let i = 0; i < codes.length; i++) {
    const known = codes[i] < packed.length;
    colours[i] = known ? packed[codes[i]] : none;
    levels[i] = known ? 1 : 0;
    outside ||= !known;
  }
  return { colours, order: outside ? byLevel(levels) : null };
}

function byLevel(levels: Uint8Array): Uint32Array {
  const starts = new Uint32Array(257);
  for (const level of levels) starts[level + 1]++;
  for (let i = 1; i < 257; i++) starts[i] += starts[i - 1];
  const order = new Uint32Array(levels.length);
  for (let i = 0; i < levels.length; i++) order[starts[levels[i]]++] = i;
  return order;
}
