// What a member made: its commits, the files that it changed, and the lines of one of them, side by side or unified.

import { merge, readDiff, readFile } from "./api.js";
import { el, fill, say } from "./dom.js";
import { Lines } from "./lines.js";
import { clock, count } from "./words.js";

const WIDEST = 160; // characters of one side; a longer line is cut there, and whole in the unified view
const wide = matchMedia("(min-width: 900px)");
let unified = null; // as the reader chose, else by the width of the window

export async function drawDiff(place, team, name, onProblem) {
  fill(place, el("p", { class: "quiet" }, "Reading…"));
  try {
    const found = await readDiff(team, name);
    if (place.isConnected) fill(place, ...parts(team, name, found, onProblem));
  } catch (problem) {
    fill(place, el("p", { class: "quiet" }, [problem.message, problem.error?.why].filter(Boolean).join(": ")));
  }
}

function parts(team, name, found, onProblem) {
  const sum = (what) => found.files.reduce((all, file) => all + (file[what] ?? 0), 0);
  const lines = new Lines("Changes");
  const title = el("h3", { class: "path" });
  const files = el("ul", { class: "files", "aria-label": "Changed files" });
  const toggle = el("button", { type: "button", "aria-pressed": "false" }, "Unified");
  const area = el("div", { class: "diff" }, files, el("div", { class: "file" }, el("div", { class: "bar" }, title,
    el("span", { class: "gap" }), toggle), lines.node));
  let shown = null;
  const show = () => {
    const isUnified = unified ?? !wide.matches;
    toggle.setAttribute("aria-pressed", isUnified);
    if (shown) showLines(lines, shown.lines, isUnified);
  };
  const open = async (number) => {
    [...files.children].forEach((item, index) => item.firstChild.setAttribute("aria-current", index === number));
    const file = found.files[number];
    fill(title, file.was ? `${file.was} → ${file.path}` : file.path);
    if (file.added === null) { shown = { lines: [["@", null, null, "A binary file"]] }; return show(); }
    try {
      shown = await readFile(team, name, number);
      fill(title, shown.was ? `${shown.was} → ${shown.path}` : shown.path);
      show();
    } catch (problem) { onProblem(problem); }
  };
  toggle.addEventListener("click", () => { unified = toggle.getAttribute("aria-pressed") !== "true"; show(); });
  files.append(...found.files.map((file, number) => el("li", {}, el("button", {
    type: "button", onclick: () => open(number), title: file.path,
  }, el("span", { class: "path" }, file.path), el("span", { class: "added" }, file.added === null ? "" : `+${file.added}`),
  el("span", { class: "deleted" }, file.added === null ? "binary" : `−${file.deleted}`)))));
  if (found.files.length) open(0);
  const unsaved = found.unsaved ? `, ${count(found.unsaved, "file")} in no commit` : "";
  return [
    el("div", { class: "bar" },
      el("span", {}, `${count(found.commits.length, "commit")} since ${found.base.slice(0, 8)}, `
        + `${count(found.files.length + found.filesLeftOut, "file")} changed, `,
      el("span", { class: "added" }, `+${sum("added")} `), el("span", { class: "deleted" }, `−${sum("deleted")}`), unsaved),
      el("span", { class: "gap" }), ...mergeForm(team, name, found, onProblem)),
    found.tests.length ? el("details", {}, el("summary", {}, `Tests: ${found.tests.at(-1)}`),
      el("pre", {}, found.tests.join("\n"))) : null,
    found.commits.length ? el("details", {}, el("summary", {}, "Commits"), el("ul", { class: "plain" },
      ...found.commits.map((one) => el("li", {}, el("code", {}, one.commit.slice(0, 8)), " ", one.subject, " ",
        el("span", { class: "quiet" }, `${one.author}, ${clock(Date.parse(one.at) / 1000)}`))))) : null,
    found.files.length ? area : el("p", { class: "quiet" }, "It has changed nothing."),
  ];
}

function mergeForm(team, name, found, onProblem) {
  if (!found.commits.length) return [];
  const squash = el("input", { type: "checkbox" });
  const done = el("span", { class: "quiet", role: "status" });
  const go = async (event) => {
    event.target.disabled = true;
    try {
      const merged = await merge(team, name, squash.checked);
      const left = merged.unsaved ? ` Not merged: ${count(merged.unsaved, "file")} in no commit.` : "";
      fill(done, `Merged ${count(merged.commits, "commit")} into ${merged.branch}.${left} Undo: `,
        el("code", { class: "copy" }, `git reset --keep ${merged.before.slice(0, 10)}`));
      say(`Merged ${merged.member} into ${merged.branch}`);
    } catch (problem) {
      event.target.disabled = false;
      onProblem(problem);
    }
  };
  return [done, el("label", { class: "check" }, squash, " as one commit"),
    el("button", { type: "button", title: "Into the branch that is checked out where `headcount serve` runs", onclick: go },
      "Merge into my branch")];
}

function showLines(lines, all, isUnified) {
  const length = (content) => (typeof content === "string" ? content.length : content.reduce((n, [, text]) => n + text.length, 0));
  const longest = (signs) => all.reduce((most, line) => (signs.includes(line[0]) ? Math.max(most, length(line[3])) : most), 0) + 3;
  if (isUnified) {
    lines.show(all.length, [longest("+- @")], (number) => {
      const [sign, before, after, content] = all[number];
      return el("div", { class: `line ${KIND[sign]}` }, no(before), no(after), code(sign, content));
    });
    return;
  }
  const rows = pair(all);
  const widths = [longest("- "), longest("+ ")].map((width) => Math.min(width, WIDEST));
  lines.show(rows.length, widths, (number) => {
    const [left, right] = rows[number];
    if (!right && left[0] === "@") return el("div", { class: "line head" }, code(" ", left[3]));
    return el("div", { class: "line sides" }, ...side(left, 1), ...side(right, 2));
  });
}

const KIND = { "+": "plus", "-": "minus", " ": "", "@": "head", "\\": "head" };

function side(line, number) {
  if (!line) return [el("span", { class: "no" }), el("span", { class: "code none" })];
  return [no(line[number]), el("span", { class: `code ${KIND[line[0]]}` }, ...pieces(line[0], line[3]))];
}

const no = (number) => el("span", { class: "no" }, number ?? "");
const code = (sign, content) => el("span", { class: "code" }, ...pieces(sign === "@" ? " " : sign, content));

function pieces(sign, content) {
  const text = typeof content === "string" ? [content] : content.map(([colour, part]) =>
    (colour ? el("span", { class: `t-${colour}` }, part) : part));
  return [el("span", { class: "sign" }, sign), ...text];
}

// Lines that were taken away beside those that stand there instead.
function pair(all) {
  const rows = [];
  let before = [];
  let after = [];
  const flush = () => {
    for (let i = 0; i < Math.max(before.length, after.length); i += 1) rows.push([before[i], after[i]]);
    before = [];
    after = [];
  };
  for (const line of all) {
    if (line[0] === "-") before.push(line);
    else if (line[0] === "+") after.push(line);
    else {
      flush();
      rows.push(line[0] === " " ? [line, line] : [["@", null, null, line[3]], null]);
    }
  }
  flush();
  return rows;
}
