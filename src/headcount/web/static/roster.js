// The roster: a real table of which only the rows in sight exist. A thousand members cost as much as thirty.

import { el, find, setClass, setText } from "./dom.js";
import { drawLane, lookAt, makeLane } from "./lane.js";
import { ageOf, ago, cost, count, outcomeWord, stateWord } from "./words.js";

const SPARE = 8; // rows above and below what is in sight

const time = (member) => (member.doing ? Date.parse(member.doing.at) : 0);
// Each compares two members; those that are equal stay in the order in which they were started.
export const SORTS = {
  "needs me": (a, b, needy) => rank(a, needy) - rank(b, needy),
  name: (a, b) => a.key.localeCompare(b.key),
  state: (a, b) => stateWord(a).localeCompare(stateWord(b)),
  "last active": (a, b) => time(b) - time(a),
  youngest: (a, b) => (b.lane[0]?.[1] ?? 0) - (a.lane[0]?.[1] ?? 0),
  cost: (a, b) => (b.cost_usd ?? 0) - (a.cost_usd ?? 0),
};

function rank(member, needy) {
  if (needy.has(member.key)) return 0;
  return member.state === "gone" ? 2 : 1;
}

export class Roster {
  constructor(onOpen) {
    this.scroll = find("roster");
    this.body = find("rows");
    this.table = this.body.parentElement;
    this.onOpen = onOpen;
    this.keys = [];
    this.cells = new Map(); // key -> the row that shows it
    this.above = el("tr", { "aria-hidden": "true" }, el("td", { colspan: 9 }));
    this.below = el("tr", { "aria-hidden": "true" }, el("td", { colspan: 9 }));
    this.needy = new Set(); // keys of those that need a person
    this.body.append(this.above, this.below);
    this.first = 0;
    this.last = 0;
    this.focused = null;
    this.height = 0;
    this.scroll.addEventListener("scroll", () => this.onScroll(), { passive: true });
    this.scroll.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => { this.height = 0; this.onScroll(); }).observe(this.scroll);
  }

  // Show these, in this order; `changed` are the keys whose rows are new.
  show(state, keys, view, changed) {
    this.state = state;
    this.view = view;
    this.base = state.about?.began ?? 0;
    const same = keys.length === this.keys.length && keys.every((key, index) => key === this.keys[index]);
    this.keys = keys;
    if (!same || this.last === 0) this.place(true);
    for (const key of changed) {
      const row = this.cells.get(key);
      if (row) this.write(row, state.members[key]);
    }
    this.table.setAttribute("aria-rowcount", keys.length + 1);
    this.table.classList.toggle("no-task", !Object.values(state.members).some((member) => member.task));
  }

  tick(view) {
    this.view = view;
    for (const [key, row] of this.cells) {
      const member = this.state.members[key];
      if (!member) continue;
      lookAt(row.lane, view, this.base);
      this.writeTimes(row, member);
    }
  }

  onScroll() {
    if (!this.waiting) {
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.place(false); });
    }
  }

  place(again) {
    if (!this.state) return;
    const height = this.rowHeight();
    const seen = Math.ceil(this.scroll.clientHeight / height) || 20;
    const top = Math.floor(this.scroll.scrollTop / height);
    const first = Math.max(0, Math.min(top - SPARE, this.keys.length - seen));
    const last = Math.min(this.keys.length, top + seen + SPARE);
    if (!again && first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    const wanted = this.keys.slice(first, last);
    const kept = new Set(wanted);
    for (const [key, row] of this.cells) {
      if (!kept.has(key)) { row.node.remove(); this.cells.delete(key); }
    }
    let after = this.above;
    wanted.forEach((key, index) => {
      let row = this.cells.get(key);
      if (!row) {
        row = this.make(key);
        this.write(row, this.state.members[key]);
        this.cells.set(key, row);
      }
      row.node.setAttribute("aria-rowindex", first + index + 2);
      if (after.nextSibling !== row.node) after.after(row.node);
      after = row.node;
    });
    this.above.firstChild.style.height = `${first * height}px`;
    this.below.firstChild.style.height = `${(this.keys.length - last) * height}px`;
    this.above.hidden = first === 0;
    this.below.hidden = last === this.keys.length;
  }

  rowHeight() {
    if (!this.height) this.height = parseFloat(getComputedStyle(this.table).getPropertyValue("--row")) || 36;
    return this.height;
  }

  make(key) {
    const name = el("button", { type: "button", class: "name", "data-key": key, onclick: () => this.onOpen(key) });
    const pill = el("span");
    const lane = makeLane();
    const cell = (kind, ...content) => el("td", { class: kind }, ...content);
    const row = { name, pill, lane };
    row.task = cell("c-task");
    row.dirty = cell("c-dirty");
    row.ahead = cell("c-ahead");
    row.mail = cell("c-mail");
    row.waits = cell("c-waits");
    row.age = cell("c-age");
    row.node = el("tr", {}, el("th", { scope: "row", class: "c-name" }, name), cell("c-state", pill), row.waits, row.task,
      row.dirty, row.ahead, row.mail, row.age, cell("c-lane", lane));
    return row;
  }

  write(row, member) {
    const word = stateWord(member);
    setClass(row.node, this.needy.has(member.key) ? "needs" : "");
    setText(row.name, member.generation > 1 ? member.key : member.name);
    row.name.title = `${member.key}, ${member.role}`;
    setText(row.pill, member.outcome ? outcomeWord(member) : word);
    setClass(row.pill, `state ${member.state === "gone" ? `o-${member.outcome}` : `s-${member.state} a-${word}`}`);
    setText(row.task, member.task ?? "");
    setText(row.dirty, member.dirty ?? "");
    setText(row.ahead, member.ahead || "");
    setClass(row.dirty, member.dirty ? "c-dirty warn" : "c-dirty");
    setText(row.mail, member.unread || "");
    this.writeTimes(row, member);
    drawLane(row.lane, member.lane, this.base, `${member.name}: ${member.lane.map(([state]) => state).join(", ")}`);
    lookAt(row.lane, this.view, this.base);
  }

  writeTimes(row, member) {
    setText(row.waits, describe(member));
    row.waits.title = row.waits.textContent;
    setText(row.age, member.lane.length ? ago(ageOf(member)) : "");
  }

  onKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!step || !document.activeElement?.dataset?.key) return;
    event.preventDefault();
    this.move(step);
  }

  // From the focused member, or to the first.
  move(step) {
    const at = this.keys.indexOf(document.activeElement?.dataset?.key);
    this.focus(at < 0 ? 0 : at + step);
  }

  focus(index) {
    const wanted = Math.max(0, Math.min(this.keys.length - 1, index));
    const key = this.keys[wanted];
    if (key === undefined) return;
    const height = this.rowHeight();
    const top = wanted * height;
    const room = this.scroll.clientHeight - 2 * height;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (top > this.scroll.scrollTop + room) this.scroll.scrollTop = top - room;
    this.place(false);
    this.cells.get(key)?.name.focus({ preventScroll: true });
  }
}

function describe(member) {
  if (member.failure) return `never started: ${member.failure}`;
  if (member.cause) return `failed: ${member.cause}`;
  if (member.state === "gone") return member.salvage.length ? `saved to ${member.salvage.at(-1)}` : "proved gone";
  if (member.asked || member.state === "stuck") {
    return member.limit ? `${member.waits} (at most ${member.limit} s)` : member.waits;
  }
  const doing = member.doing ? `${member.doing.text} (${ago(Date.now() / 1000 - Date.parse(member.doing.at) / 1000)})` : "";
  const refused = member.refused ? `${count(member.refused.count, "command")} refused: ${member.refused.last}` : "";
  return [...member.issues, doing, refused, cost(member.cost_usd)].filter(Boolean).join("; ");
}
