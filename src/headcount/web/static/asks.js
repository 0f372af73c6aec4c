// Permission requests of the members' clients, with the answers as buttons.

import { decideAsk } from "./api.js";
import { el, fill, find, say } from "./dom.js";
import { count } from "./words.js";

const ANSWERS = [
  ["Allow", { decision: "allow" }, "Allow it this once"],
  ["Deny", { decision: "deny" }, "The agent is told no"],
  ["Always allow", { decision: "allow", always: true }, "Allow this very command for the whole team, until it is closed"],
];

export function drawAsks(state, onOpen, onProblem) {
  const place = find("asks");
  place.hidden = !state.asks.length;
  fill(place, el("h2", {}, `${count(state.asks.length, "permission request")}`),
    ...state.asks.map((one) => el("article", { class: "escalation" },
      el("h3", {}, el("button", { type: "button", class: "name", onclick: () => onOpen(one.member) }, one.member),
        ` ${one.id ?? "in its terminal"}: ${one.title}`),
      one.command ? el("pre", {}, one.command) : "",
      one.detail ? el("pre", {}, one.detail) : "",
      one.id ? answers(state.about.team, one, onProblem) : el("p", { class: "quiet" }, one.attach))));
}

function answers(team, one, onProblem) {
  const offered = ANSWERS.filter(([, answer]) => one.command || !answer.always);
  return el("div", { class: "choices" }, ...offered.map(([word, answer, then]) => el("button", {
    type: "button", title: then, "data-decision": answer.always ? "always" : answer.decision,
    onclick: (event) => choose(event.target, team, one, answer, onProblem),
  }, word)));
}

async function choose(button, team, one, answer, onProblem) {
  const buttons = button.parentElement.querySelectorAll("button");
  buttons.forEach((other) => { other.disabled = true; });
  try {
    await decideAsk(team, one.id, answer);
    say(`Answered ${one.id}: ${answer.decision}`);
  } catch (problem) {
    buttons.forEach((other) => { other.disabled = false; });
    onProblem(problem);
  }
}
