// Dialogs: before a stand-down, a new member, the teams of the past, the keys.

import { standDown, startMember } from "./api.js";
import { el, fill, find, say } from "./dom.js";
import { ago, cost, count } from "./words.js";

const KEYS = [
  ["j, k, arrows", "move through the members"], ["Enter", "open the member"], ["1 to 5", "its tabs, when it is open"],
  ["n", "go to what needs you"], ["/", "filter the members"], ["s", "sort them another way"], ["a", "start another member"],
  ["t", "teams, open and past"], ["d", "stand down; asks first"], ["Escape", "close"], ["?", "these keys"],
];

function show(title, ...content) {
  const dialog = find("ask");
  redrawTeams = null;
  fill(dialog, el("div", { class: "bar" }, el("h2", { id: "ask-title" }, title), el("span", { class: "gap" }),
    el("button", { type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "×")), ...content);
  find("member").close();
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("input, textarea")?.focus();
  return dialog;
}

// A form that closes the dialog, does its work, and reports what went wrong.
function form(work, onProblem, word, kind, ...content) {
  const dialog = find("ask");
  const go = async (event) => {
    event.preventDefault();
    dialog.close();
    try { say(await work()); } catch (problem) { onProblem(problem); }
  };
  return el("form", { onsubmit: go }, ...content, el("div", { class: "choices" },
    el("button", { type: "submit", class: kind, id: "go" }, word),
    el("button", { type: "button", onclick: () => dialog.close() }, "Cancel")));
}

const field = (id, text, input) => [el("label", { for: id }, text), input];

export function askStandDown(state, names, onProblem) {
  const reason = el("input", { type: "text", id: "reason", placeholder: "Work complete" });
  const force = el("input", { type: "checkbox", id: "force" });
  const now = el("input", { type: "checkbox", id: "now" });
  const whom = names ? names.join(", ") : `all members of ${state.about.team}`;
  const live = Object.values(state.members).filter((m) => m.state !== "gone");
  const work = async () => {
    const body = { reason: reason.value, force: force.checked, now: now.checked };
    await standDown(state.ref, names ? { ...body, members: names } : body);
    return `Asked ${whom} to stand down`;
  };
  show(`Stand down ${whom}?`, form(work, onProblem, "Stand down", "danger",
    el("p", {}, `${count(names ? names.length : live.length, "member")} will be asked, looked at, sent back if anything is `
      + "unsaved, and stopped. Everything unsaved is kept before anyone is killed."),
    ...field("reason", "Reason that they are told", reason),
    el("label", { class: "check" }, force, " Override refusals, and save instead of sending back"),
    el("label", { class: "check" }, now, " The same, without waiting for answers")));
}

export function askStart(state, onProblem) {
  const name = el("input", { type: "text", id: "new-name", required: true, autocomplete: "off" });
  const prompt = el("textarea", { id: "new-prompt", rows: 6 });
  const agent = el("input", { type: "text", id: "new-agent", placeholder: "as in headcount.toml", autocomplete: "off" });
  const role = el("select", { id: "new-role" }, ...["worker", "spec-reviewer", "code-quality-reviewer", "lead", "witness"]
    .map((word) => el("option", {}, word)));
  const work = async () => {
    const body = { name: name.value.trim(), prompt: prompt.value, agent: agent.value.trim(), role: role.value };
    return `Starting ${(await startMember(state.ref, body)).key}`;
  };
  show(`Start a member of ${state.about.team}`, form(work, onProblem, "Start", "strong",
    ...field("new-name", "Name", name), ...field("new-prompt", "What it is to do", prompt),
    ...field("new-agent", "Agent", agent), ...field("new-role", "Role", role)));
}

// While it is shown it follows the list.
let redrawTeams = null;

export function showTeamList(teams, onChoose) {
  const table = el("div", { class: "wide", tabindex: 0, role: "group", "aria-label": "Open and past teams" });
  const dialog = show("Teams", table);
  redrawTeams = (now) => {
    const focused = table.contains(document.activeElement) ? document.activeElement.textContent : null;
    fill(table, teamTable(now, (team) => { dialog.close(); onChoose(team); }));
    [...table.querySelectorAll("button")].find((one) => one.textContent === focused)?.focus();
  };
  redrawTeams(teams);
}

export function updateTeamList(teams) {
  redrawTeams?.(teams);
}

function teamTable(teams, onChoose) {
  const when = (at) => (at === null ? "" : new Date(at * 1000).toLocaleString());
  const ends = (one) => Object.entries(one.outcomes).map(([word, number]) => `${number} ${word.replace("_", " ")}`).join(", ");
  return el("table", {},
    el("thead", {}, el("tr", {}, ...["Team", "Status", "Members", "Began", "Lasted", "Cost", "Ends"]
      .map((word) => el("th", { scope: "col" }, word)))),
    el("tbody", {}, ...teams.map((one) => el("tr", {},
      el("td", {}, el("button", { type: "button", class: "name", onclick: () => onChoose(one.team) }, one.team)),
      ...[one.status === "shutdown" ? "closed" : one.status.replaceAll("_", " "), one.members, when(one.began),
        one.began === null ? "" : ago((one.ended ?? Date.now() / 1000) - one.began), cost(one.cost_usd), ends(one)]
        .map((cell) => el("td", {}, cell))))));
}

export function showKeys() {
  show("Keys", el("dl", { class: "keys" }, ...KEYS.flatMap(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])));
}
