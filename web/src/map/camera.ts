// Where on the screen a place of the map lies.

export interface View {
  x: number;
  y: number;
  zoom: number;
}
const NEAREST = 0.5;
const FARTHEST = 2000;
const EDGE = 1.05;

export class Camera {
  width = 1;
  height = 1;
  scale = 1;
  x = 0;
  y = 0;

  /** The whole map in view. */
  fit() {
    this.scale = Math.min(this.width, this.height) * 0.46;
    this.x = this.width / 2;
    this.y = this.height / 2;
  }

  get zoom() {
    return this.scale / (Math.min(this.width, this.height) * 0.46);
  }

  resize(width: number, height: number) {
    const first = this.width === 1;
    const zoom = this.zoom;
    const [cx, cy] = this.place(this.width / 2, this.height / 2);
    this.width = width;
    this.height = height;
    if (first) return this.fit();
    this.scale = Math.min(width, height) * 0.46 * zoom;
    this.x = width / 2 - cx * this.scale;
    this.y = height / 2 + cy * this.scale;
  }

  /** Where one looks: the place in the middle, and how near. */
  get view(): View {
    const [x, y] = this.place(this.width / 2, this.height / 2);
    return { x, y, zoom: this.zoom };
  }

  look({ x, y, zoom }: View) {
    this.scale = Math.min(this.width, this.height) * 0.46 * Math.min(FARTHEST, Math.max(NEAREST, zoom));
    this.x = this.width / 2 - x * this.scale;
    this.y = this.height / 2 + y * this.scale;
    this.hold();
  }

  /** The middle of the screen stays within the square that the points are in. */
  hold() {
    this.x = Math.min(this.width / 2 + EDGE * this.scale, Math.max(this.width / 2 - EDGE * this.scale, this.x));
    this.y = Math.min(this.height / 2 + EDGE * this.scale, Math.max(this.height / 2 - EDGE * this.scale, this.y));
  }

  zoomAt(px: number, py: number, factor: number) {
    const next = Math.min(FARTHEST, Math.max(NEAREST, this.zoom * factor)) / this.zoom;
    this.x = px + (this.x - px) * next;
    this.y = py + (this.y - py) * next;
    this.scale *= next;
    this.hold();
  }

  screen(x: number, y: number): [number, number] {
    return [x * this.scale + this.x, this.y - y * this.scale];
  }

  place(px: number, py: number): [number, number] {
    return [(px - this.x) / this.scale, (this.y - py) / this.scale];
  }

  /** Bring a place into view if it is not, without changing the scale. */
  show(x: number, y: number, margin = 60) {
    const [px, py] = this.screen(x, y);
    if (px > margin && py > margin && px < this.width - margin && py < this.height - margin) return false;
    this.x += this.width / 2 - px;
    this.y += this.height / 2 - py;
    return true;
  }
}
