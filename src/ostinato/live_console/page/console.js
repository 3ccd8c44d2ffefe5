// The page: differences from the console in, lists, time line and numbers out. Drawn once a frame, however many come.
import { $, clock, count, inWords, make, seconds, time, visible } from "./words.js";
import { canWrite, listen } from "./connection.js";
import { Tiles } from "./tiles.js";
import { Timeline } from "./timeline.js";
import { VirtualList } from "./virtual_list.js";
import { closePanel, openRow, openRule, restartPanel, states, updatePanel } from "./details.js";

const CELLS = ["time", "rule", "key", "length", "measures"];
const state = { rows: [], filtered: [], rules: new Map(), shownRules: [], sources: {}, tiles: null, most: 10000, newest: 0 };
let scheduled = false;

const tiles = new Tiles($("tiles"));
const timeline = new Timeline($("timeline"), (row) => list.choose(state.shown?.indexOf(row) ?? -1, true));
const list = new VirtualList($("rows"), {
  height: 30,
  className: "",
  keyOf: (row) => row.number,
  open: (row) => openRow(row, state.sources),
  draw: drawRow,
});
const ruleList = new VirtualList($("rule-list"), {
  height: 54,
  className: "rule-row",
  keyOf: (line) => line.id,
  open: (line) => openRule(line, state.sources),
  draw: drawRule,
});

// --- rows ---

const COLUMNS = { time: "UTC", rule: "rule", key: "key", length: "length", measures: "measures" };
for (const name of CELLS) $("columns").append(make("span", name, COLUMNS[name]));

function drawRow(element, row) {
  if (!element.firstChild) for (const name of CELLS) element.append(make("span", name));
  element.classList.add(row.kind);
  const narrow = innerWidth <= 860;
  const drawn = `${state.instance}|${row.number}|${narrow}`;
  if (element.drawn === drawn) return;
  element.drawn = drawn;
  const [at, rule, key, length, measures] = element.children;
  at.textContent = row.at === null ? "" : narrow ? clock(row.at) : time(row.at).slice(0, 19);
  rule.textContent = visible(row.rule || "match");
  key.textContent = visible(row.key);
  length.textContent = row.began === null || row.ended === null ? "" : seconds((row.ended - row.began) / 1000);
  measures.textContent = visible(row.kind === "match" ? inWords(row.text) : `${row.kind.replaceAll("_", " ")}: ${row.text.split("\n")[0]}`);
}

function matches(row) {
  const kind = $("kind").value;
  if (kind === "rule" ? !row.kind.startsWith("rule_") : kind && row.kind !== kind) return false;
  const words = $("find").value.trim().toLowerCase();
  return !words || `${row.rule} ${row.key} ${row.text}`.toLowerCase().includes(words);
}

function refilter() {
  state.filtered = state.rows.filter(matches);
  state.added = 0;
  schedule();
}

function takeRows(rows) {
  for (const [number, kind, rule, version, key, began, ended, decided, text, seen] of rows) {
    const row = { number, kind, rule, version, key, began, ended, text, at: ended ?? decided ?? seen };
    state.rows.push(row);
    if (matches(row)) {
      state.filtered.push(row);
      state.added = (state.added ?? 0) + 1;
    }
  }
  const surplus = state.rows.length - state.most;
  if (surplus > 0) {
    state.rows.splice(0, surplus);
    const oldest = state.rows[0].number;
    const gone = state.filtered.findIndex((row) => row.number >= oldest);
    state.filtered.splice(0, gone < 0 ? state.filtered.length : gone);
  }
}

// --- rules ---

