// The desk: everything that waits for a person, newest first, with its answers. A card that did not change stays
// the very same element, so a reply that is being typed stays, whatever else happens.

import { decide, decideAsk, reply } from "./api.js";
import { el, find, say } from "./dom.js";
import { ago, count } from "./words.js";

const KINDS = { ask: "permission", question: "question", escalation: "decision", dialog: "dialog", limit: "usage limit",
  failure: "failed", finished: "finished" };
const ANSWERED = ["ask", "escalation", "question", "finished"]; // here, without a command
const ANSWERS = [
  ["Allow", { decision: "allow" }, "Allow it this once"],
  ["Deny", { decision: "deny" }, "The agent is told no"],
  ["Always allow", { decision: "allow", always: true }, "Allow this very command for the whole team, until it is closed"],
];
const DECISIONS = {
  "force-kill": ["Save and stop", "Its work is saved first, then it is stopped"],
  reassign: ["Reassign", "Its work is saved, it is stopped, and its task goes to another member"],
  human: ["Park", "Nothing is stopped until you decide again"],
  wait: ["Wait", "It is sent back once more, with the full time"],
  "keep-here": ["Keep it here", "Its work is saved on this machine only, then it is stopped"],
};
const CAUSES = { dirty: "unsaved work", silence: "silence", salvage: "a salvage that failed" };

export class Desk {
  constructor(onOpen, onProblem) {
    this.place = find("desk");
    this.onOpen = onOpen;
    this.onProblem = onProblem;
    this.cards = new Map(); // a need's key -> { node, basis }
    this.title = el("h2", { id: "desk-title" });
    this.place.append(this.title);
  }

  draw(state) {
    this.state = state;
    const groups = grouped(state);
    this.title.textContent = state.needs.length ? `Needs you (${state.needs.length})` : "Nothing needs you";
    this.place.classList.toggle("empty", !state.needs.length);
    const cards = new Map();
    let after = this.title;
    for (const [key, needs] of groups) {
      const basis = JSON.stringify(needs.map((need) => this.detail(need)));
      let card = this.cards.get(key);
      if (card?.basis !== basis) {
        const wasOpen = card?.node.querySelector("details")?.open;
        card?.node.remove();
        card = { basis, node: needs.length > 1 ? this.many(needs) : this.one(needs[0]) };
        if (wasOpen) card.node.querySelector("details").open = true;
      }
      cards.set(key, card);
      if (after.nextSibling !== card.node) after.after(card.node);
      after = card.node;
    }
    for (const [key, card] of this.cards) if (!cards.has(key)) card.node.remove();
    this.cards = cards;
    this.tick();
  }

  tick() {
    for (const node of this.place.querySelectorAll("time")) {
      node.textContent = ago(Date.now() / 1000 - Date.parse(node.dateTime) / 1000);
    }
  }

  focus() {
    (this.place.querySelector("article button, article input") ?? this.place).focus();
  }

  detail(need) {
    const { asks, escalations, mail } = this.state;
    if (need.kind === "ask") return { need, ask: asks.find((one) => one.id === need.id) };
    if (need.kind === "escalation") return { need, escalation: escalations.find((one) => one.id === need.id) };
    return need.kind === "question" ? { need, mail: mail[need.id]?.body } : { need };
  }

  one(need) {
    const { ask, escalation, mail } = this.detail(need);
    return el("article", { class: `card k-${need.kind}` }, this.head(need),
      el("p", {}, ask || escalation ? "" : need.text),
      ...(ask ? this.ask(ask) : []),
      ...(escalation ? [el("ul", {}, ...escalation.issues.map((issue) => el("li", {}, issue))),
        this.decisions([escalation])] : []),
      ...(need.kind === "question" ? [mail && mail !== need.text ? el("pre", {}, mail) : null, this.reply(need)] : []),
      need.kind === "finished" ? el("div", { class: "choices" }, el("button", {
        type: "button", onclick: () => this.onOpen(need.member, "Diff") }, "Review its diff")) : null,
      ANSWERED.includes(need.kind) ? null : el("code", { class: "copy" }, need.command));
  }

  head(need) {
    return el("h3", {}, el("span", { class: "tag" }, KINDS[need.kind] ?? need.kind), " ",
      el("button", { type: "button", class: "name", onclick: () => this.onOpen(need.member) }, need.member),
      el("span", { class: "gap" }), need.id ? el("span", { class: "quiet" }, need.id) : null,
      el("time", { class: "quiet", datetime: need.at }));
  }

