// Calls and streams. The token comes after the # of the address, which no browser sends anywhere; it is kept
// for this tab only, and goes with every call as a header. There is no cookie for another site to ride on.

const KEPT = "headcount-token";

function readToken() {
  const given = location.hash.slice(1);
  if (given) {
    sessionStorage.setItem(KEPT, given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEPT) ?? "";
}

const token = readToken();

export class Refusal extends Error {
  constructor(error, status) {
    super(error.what);
    this.error = error;
    this.status = status;
  }
}

export async function call(path, body) {
  const options = { headers: { Authorization: `Bearer ${token}` } };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(`api/${path}`, options);
  const data = await answer.json();
  if (!answer.ok) throw new Refusal(data.error, answer.status);
  return data;
}

// Server-sent events by fetch, because an EventSource cannot send a header. Comes back by itself when the
// connection ends; each time the server begins with everything.
export function stream(path, onData, onLink) {
  const stop = new AbortController();
  let pause = 250;
  const run = async () => {
    while (!stop.signal.aborted) {
      try {
        const options = { headers: { Authorization: `Bearer ${token}` }, signal: stop.signal };
        const answer = await fetch(`api/${path}`, options);
        if (!answer.ok) {
          onLink("refused", (await answer.json()).error);
          return;
        }
        onLink("live");
        pause = 250;
        await readEvents(answer.body, onData);
      } catch (problem) {
        if (stop.signal.aborted) return;
      }
      onLink("lost");
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, 5000);
    }
  };
  run();
  return () => stop.abort();
}

async function readEvents(body, onData) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      if (event.startsWith("data: ")) onData(JSON.parse(event.slice(6)));
    }
  }
}

const part = encodeURIComponent;
const on = (team, ...rest) => ["teams", team, ...rest].map(part).join("/");
export const standDown = (team, body) => call(on(team, "stand-down"), body);
export const decide = (team, escalations, decision) => call(on(team, "escalations"), { escalations, decision });
export const decideAsk = (team, id, answer) => call(on(team, "asks", id), answer);
export const reply = (team, id, text) => call(on(team, "mail", id, "reply"), { text });
export const startMember = (team, body) => call(on(team, "members"), body);
export const act = (team, name, what, body = {}) => call(on(team, "members", name, what), body);
export const merge = (team, name, squash) => call(on(team, "diffs", name, "merge"), { squash });
export const readMember = (team, key) => call(on(team, "members", key));
export const readScreen = (team, name) => call(on(team, "members", name, "screen"));
export const readCheckpoint = (team, id) => call(on(team, "checkpoints", id));
export const readDiff = (team, name) => call(on(team, "diffs", name));
export const readFile = (team, name, number) => call(on(team, "diffs", name, String(number)));
export const readReport = (team) => call(on(team, "report"));
export const watchMember = (team, key, onData, onLink) => stream(on(team, "members", key, "transcript"), onData, onLink);
export const watchTeam = (team, onData, onLink) => stream(on(team, "events"), onData, onLink);
export const watchTeams = (onData, onLink) => stream("events", onData, onLink);
