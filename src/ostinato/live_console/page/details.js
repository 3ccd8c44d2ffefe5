// The panel beside the lists: one row with its picture, or one rule with its text, a test and its next version.
import { $, count, inWords, make, seconds, time, visible } from "./words.js";
import { Refused, ask, canWrite, picture, send } from "./connection.js";

const host = $("detail");
let shown = 0;
let address = "";
let opener = null;
let panel = null;

/** Hides the panel. A focus inside it goes back to the list or the button from which the panel was opened. */
export function closePanel() {
  const hadFocus = host.contains(document.activeElement);
  host.hidden = true;
  panel = null;
  shown += 1;
  if (hadFocus) opener.focus({ preventScroll: true });
}

/** New lines of rules: an open rule shows its new numbers, and its editor stays as it is. */
export function updatePanel(lines) {
  const line = panel?.take && lines.find((each) => each.id === panel.id);
  if (line) panel.take(line);
}

/** A console that has started anew numbers its rows anew. A rule stays open if log and input are the same. */
export function restartPanel(isSame) {
  if (panel && !(isSame && "id" in panel)) closePanel();
}

/** `id`: that of a rule, null for a new one; `take` gets its new lines. Neither for a row. */
function start(title, opened = {}) {
  const focused = document.activeElement;
  if (!host.contains(focused)) opener = focused && focused !== document.body ? focused : $("rows");
  panel = opened;
  const head = make("h3");
  head.append(make("span", "", title));
  const close = head.appendChild(make("button", "", "Close"));
  close.type = "button";
  close.addEventListener("click", closePanel);
  host.replaceChildren(head);
  host.hidden = false;
  host.focus({ preventScroll: innerWidth > 860 });
  if (innerWidth <= 860) host.scrollIntoView({ block: "start" });
  shown += 1;
  return shown;
}

const words = (error) => (error instanceof Refused ? `${error.text || `${error.code}: ${error.message}`}` : "no connection to the console");

function say(text, bad = false) {
  return make("p", bad ? "say bad" : "say", visible(text));
}

/** Puts the picture in, unless the panel shows something else by then. */
async function addPicture(path, alt, mine, place) {
  try {
    const blob = await picture(path);
    if (mine !== shown) return;
    if (address) URL.revokeObjectURL(address);
    address = URL.createObjectURL(blob);
    const image = make("img");
    image.alt = alt;
    image.src = address;
    place.replaceChildren(image);
  } catch (error) {
    if (mine === shown) place.replaceChildren(say(words(error).split("\n")[0]));
  }
}

function pairs(entries) {
  const list = make("dl");
  for (const [name, value] of entries) {
    if (value === "" || value === null) continue;
    list.append(make("dt", "", visible(name)), make("dd", "", visible(value)));
  }
  return list;
}

/** A row with all its values, and the match drawn on its rows if the console has an input. */
export async function openRow(row, sources) {
  const mine = start(visible(row.rule || "match"));
  let all;
  try {
    all = await ask(`/api/rows/${row.number}`);
  } catch (error) {
    if (mine === shown) host.append(say(words(error), true));
    return;
  }
  if (mine !== shown) return;
  const isDrawn = sources.table && (all.kind === "match" || all.kind === "unmatched");
  const place = make("div", "drawing");
  if (isDrawn) host.append(place);
  const keys = all.keys.map(([name, value]) => [name, value ?? "NULL"]);
  host.append(
    pairs([
      ["kind", `${all.kind}${all.version === null ? "" : `, version ${all.version}`}`],
      ...keys,
      ["began", time(all.began)],
      ["ended", time(all.ended)],
      ["decided", time(all.decided)],
      ["match id", all.match_id],
    ]),
  );
  if (all.message) host.append(make("pre", "", visible(all.message)));
  if (all.measures) host.append(make("h4", "", "Measures"), measures(all.measures));
  if (isDrawn) {
    place.append(say("drawing"));
    await addPicture(`/api/rows/${row.number}/picture`, `The match of ${visible(row.rule)} on its rows`, mine, place);
  }
}

