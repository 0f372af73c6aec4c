// A long list of lines of one height, of which only those in sight exist: ten thousand cost as much as fifty.

import { el } from "./dom.js";

const HEIGHT = 20; // as in page.css
const SPARE = 20;

export class Lines {
  constructor(label) {
    this.space = el("div", { class: "space" });
    this.window = el("div", { class: "window" });
    this.node = el("div", { class: "lines", tabindex: 0, role: "group", "aria-label": label }, this.space, this.window);
    this.count = 0;
    this.node.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(this.node);
  }

  // `draw` makes the row with a number; `widths` are those of its texts, in characters.
  show(count, widths, draw) {
    this.count = count;
    this.draw = draw;
    this.first = -1;
    this.space.style.height = `${count * HEIGHT}px`;
    widths.forEach((width, index) => this.window.style.setProperty(`--text-${index}`, `${width}ch`));
    this.node.scrollTop = 0;
    this.place();
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.place(); });
  }

  place() {
    if (!this.draw) return;
    const seen = Math.ceil(this.node.clientHeight / HEIGHT) || 40;
    const top = Math.floor(this.node.scrollTop / HEIGHT);
    const first = Math.max(0, top - SPARE);
    const last = Math.min(this.count, top + seen + SPARE);
    if (first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    this.window.style.top = `${first * HEIGHT}px`;
    this.window.replaceChildren(...Array.from({ length: last - first }, (_, index) => this.draw(first + index)));
  }
}
