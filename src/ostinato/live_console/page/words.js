// Values -> the texts of the page. Everything that comes from a stream goes through textContent, never through HTML.

export const $ = (id) => document.getElementById(id);

/** A new element with a class and a text. */
export function make(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== "") element.textContent = text;
  return element;
}

/** Control characters and marks that reorder text are shown as a replacement character. */
export const visible = (text) =>
  String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export function count(value) {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) >= 1e9) return `${short.format(value / 1e9)} G`;
  return Math.abs(value) >= 1e6 ? `${short.format(value / 1e6)} M` : whole.format(value);
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${value < 10 && unit ? value.toFixed(1) : whole.format(value)} ${units[unit]}`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (Math.round(value * 1000) < 1000) return `${Math.round(value * 1000)} ms`;
  if (value < 100) return `${value.toFixed(1)} s`;
  if (value < 5400) return `${Math.round(value / 60)} min`;
  return value < 129600 ? `${(value / 3600).toFixed(1)} h` : `${(value / 86400).toFixed(1)} d`;
}

/** A time in UTC; "" for none or for one that no calendar has. */
export function time(ms) {
  if (ms === null || ms === undefined || Math.abs(ms) > 8.64e15) return "";
  return new Date(ms).toISOString().replace("T", " ").replace(/\.000Z$|Z$/, "");
}

export const clock = (ms) => time(ms).slice(11, 19);
export const day = (ms) => time(ms).slice(0, 10);

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The members of a JSON object as `name value, name value`; any other text as it is. */
export function inWords(text) {
  if (!text.startsWith("{")) return text;
  try {
    const pairs = Object.entries(JSON.parse(text));
    return pairs.map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`).join(" · ");
  } catch {
    return text; // it was cut
  }
}