function measures(text) {
  try {
    const values = JSON.parse(text);
    if (values && typeof values === "object" && !Array.isArray(values)) {
      return pairs(Object.entries(values).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]));
    }
  } catch {
    // too long, and cut
  }
  return make("pre", "", visible(text));
}

/** A rule: its state, its automaton, and an editor. `id` null: a new one. */
export async function openRule(line, sources) {
  let isRead = false;
  const about = make("div");
  const take = async (next) => {
    const isChanged = ["version", "status", "note"].some((name) => next[name] !== line[name]);
    line = next;
    if (!isRead) return;
    drawAbout(about, rule, line);
    if (!isChanged) return;
    const now = await ask(`/api/rule?id=${encodeURIComponent(line.id)}`).catch(() => null);
    if (now === null || mine !== shown) return;
    Object.assign(rule, { in_force: now.in_force, note: now.note, options: now.options });
    drawAbout(about, rule, line);
  };
  const opened = line === null ? { id: null } : { id: line.id, take };
  const mine = start(line === null ? "New rule" : visible(line.id || "matches"), opened);
  let rule = { id: "", version: 0, newest: 0, text: "", options: {}, enabled: true, status: "", note: "" };
  if (line !== null) {
    try {
      rule = await ask(`/api/rule?id=${encodeURIComponent(line.id)}`);
    } catch (error) {
      if (mine === shown) host.append(say(words(error), true));
      return;
    }
    if (mine !== shown) return;
    isRead = true;
    drawAbout(about, rule, line);
    host.append(about);
    if (rule.text) {
      const place = make("div", "wide");
      place.tabIndex = 0;
      place.setAttribute("role", "region");
      place.setAttribute("aria-label", "The automaton");
      host.append(place);
      addPicture(`/api/rule/picture?id=${encodeURIComponent(line.id)}`, `The automaton of ${visible(line.id)}`, mine, place);
    }
  }
  if (sources.log) host.append(...editor(rule, line, sources, mine));
}

function drawAbout(place, rule, line) {
  place.replaceChildren(pairs([["status", line.status], ["in force", rule.in_force === null ? "no version" : `version ${rule.in_force}`],
    ["matches", `${count(line.hits)}, ${count(line.per_minute)} in the last minute`],
    ["suppressed", line.suppressed ? count(line.suppressed) : ""], ["bad rows", line.errors ? count(line.errors) : ""],
    ["processor time", line.seconds === null ? "" : seconds(line.seconds)],
    ["open in", line.open === null ? "" : `${count(line.open)} keys`],
    ...Object.entries(rule.options).map(([name, value]) => [name.replaceAll("_", " "), value])]));
  if (rule.note) place.append(make("pre", "", visible(rule.note)));
  if (rule.text && line.states.length) place.append(make("h4", "", "Keys with an open partial match, by state"), states(line.states));
}

export function states(list) {
  const box = make("p", "states");
  for (const [number, variable, keys] of list) {
    const chip = make("span", "chip", `${number} ${visible(variable)}`);
    chip.append(make("b", "", count(keys)));
    box.append(chip, " ");
  }
  return box;
}

