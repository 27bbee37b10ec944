// The map on the screen: drawing, moving, pointing, choosing. Knows nothing of items, only of rows and places.

import { ground, type Paint } from "../lib/colours";
import { Camera, type View } from "./camera";
import type { MapName } from "../lib/api";
import { placeLabels, type Label } from "./labels";
import { Grid, inside } from "./grid";
import { makePainter, type Painter } from "./painter";

export interface Mark {
  row: number;
  colour: string;
  /** a line leads from the centre to it */
  linked?: boolean;
}
export interface Marks {
  centre: number | null;
  around: Mark[];
}
export interface Handlers {
  hover(row: number, x: number, y: number): void;
  pick(row: number): void;
  lasso(polygon: [number, number][]): void;
  escape(): void;
  /** somebody moved the map, and it has come to rest; whether any point is to be seen */
  moved(view: View, seen: boolean): void;
}

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';
const FONTS = [`650 14px ${FONT}`, `500 12px ${FONT}`];
const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const NOTHING = { places: new Float32Array(0), paint: { colours: new Uint32Array(0), order: null } };
const MOVED = 200_000; // more points than this jump to a new layout instead of gliding
const GLIDE = 900;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Scatter {
  readonly camera = new Camera();
  readonly painter: Painter;
  lassoing = false;
  private places: Float32Array = new Float32Array(0);
  private paint: Paint = { colours: new Uint32Array(0), order: null };
  private polygon: [number, number][] | null = null;
  private chosen: Uint8Array | null = null;
  private lit: Uint8Array | null = null;
  private names: MapName[] = [];
  private written: Label[] = [];
  private readonly widths = new Map<string, number>();
  private marks: Marks = { centre: null, around: [] };
  private grid: Grid | null = null;
  private drawing: [number, number][] = [];
  private pointers = new Map<number, [number, number]>();
  private moved = 0;
  private hovered = -1;
  private aiming = false;
  private frame = 0;
  private frames = 0;
  private resting = 0;
  private wanted: View | null = null;
  private glide: { from: Float32Array; to: Float32Array; begun: number } | null = null;
  private readonly over: CanvasRenderingContext2D;
  private readonly observer: ResizeObserver;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly overlay: HTMLCanvasElement,
    private readonly handlers: Handlers,
    private dark: boolean,
    force: string | null,
  ) {
    this.painter = makePainter(canvas, force);
    canvas.dataset.painter = this.painter.kind;
    this.over = overlay.getContext("2d")!;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(overlay);
    this.listen();
    this.draw(); // a canvas that nothing was drawn on may be black
  }

  destroy() {
    this.observer.disconnect();
    clearTimeout(this.resting);
    cancelAnimationFrame(this.frame);
  }

  setPlaces(places: Float32Array) {
    const glides = this.places.length === places.length && places.length / 2 <= MOVED && !calm.matches;
    if (glides) {
      this.glide = { from: this.places, to: places, begun: performance.now() };
    } else {
      this.places = places;
      this.settle();
    }
    this.redraw();
  }

  setPaint(paint: Paint, dark: boolean) {
    this.paint = paint;
    this.dark = dark;
    this.redraw();
  }

  setDark(dark: boolean) {
    this.dark = dark;
    this.redraw();
  }

  setLasso(polygon: [number, number][] | null) {
    this.polygon = polygon;
    this.chosen = polygon && this.places.length ? inside(this.places, polygon) : null;
    this.redraw();
  }

  /** These rows stand out, all others fade; null for none. */
  setLit(rows: number[] | null) {
    this.lit = rows && new Uint8Array(this.paint.colours.length);
    for (const row of rows ?? []) this.lit![row] = 1;
    this.redraw();
  }

  /** Names for dense places. */
  setNames(names: MapName[]) {
    this.names = names;
    this.redraw();
  }

  private readonly measure = (text: string, level: number): number => {
    const key = level + text;
    let width = this.widths.get(key);
    if (width === undefined) {
      this.over.font = FONTS[level];
      this.widths.set(key, (width = this.over.measureText(text).width));
    }
    return width;
  };

  /** What panels cover of the map. */
  private covered() {
    const box = this.overlay.getBoundingClientRect();
    return [...(this.overlay.parentElement?.querySelectorAll(".tools > *, .legend, .note, .lead") ?? [])].map(
      (panel) => {
        const { left, top, right, bottom } = panel.getBoundingClientRect();
        return { left: left - box.left, top: top - box.top, right: right - box.left, bottom: bottom - box.top };
      },
    );
  }

  setMarks(marks: Marks) {
    this.marks = marks;
    if (marks.centre !== null && this.places.length) {
      const { to } = this.glide ?? { to: this.places };
      this.camera.show(to[2 * marks.centre], to[2 * marks.centre + 1]);
    }
    this.redraw();
  }

  fit() {
    this.camera.fit();
    this.rest();
  }

  /** Look there, as soon as the map has a size. */
  look(view: View | null) {
    this.wanted = view;
    if (this.camera.width > 1) {
      if (view) this.camera.look(view);
      else this.camera.fit();
      this.redraw();
    }
  }

  /** Drawn again, and told once nobody moves it any more. */
  private rest() {
    this.camera.hold();
    this.redraw();
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => this.handlers.moved(this.camera.view, this.sees), 160);
  }

  /** Whether any point is in view. */
  get sees(): boolean {
    if (!this.grid) return true;
    const { camera } = this;
    const [left, high] = camera.place(0, 0);
    const [right, low] = camera.place(camera.width, camera.height);
    return this.grid.any(left, low, right, high);
  }

  zoom(factor: number) {
    this.camera.zoomAt(this.camera.width / 2, this.camera.height / 2, factor);
    this.rest();
  }

  /** Points and marks as one picture. */
  picture(): HTMLCanvasElement {
    this.draw();
    const out = document.createElement("canvas");
    out.width = this.canvas.width;
    out.height = this.canvas.height;
    const context = out.getContext("2d")!;
    context.drawImage(this.canvas, 0, 0);
    context.drawImage(this.overlay, 0, 0);
    return out;
  }

  /** Points as the shapes of an SVG, or as one picture where there are too many for that. */
  svg(most = 20_000): string {
    const { width, height } = this.camera;
    const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`;
    if (this.paint.colours.length > most) {
      return `${head}<image width="${width}" height="${height}" href="${this.picture().toDataURL("image/png")}"/></svg>`;
    }
    const radius = this.radius().toFixed(1);
    const parts = [`<rect width="100%" height="100%" fill="rgb(${ground(this.dark)})"/>`];
    for (let j = 0; j < this.paint.colours.length; j++) {
      const i = this.paint.order ? this.paint.order[j] : j;
      const [x, y] = this.camera.screen(this.places[2 * i], this.places[2 * i + 1]);
      if (x < 0 || y < 0 || x > width || y > height) continue;
      const c = this.paint.colours[i];
      const opacity = this.outstanding && !this.outstanding[i] ? ' opacity=".2"' : "";
      parts.push(
        `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="rgb(${c & 255},${(c >> 8) & 255},${(c >> 16) & 255})"${opacity}/>`,
      );
    }
    for (const { name, level, px, py } of this.written) {
      const at = `x="${px.toFixed(1)}" y="${(py + 4).toFixed(1)}" text-anchor="middle" style="font:${FONTS[level].replaceAll('"', "'")}"`;
      const halo = `stroke="rgb(${ground(this.dark)})" stroke-width="4" stroke-linejoin="round" paint-order="stroke"`;
      parts.push(`<text ${at} ${halo} fill="${this.ink}">${escape(name)}</text>`);
    }
    return `${head}${parts.join("")}</svg>`;
  }

  private settle() {
    this.grid = new Grid(this.places);
    if (this.polygon) this.chosen = inside(this.places, this.polygon);
  }

  private resize() {
    const { clientWidth: width, clientHeight: height } = this.overlay;
    if (!width || !height) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.camera.resize(width, height);
    if (this.wanted) this.camera.look(this.wanted);
    this.wanted = null;
    this.draw(); // at once: a resized canvas is empty
  }

  redraw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  private radius(): number {
    const n = this.paint.colours.length;
    const base = Math.min(5.5, Math.max(0.55, 100 / Math.sqrt(n + 60) + 0.5));
    return Math.min(
      9,
      base * this.camera.zoom ** 0.4 * Math.min(1.15, Math.max(0.85, Math.sqrt(this.camera.width / 1000))),
    );
  }

  private draw() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.glide) this.move();
    const whole = this.places.length > 0 && this.paint.colours.length * 2 === this.places.length;
    this.painter.draw({
      camera: this.camera,
      places: whole ? this.places : NOTHING.places,
      paint: whole ? this.paint : NOTHING.paint,
      radius: this.radius(),
      ground: ground(this.dark),
      chosen: whole ? this.outstanding : null,
    });
    if (whole) this.canvas.dataset.frames = String(++this.frames);
    this.drawOver();
  }

  private move() {
    const { from, to, begun } = this.glide!;
    const t = Math.min(1, (performance.now() - begun) / GLIDE);
    if (t === 1) {
      this.places = to;
      this.glide = null;
      this.settle();
      return;
    }
    const eased = t < 0.5 ? 4 * t ** 3 : 1 - (-2 * t + 2) ** 3 / 2;
    const places = new Float32Array(from.length);
    for (let i = 0; i < from.length; i++) places[i] = from[i] + (to[i] - from[i]) * eased;
    this.places = places;
    this.redraw();
  }

  /** Who stands out: what was drawn around, or what a panel points to. */
  private get outstanding(): Uint8Array | null {
    return this.chosen ?? (this.lit?.length === this.paint.colours.length ? this.lit : null);
  }

  private drawNames() {
    const context = this.over;
    this.written =
      this.glide || this.outstanding ? [] : placeLabels(this.names, this.camera, this.measure, this.covered());
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    for (const { name, level, px, py } of this.written) {
      context.font = FONTS[level];
      context.lineWidth = 4;
      context.strokeStyle = `rgb(${ground(this.dark).join(" ")} / 0.85)`;
      context.strokeText(name, px, py);
      context.fillStyle = this.ink;
      context.fillText(name, px, py);
    }
    const boxes = JSON.stringify(this.written.map((l) => [l.name, ...[l.px, l.py, l.width, l.height].map(Math.round)]));
    if (this.overlay.dataset.names !== boxes) this.overlay.dataset.names = boxes;
  }

  private get ink(): string {
    return this.dark ? "#ffffff" : "#10131a";
  }

  private drawOver() {
    const context = this.over;
    const ratio = this.overlay.width / this.camera.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.camera.width, this.camera.height);
    const ink = this.ink;
    const radius = this.radius();
    const at = (row: number) => this.camera.screen(this.places[2 * row], this.places[2 * row + 1]);
    if (this.places.length) {
      this.drawNames();
      const { centre, around } = this.marks;
      if (centre !== null) {
        const [cx, cy] = at(centre);
        for (const mark of around.filter((m) => m.linked)) {
          context.globalAlpha = 0.55;
          this.path([[cx, cy], at(mark.row)], mark.colour, 1.2);
        }
        context.globalAlpha = 1;
        this.ring(cx, cy, radius + 5, ink, 2.5);
      }
      for (const mark of around) this.ring(...at(mark.row), radius + 3, mark.colour, 2);
      if (this.hovered >= 0) this.ring(...at(this.hovered), radius + 3, ink, 1.5);
    }
    const outline = this.drawing.length ? this.drawing : this.polygon?.map(([x, y]) => this.camera.screen(x, y));
    if (outline && outline.length > 1) {
      context.setLineDash([5, 4]);
      this.path([...outline, outline[0]], ink, 1.4);
      context.setLineDash([]);
    }
    if (this.aiming) {
      const [x, y] = [this.camera.width / 2, this.camera.height / 2];
      this.path([[x - 12, y], [x + 12, y]], ink, 1.5); // prettier-ignore
      this.path([[x, y - 12], [x, y + 12]], ink, 1.5); // prettier-ignore
    }
  }

  private path(points: [number, number][], colour: string, width: number) {
    this.over.beginPath();
    points.forEach(([x, y], i) => (i ? this.over.lineTo(x, y) : this.over.moveTo(x, y)));
    this.over.strokeStyle = colour;
    this.over.lineWidth = width;
    this.over.stroke();
  }

  private ring(x: number, y: number, radius: number, colour: string, width: number) {
    this.over.beginPath();
    this.over.arc(x, y, radius, 0, 2 * Math.PI);
    this.over.strokeStyle = colour;
    this.over.lineWidth = width;
    this.over.stroke();
  }

  // pointing

  private at(px: number, py: number, reach: number): number {
    if (!this.grid || this.glide) return -1;
    const [x, y] = this.camera.place(px, py);
    return this.grid.nearest(x, y, reach / this.camera.scale);
  }

  private listen() {
    const surface = this.overlay;
    surface.addEventListener("wheel", (event) => {
      event.preventDefault();
      const step = event.deltaMode === 1 ? 16 : 1;
      this.camera.zoomAt(event.offsetX, event.offsetY, Math.exp(-event.deltaY * step * 0.0016));
      this.rest();
    });
    surface.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      surface.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      this.moved = 0;
      this.aiming = false;
      if (this.pointers.size === 1 && (this.lassoing || event.shiftKey))
        this.drawing = [[event.offsetX, event.offsetY]];
    });
    surface.addEventListener("pointermove", (event) => this.pointerMoved(event));
    surface.addEventListener("pointerup", (event) => this.pointerUp(event));
    surface.addEventListener("pointercancel", (event) => {
      this.pointers.delete(event.pointerId);
      this.drawing = [];
      this.redraw();
    });
    surface.addEventListener("pointerleave", () => this.point(-1, 0, 0));
    surface.addEventListener("dblclick", (event) => {
      this.camera.zoomAt(event.offsetX, event.offsetY, 2);
      this.rest();
    });
    surface.addEventListener("keydown", (event) => this.key(event));
    surface.addEventListener("blur", () => {
      this.aiming = false;
      this.redraw();
    });
  }

  private pointerMoved(event: PointerEvent) {
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      if (event.pointerType === "mouse") {
        this.point(this.at(event.offsetX, event.offsetY, this.radius() + 6), event.offsetX, event.offsetY);
      }
      return;
    }
    const now: [number, number] = [event.offsetX, event.offsetY];
    this.moved += Math.hypot(now[0] - last[0], now[1] - last[1]);
    if (this.drawing.length) {
      const [x, y] = this.drawing[this.drawing.length - 1];
      if (Math.hypot(now[0] - x, now[1] - y) > 4) this.drawing.push(now);
    } else if (this.pointers.size === 1) {
      this.camera.x += now[0] - last[0];
      this.camera.y += now[1] - last[1];
    } else if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)![1];
      const before = Math.hypot(last[0] - other[0], last[1] - other[1]);
      const after = Math.hypot(now[0] - other[0], now[1] - other[1]);
      if (before > 0) this.camera.zoomAt((now[0] + other[0]) / 2, (now[1] + other[1]) / 2, after / before);
    }
    this.pointers.set(event.pointerId, now);
    this.point(-1, 0, 0);
    if (this.drawing.length) this.redraw();
    else this.rest();
  }

  private pointerUp(event: PointerEvent) {
    if (!this.pointers.delete(event.pointerId)) return;
    const drawn = this.drawing;
    this.drawing = [];
    if (drawn.length > 2) {
      this.handlers.lasso(thin(drawn).map(([x, y]) => this.camera.place(x, y)));
    } else if (this.moved < 5) {
      const reach = event.pointerType === "mouse" ? this.radius() + 6 : 22;
      const row = this.at(event.offsetX, event.offsetY, reach);
      if (row >= 0) this.handlers.pick(row);
    }
    this.redraw();
  }

  private point(row: number, x: number, y: number) {
    if (row === this.hovered) return;
    this.hovered = row;
    this.overlay.style.cursor = row >= 0 ? "pointer" : "";
    this.handlers.hover(row, x, y);
    this.redraw();
  }

  private key(event: KeyboardEvent) {
    const step = 60;
    const moves: Record<string, () => void> = {
      ArrowLeft: () => (this.camera.x += step),
      ArrowRight: () => (this.camera.x -= step),
      ArrowUp: () => (this.camera.y += step),
      ArrowDown: () => (this.camera.y -= step),
      "+": () => this.zoom(1.3),
      "=": () => this.zoom(1.3),
      "-": () => this.zoom(1 / 1.3),
      "0": () => this.camera.fit(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) {
      moves[event.key]();
      this.rest();
      this.aiming = true;
      const [x, y] = [this.camera.width / 2, this.camera.height / 2];
      this.point(this.at(x, y, 80), x, y);
    } else if (event.key === "Enter") {
      const row = this.at(this.camera.width / 2, this.camera.height / 2, 80);
      if (row >= 0) this.handlers.pick(row);
    } else if (event.key === "Escape") {
      this.handlers.escape();
    } else {
      return;
    }
    event.preventDefault();
    this.redraw();
  }
}

/** At most so many corners: the outline goes into the address of the page. */
function thin(points: [number, number][], most = 40): [number, number][] {
  if (points.length <= most) return points;
  return Array.from({ length: most }, (_, i) => points[Math.floor((i * points.length) / most)]);
}
