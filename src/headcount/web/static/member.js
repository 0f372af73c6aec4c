// One member, closer: what it does, says and made, and what can be done with it.

import { act, readCheckpoint, readMember, readScreen, watchMember } from "./api.js";
import { drawDiff } from "./diff.js";
import { el, fill, find, say, setText } from "./dom.js";
import { ageOf, ago, clock, cost, count, outcomeWord, stateWord } from "./words.js";

const TABS = ["Overview", "Transcript", "Diff", "Checkpoints", "Log"];
const KEPT = 400000; // characters of a transcript

export class MemberView {
  constructor(onProblem, onAsk) {
    this.dialog = find("member");
    this.onProblem = (problem) => { this.problem(problem); onProblem(problem); };
    this.onAsk = onAsk;
    this.dialog.addEventListener("close", () => { this.stop?.(); this.key = null; });
    this.dialog.addEventListener("keydown", (event) => this.onKey(event));
  }

  open(state, key, tab = "Overview") {
    const row = state.members[key];
    if (!row) return;
    this.stop?.();
    this.key = key;
    this.team = state.ref;
    this.row = row;
    this.found = null;
    this.now = el("p", { class: "now" });
    this.notice = el("p", { class: "warn", role: "alert" });
    this.body = el("div", { class: "body", role: "tabpanel", tabindex: 0, id: "member-panel" });
    this.buttons = TABS.map((name) => el("button", {
      type: "button", role: "tab", id: `member-${name}`, "aria-controls": "member-panel", onclick: () => this.choose(name),
    }, name));
    this.acts = el("div", { class: "choices acts" });
    fill(this.dialog,
      el("div", { class: "bar" }, el("h2", { id: "member-title" }, `${key}`), el("span", { class: "quiet" }, row.role),
        el("span", { class: "gap" }), this.acts,
        el("button", { type: "button", "aria-label": "Close", onclick: () => this.dialog.close() }, "×")),
      this.now, this.notice,
      el("div", { role: "tablist", "aria-label": "About the member" }, ...this.buttons), this.body,
      row.state === "gone" ? null : this.composer());
    this.update(state);
    if (!this.dialog.open) this.dialog.showModal();
    this.choose(tab);
  }

  // With each change of the team: the line of activity and what can be done now.
  update(state) {
    const row = state.members[this.key];
    if (!this.key || state.ref !== this.team || !row) return;
    this.row = row;
    const age = row.lane.length ? ` for ${ago(ageOf(row))}` : "";
    const doing = row.doing ? `: ${row.doing.text} (${ago(Date.now() / 1000 - Date.parse(row.doing.at) / 1000)} ago)` : "";
    setText(this.now, `${row.outcome ? outcomeWord(row) : stateWord(row)}, here${age}${doing}`
      + `${row.cost_usd === null ? "" : `; ${cost(row.cost_usd)}`}${row.tokens ? `; ${row.tokens.toLocaleString()} tokens` : ""}`);
    const offered = offers(row);
    if (this.acts.dataset.offered !== String(offered)) {
      this.acts.dataset.offered = String(offered);
      fill(this.acts, ...offered.map((what) => this.button(what)));
    }
  }

  button(what) {
    if (what === "down") {
      return el("button", { type: "button", class: "danger", onclick: () => this.onAsk([this.row.name]) }, "Stand down…");
    }
    const [word, then, path, body] = ACTS[what];
    return el("button", { type: "button", title: then, onclick: this.acting(async () => {
      await act(this.team, this.row.name, path, body);
      say(`${word}: ${this.row.name}`);
    }) }, word);
  }

  acting(work) {
    return async (event) => {
      const button = event.target;
      button.disabled = true;
      setText(this.notice, "");
      try { await work(); } catch (problem) { this.onProblem(problem); }
      button.disabled = false;
    };
  }

  problem(problem) {
    setText(this.notice, [problem.message, problem.error?.why].filter(Boolean).join(": "));
  }

  composer() {
    const text = el("input", { type: "text", "aria-label": "Message or nudge", placeholder: "Write to it" });
    const send = this.acting(async () => {
      const sent = await act(this.team, this.row.name, "mail", { text: text.value });
      say(sent.delivered ? "Sent." : sent.note);
      text.value = "";
    });
    const nudge = this.acting(async () => {
      const sent = await act(this.team, this.row.name, "nudge", { text: text.value });
      say(sent.delivered ? "It was seen to take the nudge." : "It has the nudge as mail.");
      text.value = "";
    });
    return el("form", { class: "choices composer", onsubmit: (event) => { event.preventDefault(); } }, text,
      el("button", { type: "submit", title: "It reads mail at its next pause", onclick: send }, "Send"),
      el("button", { type: "button", title: "Put it in front of the agent now", onclick: nudge }, "Nudge"));
  }

  choose(tab) {
    this.stop?.();
    this.stop = null;
    TABS.forEach((name, index) => {
      this.buttons[index].setAttribute("aria-selected", name === tab);
      this.buttons[index].tabIndex = name === tab ? 0 : -1;
    });
    this.tab = tab;
    this.body.setAttribute("aria-labelledby", `member-${tab}`);
    fill(this.body);
    if (tab === "Transcript") this.follow();
    else if (tab === "Diff") drawDiff(this.body, this.team, this.key, this.onProblem);
    else this.read(tab);
  }

