// The numbers of the stream, each with a short history.
import { bytes, count, make, seconds, time } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const KEPT = 240;
const RATES = ["matches", "rows"];
const TILES = [
  ["Matches", "matches", (t) => count(t.matches), (t) => `${count(t.per_minute)} in a minute`],
  ["Rows read", "rows", (t) => count(t.rows), (t) => rate(t)],
  ["Open matches", "open", (t) => count(t.open), (t) => (t.open === null ? "no metrics" : "keys with a partial match")],
  ["Watermark behind", "behind", (t) => seconds(t.behind), (t) => (t.unmoved > 20 ? `stands still for ${seconds(t.unmoved)}` : (t.watermark === null ? "no metrics" : time(t.watermark * 1000).slice(5, 19)))],
  ["Micro-batch", "batch", (t) => seconds(t.batch), (t) => (t.processing === null ? "" : `processing ${seconds(t.processing)}`)],
  ["State", "state", (t) => bytes(t.state), (t) => (t.waiting ? `${count(t.waiting)} rows wait` : "")],
  ["Late rows", null, (t) => count(t.late ?? (t.late_shown || null)), (t) => (t.late === null ? "no metrics" : ""), (t) => t.late > 0],
  ["Bad rows", null, (t) => count(t.errors), (t) => (t.rejected === 1 ? "1 rejected rule" : `${count(t.rejected)} rejected rules`), (t) => t.errors > 0],
];

const rate = (tiles) => {
  const age = tiles.age;
  if (age === null) return "no metrics";
  return age > 15 ? `metrics ${seconds(age)} old` : `${count(tiles.rows_per_second)} a second`;
};

export class Tiles {
  constructor(host) {
    this.samples = [];
    this.tiles = TILES.map(([title, series, value, more, alarms]) => {
      const box = host.appendChild(make("div", "tile"));
      box.append(make("h3", "", title));
      const strong = box.appendChild(make("strong", "", "–"));
      const small = box.appendChild(make("small"));
      const svg = box.appendChild(document.createElementNS(SVG, "svg"));
      svg.setAttribute("viewBox", "0 0 240 22");
      svg.setAttribute("preserveAspectRatio", "none");
      svg.setAttribute("aria-hidden", "true");
      const line = svg.appendChild(document.createElementNS(SVG, "polyline"));
      return { series, value, more, alarms, box, strong, small, line };
    });
  }

  restart(series) {
    this.columns = series;
    this.samples = [];
  }

  add(samples) {
    this.samples.push(...samples);
    this.samples.splice(0, Math.max(0, this.samples.length - KEPT));
  }

  draw(numbers) {
    for (const tile of this.tiles) {
      set(tile.strong, tile.value(numbers));
      set(tile.small, tile.more(numbers));
      tile.box.classList.toggle("alarm", Boolean(tile.alarms?.(numbers)));
      if (tile.series) tile.line.setAttribute("points", points(this.samples, this.columns.indexOf(tile.series), RATES.includes(tile.series)));
    }
  }
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const SMOOTHED = 5;

/** The mean of the last samples: files come once a micro-batch, and would give a comb. */
function smooth(values, at) {
  const known = values.slice(Math.max(0, at - SMOOTHED + 1), at + 1).filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

function points(samples, column, isRate) {
  const raw = samples.map((sample) => sample[column]);
  const known = isRate ? raw.map((_, at) => smooth(raw, at)) : raw;
  const values = known.filter((value) => value !== null);
  if (values.length < 2) return "";
  const low = Math.min(0, ...values);
  const high = Math.max(...values);
  const from = KEPT - samples.length;
  return known
    .map((value, at) => (value === null ? "" : `${from + at},${(21 - (20 * (value - low)) / (high - low || 1)).toFixed(1)}`))
    .filter(Boolean)
    .join(" ");
}