  ask(ask) {
    const offered = ANSWERS.filter(([, answer]) => ask.command || !answer.always);
    return [
      el("p", {}, ask.title),
      ask.command && !ask.title.includes(ask.command) ? el("pre", {}, ask.command) : null,
      ask.detail ? el("pre", {}, ask.detail) : null,
      el("div", { class: "choices" }, ...offered.map(([word, answer, then]) => el("button", {
        type: "button", title: then, "data-decision": answer.always ? "always" : answer.decision,
        onclick: (event) => this.act(event, () => decideAsk(this.state.ref, ask.id, answer), `Answered ${ask.id}`),
      }, word))),
    ];
  }

  reply(need) {
    const text = el("input", { type: "text", "aria-label": `Reply to ${need.member}`, placeholder: "Reply" });
    const send = (event) => {
      event.preventDefault();
      if (text.value.trim()) {
        this.act(event, () => reply(this.state.ref, need.id, text.value), `Replied to ${need.member}`);
      }
    };
    return el("form", { class: "choices", onsubmit: send }, text, el("button", { type: "submit" }, "Reply"));
  }

  // Escalations with one cause: one button for each decision decides them all.
  many(needs) {
    const all = needs.map((need) => this.detail(need).escalation);
    return el("article", { class: "card k-escalation" },
      el("h3", {}, el("span", { class: "tag" }, KINDS.escalation), " ", `${needs.length} members`,
        el("span", { class: "gap" }), el("time", { class: "quiet", datetime: needs[0].at })),
      el("p", {}, `because of ${CAUSES[all[0].cause] ?? all[0].cause}`),
      this.decisions(all),
      el("details", {}, el("summary", {}, "One by one"), ...needs.map((need) => this.one(need))));
  }

  decisions(all) {
    const known = Object.entries(DECISIONS).filter(([decision]) => all.some((one) => decision in one.decisions));
    return el("div", { class: "choices" }, ...known.map(([decision, [word, then]]) => {
      const can = all.filter((one) => decision in one.decisions && !one.decisions[decision]);
      const ids = can.map((one) => one.id);
      return el("button", {
        type: "button", title: can.length ? then : all[0].decisions[decision], disabled: !can.length,
        class: decision === "force-kill" ? "danger" : "", "data-decision": decision,
        onclick: (event) => this.act(event, async () => {
          const { refused } = await decide(this.state.ref, ids, decision);
          if (refused.length) throw Object.assign(new Error(refused[0].what), { error: refused[0] });
        }, `Decided ${ids.join(", ")}: ${decision}`),
      }, all.length > 1 ? `${word} ${can.length % all.length ? can.length : "all"}` : word);
    }));
  }

  async act(event, work, done) {
    const buttons = event.currentTarget.closest("article").querySelectorAll("button, input");
    buttons.forEach((one) => { one.dataset.was = one.disabled; one.disabled = true; });
    try {
      await work();
      say(done);
    } catch (problem) {
      buttons.forEach((one) => { one.disabled = one.dataset.was === "true"; });
      this.onProblem(problem);
    }
  }
}

function grouped(state) {
  const groups = new Map();
  const cause = new Map(state.escalations.map((one) => [one.id, `${one.cause} ${one.state}`]));
  for (const need of state.needs) {
    const key = need.kind === "escalation" ? `cause ${cause.get(need.id)}` : `${need.kind} ${need.id} ${need.member}`;
    groups.set(key, [...(groups.get(key) ?? []), need]);
  }
  return groups;
}

// Who needs a person, for the roster.
export function needy(state) {
  return new Set(state.needs.map((need) => need.member));
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
  const steps = PHASES.map(([word, here]) => [word, members.filter(here).length]).filter(([, number]) => number);
  place.replaceChildren(
    el("div", { class: "bar" }, el("h2", {}, title(about)),
      el("span", { class: "quiet" }, `${gone} of ${count(members.length, "member")} proved gone`),
      el("span", { class: "gap" }),
      ...steps.map(([word, number]) => el("span", { class: "phase" }, el("b", {}, number), ` ${word}`))),
    el("progress", { max: members.length || 1, value: gone, "aria-label": "Members proved gone" }),
    ...about.rejectedBy.map((one) => el("p", { class: "warn" }, `${one.name} refused: ${one.reason}`)),
    ...about.warnings.map((warning) => el("p", { class: "warn" }, warning)));
}

function title(about) {
  const seconds = about.standDown.seconds;
  if (about.status === "shutdown") return `Closed${seconds === null ? "" : ` in ${seconds.toFixed(1)} s`}, with proof`;
  if (about.standDown.status === "rejected") return "Withdrawn: a member refused, no member was stopped";
  return `Stand-down: ${about.draining ? about.status.replaceAll("_", " ") : "single members"}`;
}
