// A member's states over time, as a strip. Rectangles stand at absolute times; moving on in time only changes
// the part of the drawing that is looked at, so a tick costs one attribute a row.

const SVG = "http://www.w3.org/2000/svg";
const FOREVER = 1e7;

export class Window {
  // What part of the team's life is looked at: a stand-down where there is one, else the last half hour.
  update(about, now) {
    const end = about.ended ?? now;
    const began = about.began ?? end;
    const asked = about.askedAt !== null && (about.draining || about.ended) ? about.askedAt : null;
    const length = asked === null ? Math.min(1800, end - began) : (end - asked) * 1.1;
    this.from = Math.max(began, end - Math.max(length, 5));
    this.length = Math.max(end - this.from, 1);
  }
}

export function makeLane() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "lane");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  return svg;
}

export function drawLane(svg, spans, base, label) {
  const bars = [];
  spans.forEach(([state, since], index) => {
    if (state === "gone") return;
    const end = index + 1 < spans.length ? spans[index + 1][1] - base : since - base + FOREVER;
    const bar = document.createElementNS(SVG, "rect");
    bar.setAttribute("x", (since - base).toFixed(3));
    bar.setAttribute("width", Math.max(end - (since - base), 0.001).toFixed(3));
    bar.setAttribute("y", 0);
    bar.setAttribute("height", 10);
    bar.setAttribute("class", `s-${state}`);
    bars.push(bar);
  });
  svg.replaceChildren(...bars);
  svg.setAttribute("aria-label", label);
}

export function lookAt(svg, view, base) {
  svg.setAttribute("viewBox", `${(view.from - base).toFixed(2)} 0 ${view.length.toFixed(2)} 10`);
}
