// Puts it together: the streams change the state, the state is drawn at most once a frame.

import { readReport, Refusal, watchTeam, watchTeams } from "./api.js";
import { drawAsks } from "./asks.js";
import { askStandDown, openMember } from "./dialogs.js";
import { el, fill, find, say, setClass, setText } from "./dom.js";
import { drawEscalations, drawProgress } from "./escalations.js";
import { Window } from "./lane.js";
import { Panels } from "./panels.js";
import { Roster } from "./roster.js";
import { ago, cost, STATES, stateWord } from "./words.js";

const LOG = 400;

let state = emptyState();
let changed = new Set(); // keys of members whose rows are to be drawn again
let sections = new Set(); // names of what else is to be drawn again
let only = null;
let drawing = false;
let unwatch = null;
const view = new Window();
const roster = new Roster(open);
const panels = new Panels();
const chips = new Map(); // a state's word -> the button that shows only those

// --- the streams

// Made anew each time: streams change what is inside it.
function emptyState() {
  return { about: null, members: {}, escalations: [], asks: [], tasks: [], salvage: [], mail: {}, log: [] };
}

// Forget everything, and draw every section again: the next team may have nothing to put into some of them.
function startOver() {
  state = emptyState();
  changed = new Set();
  sections = new Set(Object.keys(state));
}

function take(patch) {
  if (patch.error) return problem(new Refusal(patch.error, 400));
  if (patch.whole) startOver();
  for (const name of ["about", "escalations", "asks", "tasks", "salvage"]) {
    if (patch[name]) { announce(name, patch[name]); state[name] = patch[name]; sections.add(name); }
  }
  if (patch.members) {
    Object.assign(state.members, patch.members);
    Object.keys(patch.members).forEach((key) => changed.add(key));
  }
  if (patch.mail) { Object.assign(state.mail, patch.mail); sections.add("mail"); }
  if (patch.log) { state.log = [...state.log, ...patch.log].slice(-LOG); sections.add("log"); }
  if (!drawing) { drawing = true; requestAnimationFrame(draw); }
}

function announce(name, value) {
  if (name === "about" && state.about && state.about.status !== value.status) {
    say(`${value.team} is now ${value.status.replaceAll("_", " ")}`);
  }
  if (name === "escalations") {
    const known = new Set(state.escalations.map((one) => one.id));
    value.filter((one) => one.state === "open" && !known.has(one.id))
      .forEach((one) => say(`${one.key} needs a decision`));
  }
  if (name === "asks") {
    const known = new Set(state.asks.map((one) => one.id));
    value.filter((one) => !known.has(one.id)).forEach((one) => say(`${one.member} requests permission`));
  }
}

function link(now, error) {
  setText(find("link"), { live: "live", lost: "connection lost, trying again", refused: "refused" }[now]);
  setClass(find("link"), `link ${now}`);
  if (error) problem(new Refusal(error, 401));
  else if (now === "live") find("notice").hidden = true;
}

function problem(error) {
  const told = error.error ?? { what: String(error.message), why: "", hints: [], code: "" };
  const notice = find("notice");
  notice.hidden = false;
  fill(notice, el("strong", {}, told.what), told.why ? ` Because: ${told.why}.` : "",
    ...told.hints.map((hint) => el("p", {}, hint)),
    el("button", { type: "button", onclick: () => { notice.hidden = true; } }, "Dismiss"));
}

function showTeams({ teams }) {
  const select = find("team");
  const chosen = select.value || teams[0]?.team;
  fill(select, ...teams.map((one) => el("option", { value: one.team },
    one.status === "shutdown" ? `${one.team} (closed)` : one.team)));
  if (chosen) select.value = chosen;
  if (!teams.length) {
    fill(find("panel"), el("p", { class: "quiet" }, "No team yet. Start one with `headcount up FILE`."));
  } else if (!unwatch) follow(chosen);
}

function follow(team) {
  unwatch?.();
  startOver();
  unwatch = watchTeam(team, take, link);
}

// --- drawing

function shownKeys() {
  const wanted = find("filter").value.trim().toLowerCase();
  return Object.keys(state.members).filter((key) => {
    const row = state.members[key];
    if (only && stateWord(row) !== only) return false;
    return !wanted || `${key} ${row.task ?? ""} ${row.role} ${stateWord(row)}`.toLowerCase().includes(wanted);
  });
}

function draw() {
  drawing = false;
  if (!state.about) return;
  const { about } = state;
  document.title = `${about.team}: ${about.status.replaceAll("_", " ")}`;
  setText(find("status"), about.status.replaceAll("_", " "));
  setClass(find("status"), `pill t-${about.status}`);
  view.update(about, Date.now() / 1000);
  const spent = about.cost_usd === null ? "" : `, ${cost(about.cost_usd)} spent (${cost(about.cost_today_usd)} today in all teams)`;
  setText(find("window"), `${about.ended ? "Its last" : "Last"} ${ago(view.length)}${spent}`);
  find("down").disabled = about.status === "shutdown";
  find("report").disabled = false;
  roster.show(state, shownKeys(), view, changed);
  if (changed.size || sections.has("members")) drawCounts();
  if (changed.size || sections.has("about")) drawProgress(state);
  if (sections.has("asks")) drawAsks(state, open, problem);
  if (sections.has("escalations")) drawEscalations(state, open, problem);
  if (sections.size) panels.draw(state, sections);
  changed = new Set();
  sections = new Set();
}

function drawCounts() {
  const numbers = new Map();
  for (const row of Object.values(state.members)) {
    const word = stateWord(row);
    numbers.set(word, (numbers.get(word) ?? 0) + 1);
  }
  if (only && !numbers.has(only)) only = null;
  for (const [word, chip] of chips) if (!numbers.has(word)) { chip.remove(); chips.delete(word); }
  for (const [word, number] of numbers) {
    if (!chips.has(word)) chips.set(word, makeChip(word));
    const chip = chips.get(word);
    chip.setAttribute("aria-pressed", word === only);
    setText(chip.lastChild, number);
  }
}

function makeChip(word) {
  const choose = () => { only = word === only ? null : word; redraw(); };
  const chip = el("button", { type: "button", onclick: choose }, `${word} `, el("b"));
  find("counts").append(chip);
  return chip;
}

function redraw() {
  drawCounts();
  roster.show(state, shownKeys(), view, []);
}

function open(key) {
  openMember(state.about.team, state.members[key], problem, (names) => askStandDown(state, names, problem));
}

// --- what a person does

find("team").addEventListener("change", (event) => follow(event.target.value));
find("filter").addEventListener("input", redraw);
find("down").addEventListener("click", () => state.about && askStandDown(state, null, problem));
find("report").addEventListener("click", async () => {
  try {
    const { name, page } = await readReport(state.about.team);
    const url = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    el("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  } catch (error) {
    problem(error);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = { "/": () => find("filter").focus(), d: () => find("down").click(), j: () => roster.focus(0) }[event.key];
  if (act) { event.preventDefault(); act(); }
});
find("filter").addEventListener("keydown", (event) => {
  if (event.key === "Escape") { event.target.value = ""; redraw(); }
  if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); roster.focus(0); }
});
setInterval(() => {
  if (!state.about || document.hidden) return;
  view.update(state.about, Date.now() / 1000);
  roster.tick(view);
}, 1000);
fill(find("legend"), ...Object.entries(STATES).map(([name, word]) =>
  el("li", {}, el("span", { class: `key s-${name}` }), word)));
watchTeams(showTeams, link);
