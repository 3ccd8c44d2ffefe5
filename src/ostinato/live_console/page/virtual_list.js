// A long list of rows of equal height: only those in view are elements. Arrow keys move, Enter opens.
import { make } from "./words.js";

export class VirtualList {
  /** `draw(element, item)` fills a row, `open(item)` is called for the row that the user chose. */
  constructor(host, { height, className, draw, open, keyOf }) {
    Object.assign(this, { host, height, className, draw, open, keyOf });
    this.items = [];
    this.chosen = null;
    this.pool = [];
    this.space = host.appendChild(make("div", "space"));
    host.addEventListener("scroll", () => this.render(), { passive: true });
    host.addEventListener("keydown", (event) => this.key(event));
    host.addEventListener("click", (event) => {
      const row = event.target.closest("[data-index]");
      if (row) this.choose(Number(row.dataset.index), true);
    });
    new ResizeObserver(() => this.render()).observe(host);
  }

  /** Shows other items. `added` of them are new at the top: whoever has scrolled keeps the rows in view. */
  show(items, added = 0) {
    this.items = items;
    const height = `${items.length * this.height}px`;
    if (this.space.style.height !== height) this.space.style.height = height;
    if (added && this.host.scrollTop > this.height) this.host.scrollTop += added * this.height;
    this.render();
  }

  render() {
    const first = Math.max(0, Math.floor(this.host.scrollTop / this.height) - 2);
    const count = Math.min(this.items.length - first, Math.ceil(this.host.clientHeight / this.height) + 4);
    while (this.pool.length < count) {
      const row = this.host.appendChild(make("div"));
      row.setAttribute("role", "option");
      row.id = `${this.host.id}-${this.pool.length}`;
      this.pool.push(row);
    }
    let active = "";
    this.pool.forEach((row, at) => {
      row.hidden = at >= count;
      if (row.hidden) return;
      const index = first + at;
      const item = this.items[index];
      const isChosen = this.chosen !== null && this.keyOf(item) === this.chosen;
      row.className = `row ${this.className}${isChosen ? " chosen" : ""}`;
      row.dataset.index = index;
      row.style.transform = `translateY(${index * this.height}px)`;
      row.setAttribute("aria-selected", String(isChosen));
      row.setAttribute("aria-posinset", index + 1);
      row.setAttribute("aria-setsize", this.items.length);
      if (isChosen) active = row.id;
      this.draw(row, item);
    });
    if (active) this.host.setAttribute("aria-activedescendant", active);
    else this.host.removeAttribute("aria-activedescendant");
  }

  choose(index, opens) {
    const item = this.items[index];
    if (item === undefined) return;
    this.chosen = this.keyOf(item);
    const top = index * this.height;
    if (top < this.host.scrollTop) this.host.scrollTop = top;
    const lowest = top + this.height - this.host.clientHeight;
    if (lowest > this.host.scrollTop) this.host.scrollTop = lowest;
    this.render();
    if (opens) this.open(item);
  }

  key(event) {
    const at = this.items.findIndex((item) => this.keyOf(item) === this.chosen);
    const page = Math.max(1, Math.floor(this.host.clientHeight / this.height) - 1);
    const last = this.items.length - 1;
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last, PageDown: at + page, PageUp: at - page };
    if (event.key === "Enter" && at >= 0) this.open(this.items[at]);
    else if (event.key in moves) this.choose(Math.max(0, Math.min(last, moves[event.key])), false);
    else return;
    event.preventDefault();
  }
}
