// Two dialogs: one member closer, and the question before a stand-down.

import { nudge, readMember, readScreen, standDown } from "./api.js";
import { el, fill, find, say } from "./dom.js";
import { clock, count } from "./words.js";

export async function openMember(team, row, onProblem, onAsk) {
  const dialog = find("member");
  const content = el("div", {}, el("p", { class: "quiet" }, "Reading…"));
  fill(dialog, heading("member-title", `${row.key} (${row.role})`, dialog), content);
  dialog.showModal();
  try {
    const found = await readMember(team, row.key);
    fill(content, ...memberParts(team, row, found, onProblem, onAsk));
  } catch (problem) {
    dialog.close();
    onProblem(problem);
  }
}

function memberParts(team, row, found, onProblem, onAsk) {
  const screen = el("pre", { class: "screen", hidden: true });
  const text = el("input", { type: "text", "aria-label": "Text of the nudge", placeholder: "Put this in front of it" });
  const act = (work) => async (event) => {
    event.target.disabled = true;
    try { await work(); } catch (problem) { onProblem(problem); }
    event.target.disabled = false;
  };
  const show = act(async () => {
    const seen = await readScreen(team, row.name);
    screen.hidden = false;
    fill(screen, seen.screen || "(nothing on its screen)");
  });
  const send = act(async () => {
    const sent = await nudge(team, row.name, text.value);
    say(sent.delivered ? "It was seen to take the nudge." : "It has the nudge as mail.");
    text.value = "";
  });
  const live = row.state !== "gone";
  return [
    el("div", { class: "choices" },
      live ? el("button", { type: "button", onclick: show }, "Show its screen") : null,
      live ? el("button", { type: "button", class: "danger", onclick: () => onAsk([row.name]) }, "Stand down…") : null),
    live ? el("div", { class: "choices" }, text, el("button", { type: "button", onclick: send }, "Nudge")) : null,
    screen,
    ...facts(row, found),
    el("h3", {}, "What happened"),
    el("ol", { class: "story" }, ...found.log.map((line) =>
      el("li", {}, el("time", {}, clock(line.at)), " ", line.what))),
  ];
}

function facts(row, found) {
  const items = (found.findings?.items ?? []).map((item) => el("li", {}, `${item.kind}: ${item.what}`));
  const ended = (found.processes?.processes ?? []).map((p) => el("li", {}, `${p.pid} ${p.name}: ${p.ended}`));
  const points = found.checkpoints;
  const dots = points.map((p) => el("i", {
    title: `${p.id}, ${clock(Date.parse(p.at) / 1000)}, ${count(p.files, "file")}, ${p.why}` }));
  return [
    found.workspace ? el("p", {}, "Branch ", el("code", {}, found.workspace.branch ?? "none"), ", workspace ",
      el("code", {}, found.workspace.path)) : null,
    found.prompt ? el("details", {}, el("summary", {}, "Its prompt"), el("pre", {}, found.prompt)) : null,
    items.length ? el("details", { open: row.issues.length > 0 }, el("summary", {},
      `${count(items.length, "finding")} at its last inspection`), el("ul", {}, ...items)) : null,
    ended.length ? el("details", {}, el("summary", {}, `${count(ended.length, "process", "processes")} seen to end`),
      el("ul", {}, ...ended)) : null,
    dots.length ? el("p", {}, `${count(dots.length, "checkpoint")}, get one back with `,
      el("code", {}, `headcount checkpoints restore ${row.name} --at ${points.at(-1).id} --into DIR`),
      el("span", { class: "strip" }, ...dots)) : null,
  ];
}

export function askStandDown(state, names, onProblem) {
  const dialog = find("ask");
  const reason = el("input", { type: "text", id: "reason", placeholder: "Work complete" });
  const force = el("input", { type: "checkbox", id: "force" });
  const now = el("input", { type: "checkbox", id: "now" });
  const whom = names ? names.join(", ") : `all members of ${state.about.team}`;
  const live = Object.values(state.members).filter((m) => m.state !== "gone");
  const number = names ? names.length : live.length;
  const go = async (event) => {
    event.preventDefault();
    dialog.close();
    try {
      const body = { reason: reason.value, force: force.checked, now: now.checked };
      await standDown(state.about.team, names ? { ...body, members: names } : body);
      say(`Asked ${whom} to stand down`);
    } catch (problem) {
      onProblem(problem);
    }
  };
  fill(dialog, heading("ask-title", `Stand down ${whom}?`, dialog), el("form", { onsubmit: go },
    el("p", {}, `${count(number, "member")} will be asked, looked at, sent back if anything is unsaved, and `
      + "stopped. Everything unsaved is kept before anyone is killed."),
    el("label", { for: "reason" }, "Reason that they are told"), reason,
    el("label", { class: "check" }, force, " Override refusals, and save instead of sending back"),
    el("label", { class: "check" }, now, " The same, without waiting for answers"),
    el("div", { class: "choices" }, el("button", { type: "submit", class: "danger", id: "go" }, "Stand down"),
      el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  find("member").close();
  dialog.showModal();
  reason.focus();
}

function heading(id, text, dialog) {
  return el("div", { class: "bar" }, el("h2", { id }, text), el("span", { class: "gap" }),
    el("button", { type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "×"));
}
