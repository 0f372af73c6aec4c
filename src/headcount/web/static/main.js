// Puts it together: the streams change the state, the state is drawn at most once a frame.

import { readReport, Refusal, watchTeam, watchTeams } from "./api.js";
import { Desk, drawProgress, needy } from "./desk.js";
import { askStandDown, askStart, showKeys, showTeamList, updateTeamList } from "./dialogs.js";
import { el, fill, find, say, setClass, setText } from "./dom.js";
import { Window } from "./lane.js";
import { MemberView } from "./member.js";
import { Panels } from "./panels.js";
import { Roster, SORTS } from "./roster.js";
import { ago, cost, count, STATES, stateWord } from "./words.js";

const LOG = 400;

let state = emptyState();
let teams = [];
let changed = new Set(); // keys of members whose rows are to be drawn again
let sections = new Set(); // names of what else is to be drawn again
let only = null;
let drawing = false;
let unwatch = null;
const view = new Window();
const roster = new Roster(open);
const panels = new Panels(open);
const desk = new Desk(open, problem);
const member = new MemberView(problem, (names) => askStandDown(state, names, problem));
const chips = new Map(); // a state's word -> the button that shows only those

// --- the streams

// Made anew each time: streams change what is inside it. `ref` is what the calls name the team by.
function emptyState(ref = null) {
  return { ref, about: null, members: {}, needs: [], escalations: [], asks: [], tasks: [], salvage: [], mail: {}, log: [] };
}

// Forget everything, and draw every section again: the next team may have nothing to put into some of them.
function startOver(ref) {
  state = emptyState(ref);
  changed = new Set();
  sections = new Set(Object.keys(state));
}

function take(patch) {
  if (patch.error) return problem(new Refusal(patch.error, 400));
  if (patch.whole) startOver(state.ref);
  for (const name of ["about", "needs", "escalations", "asks", "tasks", "salvage"]) {
    if (patch[name]) { announce(name, patch[name]); state[name] = patch[name]; sections.add(name); }
  }
  if (patch.members) {
    Object.assign(state.members, patch.members);
    Object.keys(patch.members).forEach((key) => changed.add(key));
  }
  if (patch.mail) { Object.assign(state.mail, patch.mail); sections.add("mail"); }
  if (patch.log) { state.log = [...state.log, ...patch.log].slice(-LOG); sections.add("log"); }
  if (!drawing) { drawing = true; requestAnimationFrame(draw); }
  return undefined;
}

function announce(name, value) {
  if (name === "about" && state.about && state.about.status !== value.status) {
    say(`${value.team} is now ${value.status.replaceAll("_", " ")}`);
  }
  if (name === "needs") {
    const known = new Set(state.needs.map((one) => `${one.kind} ${one.id} ${one.member}`));
    value.filter((one) => !known.has(`${one.kind} ${one.id} ${one.member}`))
      .forEach((one) => say(`${one.member} needs you: ${one.kind}`));
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

function showTeams(patch) {
  if (patch.error) return problem(new Refusal(patch.error, 400));
  teams = patch.teams;
  updateTeamList(teams);
  const select = find("team");
  fill(select, ...teams.map((one) => el("option", { value: one.team },
    one.status === "shutdown" ? `${one.team} (closed)` : one.team)));
  if (!teams.length) fill(find("panel"), el("p", { class: "quiet" }, "No team yet. Start one with `headcount up FILE`."));
  else if (!state.ref) follow(teams[0].team);
  else markTeam();
  return undefined;
}

// A team that closes while it is watched stays in sight; its entry is that of its generation then.
function markTeam() {
  const names = teams.map((one) => one.team);
  find("team").value = names.includes(state.ref) ? state.ref : state.about?.teamId ?? "";
}

function follow(team) {
  unwatch?.();
  startOver(team);
  markTeam();
  unwatch = watchTeam(team, take, link);
}

// --- drawing

function shownKeys() {
  const wanted = find("filter").value.trim().toLowerCase();
  const compare = SORTS[find("sort").value];
  return Object.values(state.members).filter((row) => {
    if (only && stateWord(row) !== only) return false;
    const words = `${row.key} ${row.task ?? ""} ${row.role} ${stateWord(row)} ${row.doing?.text ?? ""}`;
    return !wanted || words.toLowerCase().includes(wanted);
  }).sort((a, b) => compare(a, b, roster.needy)).map((row) => row.key);
}

function draw() {
  drawing = false;
  if (!state.about) return;
  const { about } = state;
  const waiting = state.needs.length ? `(${state.needs.length}) ` : "";
  document.title = `${waiting}${about.team}: ${about.status.replaceAll("_", " ")}`;
  setText(find("status"), about.status.replaceAll("_", " "));
  setClass(find("status"), `pill t-${about.status}`);
  view.update(about, Date.now() / 1000);
  setText(find("window"), `${about.ended ? "Its last" : "Last"} ${ago(view.length)}`);
  for (const id of ["down", "start"]) find(id).disabled = about.status === "shutdown" || (id === "start" && about.draining);
  find("report").disabled = false;
  if (sections.has("needs")) markNeedy();
  roster.show(state, shownKeys(), view, changed);
  if (changed.size || sections.has("members")) drawCounts();
  if (changed.size || sections.has("about")) { drawProgress(state); drawSum(); }
  if (["needs", "asks", "escalations", "mail"].some((name) => sections.has(name))) desk.draw(state);
  if (sections.size) panels.draw(state, sections);
  if (changed.size) member.update(state);
  changed = new Set();
  sections = new Set();
}

function markNeedy() {
  const now = needy(state);
  for (const key of [...now, ...roster.needy]) if (now.has(key) !== roster.needy.has(key)) changed.add(key);
  roster.needy = now;
}

function drawSum() {
  const { about } = state;
  const rows = Object.values(state.members);
  const live = rows.filter((row) => row.state !== "gone").length;
  const spent = about.cost_usd === null ? "" : `, ${cost(about.cost_usd)} spent (${cost(about.cost_today_usd)} today in all teams)`;
  setText(find("sum"), `${live} of ${count(rows.length, "member")} alive${spent}`);
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

function open(key, tab) {
  member.open(state, key, tab);
}

// --- what a person does

find("team").addEventListener("change", (event) => follow(event.target.value));
find("filter").addEventListener("input", redraw);
fill(find("sort"), ...Object.keys(SORTS).map((name) => el("option", {}, name)));
find("sort").addEventListener("change", redraw);
find("down").addEventListener("click", () => state.about && askStandDown(state, null, problem));
find("start").addEventListener("click", () => state.about && askStart(state, problem));
find("teams").addEventListener("click", () => showTeamList(teams, follow));
find("keys").addEventListener("click", showKeys);
find("report").addEventListener("click", async () => {
  try {
    const { name, page } = await readReport(state.ref);
    const url = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    el("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  } catch (error) {
    problem(error);
  }
});
const KEYS = {
  "/": () => find("filter").focus(), d: () => find("down").click(), j: () => roster.move(1), k: () => roster.move(-1),
  n: () => desk.focus(), s: nextSort, a: () => find("start").click(), t: () => find("teams").click(), "?": showKeys,
};
function nextSort() {
  const sort = find("sort");
  sort.selectedIndex = (sort.selectedIndex + 1) % sort.options.length;
  say(`Sorted by ${sort.value}`);
  redraw();
}
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const act = KEYS[event.key];
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
  desk.tick();
  member.update(state);
}, 1000);
fill(find("legend"), ...Object.entries(STATES).map(([name, word]) =>
  el("li", {}, el("span", { class: `key s-${name}` }), word)));
watchTeams(showTeams, link);
