// The rows in time: a lane for each of the busiest rules, a tick for each row. Drawn at most twice a second.
import { clock, colour, count, day, visible } from "./words.js";

const LANES = 8;
const RIGHT = 14;
const BOTTOM = 24;

export class Timeline {
  /** `open(row)` is called for the tick that the user clicked. */
  constructor(canvas, open) {
    this.canvas = canvas;
    this.open = open;
    this.rows = [];
    this.lanes = [];
    this.drawnAt = 0;
    this.timer = 0;
    canvas.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.later()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.later());
  }

  show(rows) {
    this.rows = rows;
    this.later();
  }

  later() {
    if (this.timer) return;
    const wait = Math.max(0, this.drawnAt + 500 - performance.now());
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.drawnAt = performance.now();
      requestAnimationFrame(() => this.draw());
    }, wait);
  }

  draw() {
    const { canvas, rows } = this;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.measure(rows, width, height);
    pen.font = "12px ui-sans-serif, system-ui, sans-serif";
    pen.textBaseline = "middle";
    const [ink, quiet, rule] = ["--soft", "--quiet", "--rule"].map(colour);
    const tones = ["--tone-1", "--tone-2", "--tone-3", "--tone-4"].map(colour);
    this.lanes.forEach((lane, at) => {
      const middle = this.top + (at + 0.5) * this.step;
      pen.fillStyle = rule;
      pen.fillRect(this.left, Math.round(middle), width - this.left - RIGHT, 1);
      pen.fillStyle = ink;
      pen.fillText(fitted(pen, visible(lane) || "matches", this.left - 24), 12, middle);
    });
    const tick = Math.min(18, this.step - 6);
    const places = new Map(this.lanes.map((lane, at) => [lane, at]));
    pen.globalAlpha = rows.length > 2000 ? 0.45 : 0.8;
    for (const row of rows) {
      const at = places.get(row.rule);
      if (at === undefined || row.at === null) continue;
      pen.fillStyle = row.kind === "error" ? tones[3] : tones[at % 3];
      pen.fillRect(this.x(row.at) - 1, this.top + (at + 0.5) * this.step - tick / 2, 2, tick);
    }
    pen.globalAlpha = 1;
    pen.fillStyle = quiet;
    this.axis(pen, width, height);
    const words = this.lanes.length ? `Time line of ${count(rows.length)} rows of ${this.lanes.length} rules, ${clock(this.low)} to ${clock(this.high)}` : "Time line: no rows yet";
    if (canvas.getAttribute("aria-label") !== words) canvas.setAttribute("aria-label", words);
  }

  measure(rows, width, height) {
    this.left = width > 600 ? 146 : 108;
    const counts = new Map();
    [this.low, this.high] = [Infinity, -Infinity];
    for (const row of rows) {
      counts.set(row.rule, (counts.get(row.rule) ?? 0) + 1);
      if (row.at === null) continue;
      if (row.at < this.low) this.low = row.at;
      if (row.at > this.high) this.high = row.at;
    }
    const busiest = [...counts].sort((a, b) => b[1] - a[1]).slice(0, LANES).map(([rule]) => rule);
    if (busiest.length !== this.lanes.length || busiest.some((rule) => !this.lanes.includes(rule))) this.lanes = busiest.sort();
    this.top = 8;
    this.step = Math.min(30, (height - BOTTOM - this.top) / Math.max(1, this.lanes.length));
    this.width = width;
  }

  x(ms) {
    const length = this.high - this.low;
    return this.left + (length ? (ms - this.low) / length : 0.5) * (this.width - this.left - RIGHT);
  }

  axis(pen, width, height) {
    if (this.low > this.high) {
      pen.fillText("no rows yet", this.left, height / 2);
      return;
    }
    if (this.low === this.high) {
      pen.textAlign = "center";
      pen.fillText(`${day(this.low)} ${clock(this.low)}`, this.x(this.low), height - 11);
      pen.textAlign = "left";
      return;
    }
    const several = day(this.low) !== day(this.high);
    const wanted = Math.max(2, Math.floor((width - this.left - RIGHT) / (several ? 170 : 110)));
    for (let at = 0; at < wanted; at++) {
      const ms = this.low + ((this.high - this.low) * at) / (wanted - 1);
      const words = several ? `${day(ms)} ${clock(ms)}` : clock(ms);
      pen.textAlign = at === 0 ? "left" : at === wanted - 1 ? "right" : "center";
      pen.fillText(words, this.x(ms), height - 11);
    }
    pen.textAlign = "left";
  }

  click(event) {
    const lane = this.lanes[Math.floor((event.offsetY - this.top) / this.step)];
    let best = null;
    for (const row of this.rows) {
      if (row.rule !== lane || row.at === null) continue;
      const far = Math.abs(this.x(row.at) - event.offsetX);
      if (far < 12 && (best === null || far <= best.far)) best = { far, row };
    }
    if (best) this.open(best.row);
  }
}

function fitted(pen, words, width) {
  if (pen.measureText(words).width <= width) return words;
  let end = words.length;
  while (end > 1 && pen.measureText(`${words.slice(0, end)}…`).width > width) end -= 1;
  return `${words.slice(0, end)}…`;
}
