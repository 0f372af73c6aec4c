// How things are said: states, times, sizes.

export const STATES = {
  starting: "starting", running: "working", idle: "idle", paused: "paused", limited: "at a usage limit",
  asked: "asked", inspecting: "inspected", verified: "verified",
  nudged: "nudged", escalated: "escalated", salvaging: "salvaged", stopping: "stopping", killing: "killed",
};

export function stateWord(row) {
  if (row.state === "running") return row.activity;
  return row.state;
}

export function outcomeWord(member) {
  if (member.cause) return "failed";
  return member.outcome === "already_gone" ? "ended" : member.outcome;
}

export function ago(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${Math.round(seconds / 86400)} days`;
}

// How long ago it was started, or how long it lived.
export function ageOf(member) {
  if (!member.lane.length) return 0;
  const [state, since] = member.lane.at(-1);
  return (state === "gone" ? since : Date.now() / 1000) - member.lane[0][1];
}

export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString();
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["bytes", "KB", "MB", "GB"];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) { bytes /= 1000; unit += 1; }
  return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
}

export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}

export function cost(dollars) {
  if (dollars === null || dollars === undefined) return "";
  return `$${dollars < 0.01 ? dollars.toFixed(4) : dollars.toFixed(2)}`;
}
