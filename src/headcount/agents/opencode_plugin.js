// What opencode tells headcount: its pauses, its usage limit and its end of work, each handed to
// `headcount hook`, whose answer (new mail, mostly) is put before the model.
//
// Loaded by the settings of one member's process; see opencode.py. A hook that fails must not stand in the way
// of the work: the mail is still in the mailbox.
import { spawn } from "node:child_process"

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

const newMail = (answer) => answer.hookSpecificOutput?.additionalContext ?? ""

export const Headcount = async ({ client }) => {
  const children = new Set() // sessions of its sub-agents: their pauses are none of the member's
  const cost = new Map() // tokens, by answer; counted until the next pause
  let limited = false
  let sentBack = false

  async function heard(event) {
    const { sessionID, status, info } = event.properties
    if (event.type === "session.created" && info.parentID) children.add(sessionID ?? info.id)
    if (event.type === "message.updated" && info.time?.completed && info.tokens) cost.set(info.id, info.tokens)
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

  async function paused(sessionID) {
    const tokens = [...cost.values()].reduce((sum, { input, output, reasoning }) => sum + input + output + reasoning, 0)
    cost.clear()
    const answer = await ask("Stop", { stop_hook_active: sentBack, tokens })
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
    // Its rules deny a command that headcount has not permitted: asked here, because it asks nobody without a
    // terminal. An answer that does not come changes nothing.
    "tool.execute.before": async ({ tool }, call) => {
      if (tool !== "bash") return
      const answer = await ask("BeforeShell", { tool_input: call.args })
      if (answer.decision === "deny") throw new Error(answer.reason)
      Object.assign(call.args, answer.hookSpecificOutput?.tool_input)
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
