// What opencode tells headcount: its pauses, its usage limit and its end of work, each handed to
// `headcount hook`, whose answer (new mail, mostly) is put before the model.
//
// Loaded by the settings of one member's process; see opencode.py. A hook that fails must not stand in the way
// of the work: the mail is still in the mailbox.
import { spawn } from "node:child_process"
import { appendFileSync } from "node:fs"

const LIMIT = /limit|quota|too many requests|\b429\b|exhausted|insufficient/i
// Without a terminal the process ends with its turn, and its host looks after the rest.
const HEADLESS = "HEADCOUNT_SHOWN_MAIL" in process.env

function ask(event, given = {}) {
  return new Promise((resolve) => {
    const hook = spawn("headcount", ["hook", event], { stdio: ["pipe", "pipe", "ignore"] })
    let said = ""
    hook.on("error", () => resolve({}))
    hook.stdin.on("error", () => {})
    hook.stdout.on("data", (chunk) => (said += chunk))
    hook.on("close", () => {
      try {
        resolve(JSON.parse(said))
      } catch {
        resolve({})
      }
    })
    hook.stdin.end(JSON.stringify(given))
  })
}

// What it does, for its host, in the words of `opencode run --format json`; that has no tool that still runs.
const RECORD = process.env.HEADCOUNT_CLIENT_DIRECTORY && `${process.env.HEADCOUNT_CLIENT_DIRECTORY}/events.jsonl`
const KINDS = { text: "text", tool: "tool_use", "step-finish": "step_finish" }
const LONGEST = 4000

function record(part) {
  const cut = (_, value) => (typeof value === "string" ? value.slice(-LONGEST) : value)
  try {
    if (RECORD) appendFileSync(RECORD, JSON.stringify({ type: KINDS[part.type], part }, cut) + "\n", { mode: 0o600 })
  } catch {}
}

const newMail = (answer) => answer.hookSpecificOutput?.additionalContext ?? ""

export const Headcount = async ({ client }) => {
  const children = new Set() // sessions of its sub-agents: their pauses are none of the member's
  const tools = new Map() // by call, the state that was recorded last
  let limited = false
  let sentBack = false

  async function heard(event) {
    const { sessionID, status, info, part } = event.properties
    if (event.type === "session.created" && info.parentID) children.add(sessionID ?? info.id)
    if (event.type === "message.part.updated" && isNews(part)) record(part)
    if (event.type === "session.status" && status.type === "retry" && LIMIT.test(status.message)) {
      limited = true
      await ask("Limited", { reason: status.message, until: status.next / 1000 })
    } else if (event.type === "message.part.updated" && limited) {
      limited = false // the model speaks again
      await ask("Resumed")
    } else if (event.type === "session.idle" && !HEADLESS && !children.has(sessionID)) {
      await paused(sessionID)
    }
  }

  // Of a sub-agent only the cost is the member's. A text and a tool are updated many times.
  function isNews(part) {
    if (part.type === "step-finish") return true
    if (children.has(part.sessionID)) return false
    if (part.type === "text") return Boolean(part.time?.end) && !part.synthetic
    if (part.type !== "tool" || part.state.status === "pending" || tools.get(part.callID) === part.state.status) return false
    tools.set(part.callID, part.state.status)
    return true
  }

  async function paused(sessionID) {
    const answer = await ask("Stop", { stop_hook_active: sentBack, turn: true })
    sentBack = answer.decision === "block"
    if (!sentBack) return
    const body = { parts: [{ type: "text", text: answer.reason }] }
    await client.session.promptAsync({ path: { id: sessionID }, body })
  }

  // One after the other, in the order of the events: a limit must not be over before it began.
  let last = Promise.resolve()
  return {
    event: async ({ event }) => {
      last = last.then(() => heard(event)).catch(() => {})
      await last
    },
    "chat.message": async ({ sessionID }, { parts }) => {
      const text = parts.findLast((part) => part.type === "text")
      if (children.has(sessionID) || !text) return
      const mail = newMail(await ask("UserPromptSubmit"))
      if (mail) text.text += `\n\n${mail}`
    },
    "experimental.session.compacting": async () => {
      await ask("PreCompact", { trigger: "auto" })
    },
    // Its own tools have `output`, those of MCP servers `content`. Mail counts as read once it is asked for: so
    // only where it can be shown.
    "tool.execute.after": async ({ sessionID }, result) => {
      const shown = Array.isArray(result?.content) || typeof result?.output === "string"
      if (children.has(sessionID) || !shown) return
      const mail = newMail(await ask("PostToolUse"))
      if (!mail) return
      if (Array.isArray(result.content)) result.content.push({ type: "text", text: mail })
      else result.output += `\n\n${mail}`
    },
  }
}
