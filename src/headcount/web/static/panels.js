// The tabs below the roster: mail, tasks, salvage, the run, the log. Only the one in sight is drawn, and a row
// that did not change stays the very same element: a message that is open stays open, and focus stays put.

import { el, fill, find } from "./dom.js";
import { clock, count, size } from "./words.js";

const COLUMNS = [["To do", ["pending"]], ["In progress", ["in_progress"]], ["In review", ["in_review"]],
  ["Done", ["complete"]], ["Stopped", ["blocked", "withdrawn"]]];

const NAMES = ["Mail", "Tasks", "Salvage", "Run", "Log"];
const SHOWS = { Mail: "mail", Tasks: "tasks", Salvage: "salvage", Run: "about", Log: "log" };

export class Panels {
  constructor(onOpen) {
    this.shown = "Mail";
    this.onOpen = onOpen;
    this.buttons = NAMES.map((name) => el("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel",
      onclick: () => this.choose(name),
    }, name));
    find("tabs").append(...this.buttons);
    find("tabs").addEventListener("keydown", (event) => this.onKey(event));
    this.mark();
  }

  choose(name) {
    this.shown = name;
    this.mark();
    kept.clear();
    this.draw(this.state, new Set([SHOWS[name]]));
  }

  mark() {
    NAMES.forEach((name, index) => {
      const on = name === this.shown;
      this.buttons[index].setAttribute("aria-selected", on);
      this.buttons[index].tabIndex = on ? 0 : -1;
    });
    find("panel").setAttribute("aria-labelledby", `tab-${this.shown}`);
  }

  onKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (NAMES.indexOf(this.shown) + step + NAMES.length) % NAMES.length;
    this.choose(NAMES[next]);
    this.buttons[next].focus();
  }

  // `sections` are the names of what has changed.
  draw(state, sections) {
    this.state = state;
    if (!state?.about) return;
    const unread = Object.values(state.mail).filter((mail) => !mail.read).length;
    const numbers = [unread, state.tasks.length, state.salvage.length, 0, 0];
    NAMES.forEach((name, i) => fill(this.buttons[i], name,
      numbers[i] ? el("span", { class: "number" }, numbers[i]) : null));
    if (sections.has(SHOWS[this.shown])) show(find("panel"), DRAW[this.shown](state, this.onOpen));
  }
}

const kept = new Map(); // of the tab in sight: what is shown -> its row

function table(header, things, cells, empty) {
  if (!things.length) return el("p", { class: "quiet" }, empty);
  const rows = things.map((thing) => {
    if (!kept.has(thing)) kept.set(thing, el("tr", {}, ...cells(thing).map((cell) => el("td", {}, cell))));
    return kept.get(thing);
  });
  const current = new Set(things);
  for (const thing of kept.keys()) if (!current.has(thing) && kept.size > 2 * current.size) kept.delete(thing);
  return el("div", { class: "wide", tabindex: 0 }, el("table", {},
    el("thead", {}, el("tr", {}, ...header.map((word) => el("th", { scope: "col" }, word)))),
    el("tbody", {}, ...rows)));
}

// Rows move into the new table without losing what is open in them; focus has to be given back.
function show(panel, content) {
  const focused = panel.contains(document.activeElement) ? document.activeElement : null;
  fill(panel, content);
  if (focused?.isConnected) focused.focus({ preventScroll: true });
}

const DRAW = {
  Mail: (state) => {
    const mails = Object.values(state.mail).sort((a, b) => b.at - a.at);
    return table(["At", "From", "To", "Message"], mails, (mail) => [
      clock(mail.at), mail.from, mail.meantFor ? `${mail.to} (meant for ${mail.meantFor})` : mail.to,
      el("details", {}, el("summary", { class: mail.read ? "" : "unread" }, mail.subject || "(no subject)",
        mail.priority === "normal" ? null : el("span", { class: "tag" }, mail.priority)),
      el("pre", {}, mail.body))], "No mail yet.");
  },
  Tasks: (state, onOpen) => {
    if (!state.tasks.length) return el("p", { class: "quiet" }, "This team has no tasks.");
    const runs = new Map((state.about.run?.tasks ?? []).map((task) => [task.id, task]));
    return el("div", { class: "board" }, ...COLUMNS.map(([title, statuses]) => {
      const here = state.tasks.filter((task) => statuses.includes(task.status));
      return here.length || statuses[0] !== "blocked" ? el("section", { "aria-label": title },
        el("h3", {}, title, " ", el("span", { class: "number" }, here.length)),
        ...here.map((task) => card(task, runs.get(task.id), onOpen))) : null;
    }));
  },
  Salvage: (state) => table(["Member", "What was saved", "Get it back"], state.salvage, (saved) => [
    saved.key,
    el("div", {}, el("code", {}, saved.ref), el("p", { class: "quiet" },
      saved.files === null ? "" : `${count(saved.files, "file")}, ${size(saved.bytes)}`,
      ...saved.leftOut.map((left) => `; not in it: ${left.path} (${left.why})`))),
    el("code", { class: "copy" }, saved.restore)], "Nothing had to be saved yet."),
  Run: (state) => {
    const run = state.about.run;
    if (!run) return el("p", { class: "quiet" }, "This team was started without tasks to run.");
    return el("div", {}, el("p", {}, `${run.status}, attempt ${run.attempt}`, run.reason ? `: ${run.reason}` : ""),
      table(["", "Checklist", "Evidence"], run.checklist, (item) => [item.done ? "done" : "open", item.item,
        item.evidence], ""),
      table(["Task", "Subject", "State", "Rounds", "Who", "Why"], run.tasks, (task) => [task.id, task.subject,
        task.state.replaceAll("_", " "), task.rounds, task.worker ?? "", task.reason], ""),
      run.integration ? el("p", {}, "Take the result over with ",
        el("code", { class: "copy" }, `git merge ${run.integration}`)) : null);
  },
  Log: (state) => table(["No.", "At", "Who", "What"], state.log.toReversed(), (line) => [
    line.seq, clock(line.at), line.who, line.what ?? el("span", { class: "quiet" },
      `${line.kind.replaceAll("_", " ")} ${brief(line.data)}`)], "Nothing has happened yet."),
};

function card(task, run, onOpen) {
  const needs = task.dependsOn.length ? `after ${task.dependsOn.join(", ")}` : "";
  const notes = [run?.rounds > 1 ? `round ${run.rounds}` : "", run?.waits ?? "", task.reason || run?.reason || "",
    task.status === "pending" ? needs : ""].filter(Boolean).join("; ");
  return el("article", { class: "card" },
    el("p", {}, el("b", {}, task.id), " ", task.subject),
    task.owner ? el("p", {}, el("button", { type: "button", class: "name", onclick: () => onOpen(task.owner, "Diff") }, task.owner)) : null,
    notes ? el("p", { class: "quiet" }, notes) : null,
    ...task.reviews.map((review) => el("blockquote", { class: review.verdict === "pass" ? "good" : "warn" },
      el("b", {}, `${review.key}: ${review.verdict === "pass" ? "passed" : "changes"}`), review.words ? ` ${review.words}` : "",
      " ", el("span", { class: "quiet" }, clock(review.at)))));
}

function brief(data) {
  const text = Object.entries(data ?? {}).map(([name, value]) =>
    `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