  onKey(event) {
    if (event.target.matches("input, textarea")) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const wanted = event.target.matches("[role=tab]") && step
      ? (TABS.indexOf(this.tab) + step + TABS.length) % TABS.length : Number(event.key) - 1;
    if (TABS[wanted] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      this.choose(TABS[wanted]);
      this.buttons[wanted].focus();
    }
  }

  async read(tab) {
    const { key } = this;
    try {
      this.found ??= await readMember(this.team, key);
    } catch (problem) {
      return this.onProblem(problem);
    }
    if (this.key === key && this.tab === tab) fill(this.body, ...this[tab](this.found));
    return undefined;
  }

  follow() {
    const text = el("pre", { class: "transcript", role: "log", tabindex: 0, "aria-label": `Transcript of ${this.key}` });
    const end = el("p", { class: "quiet" }, "Following…");
    fill(this.body, text, end);
    let size = 0;
    let over = false;
    const take = (data) => {
      if (data.error) { over = true; return setText(end, data.error.what); }
      if (data.over) { over = true; this.stop?.(); return setText(end, size ? "The end." : "It has printed nothing."); }
      const isAtEnd = text.scrollHeight - text.scrollTop - text.clientHeight < 40;
      const part = el("span", {}, data.text);
      text.append(part);
      size += data.text.length;
      while (size > KEPT && text.firstChild !== part) {
        size -= text.firstChild.textContent.length;
        text.firstChild.remove();
      }
      if (isAtEnd) text.scrollTop = text.scrollHeight;
      return undefined;
    };
    const link = (now) => {
      if (over) return;
      if (now === "live") { fill(text); size = 0; }
      setText(end, now === "live" ? "Following…" : "Connection lost, trying again");
    };
    this.stop = watchMember(this.team, this.key, take, link);
  }

  Overview(found) {
    const { row } = this;
    const screen = el("pre", { class: "screen", hidden: true });
    const show = this.acting(async () => {
      const seen = await readScreen(this.team, row.name);
      screen.hidden = false;
      fill(screen, seen.screen || "(nothing on its screen)");
    });
    const items = (found.findings?.items ?? []).map((item) => el("li", {}, `${item.kind}: ${item.what}`));
    const ended = (found.processes?.processes ?? []).map((p) => el("li", {}, `${p.pid} ${p.name}: ${p.ended}`));
    return [
      row.task ? el("p", {}, `Task ${row.task}`) : null,
      found.workspace ? el("p", {}, "Branch ", el("code", {}, found.workspace.branch ?? "none"), ", workspace ",
        el("code", {}, found.workspace.path)) : null,
      row.refused ? el("p", { class: "warn" }, `${count(row.refused.count, "command")} refused: ${row.refused.last}`) : null,
      row.state === "gone" ? null : el("div", { class: "choices" }, el("button", { type: "button", onclick: show }, "Show its screen")),
      screen,
      found.prompt ? el("details", { open: true }, el("summary", {}, "Its prompt"), el("pre", {}, found.prompt)) : null,
      items.length ? el("details", { open: row.issues.length > 0 }, el("summary", {},
        `${count(items.length, "finding")} at its last inspection`), el("ul", {}, ...items)) : null,
      ended.length ? el("details", {}, el("summary", {}, `${count(ended.length, "process", "processes")} seen to end`),
        el("ul", {}, ...ended)) : null,
      el("h3", {}, "What happened last"),
      ...this.Log({ log: found.log.slice(-5) }),
    ];
  }

  Checkpoints(found) {
    const points = found.checkpoints.toReversed();
    if (!points.length) return [el("p", { class: "quiet" }, "No checkpoint was taken.")];
    const text = el("pre", { class: "screen", hidden: true, tabindex: 0 });
    const show = (id) => this.acting(async () => {
      const shown = await readCheckpoint(this.team, id);
      text.hidden = false;
      fill(text, `${id}\n${shown.stat}\n${shown.diff}`.slice(0, KEPT));
      text.scrollIntoView({ block: "nearest" });
    });
    return [
      el("p", {}, "Get one back with ", el("code", { class: "copy" },
        `headcount checkpoints restore ${this.row.name} --at ${points[0].id} --into DIR`)),
      el("div", { class: "wide", tabindex: 0 }, el("table", {}, el("tbody", {}, ...points.slice(0, 200).map((point) => el("tr", {},
        el("td", {}, el("button", { type: "button", class: "name", onclick: show(point.id) }, point.id)),
        el("td", {}, clock(Date.parse(point.at) / 1000)), el("td", {}, count(point.files, "file")),
        el("td", {}, point.why)))))), text];
  }

  Log(found) {
    return [el("ol", { class: "story" }, ...found.log.map((line) =>
      el("li", {}, el("time", {}, clock(line.at)), " ", line.what)))];
  }
}

const ACTS = {
  pause: ["Pause", "Stop all of its processes where they are", "pause", {}],
  resume: ["Resume", "Continue its processes", "pause", { resume: true }],
  cycle: ["Cycle", "Hand its work over to a new generation in the same workspace", "cycle", {}],
};

function offers(row) {
  if (row.state === "gone") return [];
  if (row.state !== "running") return ["down"];
  return row.activity === "paused" ? ["resume", "down"] : ["pause", "cycle", "down"];
}