function drawRule(element, line) {
  const words = `${line.id}|${line.version}|${line.status}|${line.hits}|${line.per_minute}|${line.suppressed}|${line.open}|${line.note}|${JSON.stringify(line.states)}`;
  if (element.drawn === words) return;
  element.drawn = words;
  const name = make("span", "name");
  const status = make("span", `status ${line.status}`);
  status.title = line.status;
  name.append(status, visible(line.id || "matches"), make("small", "", line.version === null ? "" : `v${line.version}`));
  const hits = make("span", "hits", count(line.hits));
  hits.append(make("small", "", `${count(line.per_minute)}/min`));
  const below = make("span", "states");
  if (line.status !== "enabled" && line.status !== "seen") below.append(make("span", "chip", line.status));
  if (line.suppressed) below.append(make("span", "chip", `${count(line.suppressed)} suppressed`));
  if (line.states.length) below.append(...states(line.states.slice(0, 6)).childNodes);
  else below.append(visible(line.note.split("\n")[0] || (line.open === 0 ? "no open partial match" : "")));
  element.replaceChildren(name, hits, below);
  element.setAttribute("aria-label", `${visible(line.id)}, ${line.status}, ${count(line.hits)} matches`);
}

function sortRules() {
  const words = $("find-rule").value.trim().toLowerCase();
  const lines = [...state.rules.values()].filter((line) => line.id.toLowerCase().includes(words));
  state.shownRules = lines.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

// --- problems, stage ---

function drawProblems(problems) {
  const items = problems.map((problem) => {
    const item = make("li");
    item.append(make("b", "", visible(problem.code)), visible(problem.message));
    if (problem.hint) item.append(make("small", "", visible(problem.hint)));
    return item;
  });
  $("problems").hidden = items.length === 0;
  $("problems").firstElementChild.replaceChildren(...items);
}

function drawStage(sources) {
  const names = { files: "", "in process": "in process", spark: "Spark" };
  $("stage").textContent = names[sources.stage] ?? sources.stage;
  $("stage").hidden = !$("stage").textContent;
  $("note").textContent = visible(sources.note);
  $("new-rule").hidden = !sources.log || !canWrite;
}

// --- differences ---

function take(delta) {
  if (delta.starts) {
    restartPanel(state.sources.log === delta.sources.log && state.sources.table === delta.sources.table);
    list.chosen = null;
    Object.assign(state, { instance: delta.instance, rows: [], filtered: [], added: 0, sources: delta.sources, most: delta.most });
    state.rules.clear();
    tiles.restart(delta.series);
    drawStage(delta.sources);
  }
  takeRows(delta.rows);
  if (delta.rules.length) {
    for (const line of delta.rules) state.rules.set(line.id, line);
    sortRules();
    updatePanel(delta.rules);
  }
  tiles.add(delta.samples);
  state.tiles = delta.tiles;
  if (delta.problems) drawProblems(delta.problems);
  schedule();
}

function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    draw();
  });
}

function draw() {
  const added = state.added ?? 0;
  state.added = 0;
  state.shown = state.filtered.toReversed();
  list.show(state.shown, added);
  timeline.show(state.filtered);
  ruleList.show(state.shownRules);
  if (!state.tiles) return;
  tiles.draw(state.tiles);
  const above = list.host.scrollTop > list.height ? Math.floor(list.host.scrollTop / list.height) : 0;
  $("newest").hidden = above === 0;
  $("newest").textContent = `${count(above)} newer rows`;
  $("kept").textContent = `${count(state.filtered.length)} of the last ${count(state.rows.length)} rows`;
  const { waiting_files: waiting, skipped_files: skipped } = state.tiles;
  $("reading").textContent = waiting ? `reading ${count(waiting)} more files` : skipped ? `${count(skipped)} older files weren't read` : "";
  $("rule-count").textContent = count(state.tiles.rules);
}

$("kind").addEventListener("change", refilter);
$("find").addEventListener("input", refilter);
$("find-rule").addEventListener("input", () => {
  sortRules();
  schedule();
});
$("newest").addEventListener("click", () => {
  list.host.scrollTop = 0;
  schedule();
});
$("new-rule").addEventListener("click", () => openRule(null, state.sources));
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !$("confirm").open && event.target.type !== "search") closePanel();
});

listen(take, (name, words) => {
  const element = $("connection");
  if (element.textContent === words) return;
  element.className = name;
  element.textContent = words;
});
