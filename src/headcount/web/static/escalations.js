// What waits for somebody, with its decisions as buttons; and how far a stand-down is.

import { decide } from "./api.js";
import { el, fill, find, say } from "./dom.js";
import { count } from "./words.js";

const SAYS = {
  "force-kill": ["Save and stop", "Its work is saved first, then it is stopped"],
  reassign: ["Reassign", "Its work is saved, it is stopped, and its task goes to another member"],
  human: ["Park", "Nothing is stopped until you decide again"],
  wait: ["Wait", "It is sent back once more, with the full time"],
  "keep-here": ["Keep it here", "Its work is saved on this machine only, then it is stopped"],
};

export function drawEscalations(state, onOpen, onProblem) {
  const place = find("escalations");
  const open = state.escalations.filter((one) => one.state === "open" || one.state === "parked");
  place.hidden = !open.length;
  fill(place, el("h2", {}, `${count(open.length, "member")} ${open.length === 1 ? "needs" : "need"} a decision`),
    ...open.map((one) => el("article", { class: "escalation" },
      el("h3", {}, el("button", { type: "button", class: "name", onclick: () => onOpen(one.key) }, one.key),
        ` ${one.id}, ${one.state === "parked" ? "parked, " : ""}because of ${CAUSES[one.cause] ?? one.cause}`),
      el("ul", {}, ...one.issues.map((issue) => el("li", {}, issue))),
      el("div", { class: "choices" }, ...offered(one).map(([decision, [word, then]]) => el("button", {
        type: "button", title: one.decisions[decision] ?? then, disabled: Boolean(one.decisions[decision]),
        class: decision === "force-kill" ? "danger" : "", "data-decision": decision,
        onclick: (event) => choose(event.target, state.about.team, one, decision, onProblem),
      }, word))))));
}

const offered = (one) => Object.entries(SAYS).filter(([decision]) => decision in one.decisions);

const CAUSES = { dirty: "unsaved work", silence: "silence", salvage: "a salvage that failed" };

async function choose(button, team, one, decision, onProblem) {
  const buttons = button.parentElement.querySelectorAll("button");
  buttons.forEach((other) => { other.disabled = true; });
  try {
    await decide(team, one.id, decision);
    say(`Decided ${one.id}: ${decision}`);
  } catch (problem) {
    onProblem(problem);
  }
}

const PHASES = [
  ["waiting for an answer", (m) => m.state === "asked" && !m.answer],
  ["answered", (m) => m.state === "asked" && m.answer],
  ["being inspected", (m) => ["inspecting", "nudged", "verified", "escalated", "running", "starting"].includes(m.state)],
  ["being saved", (m) => m.state === "salvaging"],
  ["being stopped", (m) => ["stopping", "killing", "stuck"].includes(m.state)],
  ["gone", (m) => m.state === "gone"],
];

export function drawProgress(state) {
  const place = find("progress");
  const { about } = state;
  const members = Object.values(state.members).filter((m) => m.asked || m.state === "gone");
  const busy = about.draining || Object.values(state.members).some((m) => m.asked && m.state !== "gone");
  place.hidden = !(busy || about.status === "shutdown" || about.rejectedBy.length);
  if (place.hidden) return;
  const gone = members.filter((m) => m.state === "gone").length;
  const steps = PHASES.map(([word, here]) => el("li", {},
    el("b", {}, members.filter(here).length), el("span", {}, word)));
  fill(place,
    el("div", { class: "bar" }, el("h2", {}, title(about)),
      el("span", { class: "quiet" }, `${gone} of ${count(members.length, "member")} proved gone`)),
    el("progress", { max: members.length || 1, value: gone, "aria-label": "Members proved gone" }),
    el("ol", { class: "phases" }, ...steps),
    ...about.rejectedBy.map((one) => el("p", { class: "warn" }, `${one.name} refused: ${one.reason}`)),
    ...about.warnings.map((warning) => el("p", { class: "warn" }, warning)));
}

function title(about) {
  const seconds = about.standDown.seconds;
  if (about.status === "shutdown") return `Closed${seconds === null ? "" : ` in ${seconds.toFixed(1)} s`}, with proof`;
  if (about.standDown.status === "rejected") return "Withdrawn: a member refused, no member was stopped";
  return `Stand-down: ${about.draining ? about.status.replaceAll("_", " ") : "single members"}`;
}