function editor(rule, line, sources, mine) {
  const name = make("input");
  name.setAttribute("aria-label", "Name of the new rule");
  name.placeholder = "name of the rule";
  name.maxLength = 200;
  const text = make("textarea");
  text.value = rule.text;
  text.spellcheck = false;
  text.setAttribute("aria-label", "Text of the rule");
  const answer = make("div");
  answer.setAttribute("role", "status");
  const id = () => (line === null ? name.value.trim() : line.id);
  const buttons = make("p", "buttons");
  const button = (label, work, enabled = true) => {
    const element = buttons.appendChild(make("button", "", label()));
    element.type = "button";
    element.disabled = !enabled;
    element.addEventListener("click", async () => {
      element.disabled = true;
      try {
        await work();
      } catch (error) {
        answer.replaceChildren(make("pre", "", visible(words(error))));
      }
      element.disabled = !enabled;
      element.textContent = label();
    });
  };
  if (sources.table) button(() => `Test on ${visible(sources.table)}`, () => test(id(), text.value, answer), canWrite);
  button(() => "Save…", () => save(id(), rule, text.value, true, answer, sources), canWrite);
  if (rule.version) {
    const label = () => (rule.enabled ? "Switch off…" : "Switch on…");
    button(label, () => save(id(), rule, rule.enabled ? rule.text : text.value, !rule.enabled, answer, sources), canWrite);
  }
  const parts = [make("h4", "", rule.version ? `Text of version ${rule.version}` : "Text"), text, buttons, answer];
  if (!canWrite) parts.push(say("To test and save rules, open the address that the console printed at its start."));
  return line === null ? [name, ...parts] : parts;
}

async function test(id, text, answer) {
  answer.replaceChildren(say("testing"));
  const found = await send("/api/rule/test", { id, text });
  if (found.refused) {
    answer.replaceChildren(say("A stream would reject this rule:", true), make("pre", "", visible(found.refused)));
    return;
  }
  const suppressed = found.suppressed ? `, ${count(found.suppressed)} suppressed` : "";
  const head = say(`${count(found.matches)} matches${suppressed} and ${count(found.errors)} bad rows in ${count(found.rows)} rows`);
  const terms = say(`${found.keys.length ? `for each ${found.keys.join(", ")}` : "without keys"}, in the order of ${found.time.join(", ")}`);
  const table = make("table", "found");
  const cells = (tag, ...texts) => {
    const row = table.appendChild(make("tr"));
    for (const words of texts) row.append(make(tag, "", words));
  };
  cells("th", "key", "ended", "measures");
  for (const row of found.shown.slice(0, 12)) cells("td", visible(row.key), time(row.ended).slice(5, 19), visible(inWords(row.text)));
  answer.replaceChildren(head, terms, ...(found.shown.length ? [table] : []));
}

async function save(id, rule, text, enabled, answer, sources) {
  if (!id) {
    answer.replaceChildren(say("The rule needs a name.", true));
    return;
  }
  const action = enabled ? `Save version ${rule.newest + 1}` : "Switch off";
  if (!(await confirmed(id, rule, text, enabled, action, sources))) return;
  const written = await send("/api/rule/save", { id, text, enabled, seen_version: rule.newest, confirmed: true });
  Object.assign(rule, { version: written.version, newest: written.version, text, enabled });
  answer.replaceChildren(say(`Version ${written.version} is in the change log. Streams apply it with their next micro-batch.`));
}

function confirmed(id, rule, text, enabled, action, sources) {
  const dialog = $("confirm");
  const options = Object.entries(rule.options).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(", ");
  $("confirm-head").textContent = `${action} of ${visible(id)}?`;
  $("confirm-words").textContent = enabled
    ? `All streams that follow the change log “${visible(sources.log)}” apply the new text. Test it first.`
    : `All streams that follow the change log “${visible(sources.log)}” remove the rule, and its open partial matches end.`;
  $("confirm-options").textContent = options ? visible(`Its options stay: ${options}.`) : "";
  $("confirm-old").textContent = rule.version && rule.enabled ? visible(rule.text) : "not in force";
  $("confirm-new").textContent = enabled ? visible(text) : "not in force";
  $("confirm-yes").textContent = action;
  return new Promise((resolve) => {
    const done = (answer) => {
      dialog.close();
      resolve(answer);
    };
    $("confirm-yes").onclick = () => done(true);
    $("confirm-no").onclick = () => done(false);
    dialog.oncancel = () => resolve(false);
    dialog.showModal();
    $("confirm-no").focus();
  });
}
