// The bridge from opencode to the breaker: a plugin that asks the engine about every tool call of every session.
// Written from opencode 1.18.33.

import { textsOf } from './bounds.mjs'
import { ALLOWED, Line, settingsFrom } from './line.mjs'

const LOOKUP_MS = 2_000
/** Sessions that are remembered, and calls whose advice is. */
const KEPT = 4_096
/** How opencode begins the error of a call that never had its chance: stopped, turned down, or against a rule. */
const NOT_RUN = [
  'Tool execution aborted',
  'The user rejected permission',
  'The user has specified a rule',
  'The user dismissed this question',
]
const NEVER_RAN = { isError: true, error: { code: 'ABORTED' } }
/** What opencode adds to the output of a command that it stopped, and how much of the output's end that may take. */
const TIMED_OUT = /terminated command after exceeding timeout (\d{1,12}) ms/
const GIVEN_UP = 'User aborted the command'
const REMARKS = 1_000

/** The plugin's hooks. `context` is what opencode gives to a plugin, `given` what the installation wrote down. */
export function bridge({ client }, given) {
  const line = new Line(settingsFrom(given), 'opencode', (text) => log(client, text))
  const sessions = new Sessions(client)
  /** Calls that wait for a verdict or run, by session and id: `{ agent, giveUp, allowed }`. */
  const calls = new Map()
  /** Advice about calls that threw, by session and id. */
  const advised = new Map()

  const listeners = {
    'session.created': ({ info }) => sessions.learn(info),
    'session.deleted': ({ info }) => {
      giveUp(info.id)
      line.endAgent(sessions.forget(info.id))
    },
    'session.idle': async ({ sessionID }) => {
      giveUp(sessionID)
      const agent = await sessions.agent(sessionID)
      if (agent.parent) line.endAgent(agent)
    },
    'message.part.updated': ({ part }) => {
      if (part.type === 'tool' && part.state?.status === 'error') threw(part)
    },
  }

  return {
    'tool.execute.before': async ({ tool, sessionID, callID }, { args }) => {
      const agent = await sessions.agent(sessionID)
      const withdrawal = new AbortController()
      const call = { agent, allowed: false, giveUp: () => withdrawal.abort() }
      const key = keyOf(sessionID, callID)
      calls.set(key, call)
      const verdict = await line.decide(agent, callID, tool, args, withdrawal.signal)
      if (verdict === ALLOWED) call.allowed = true
      else calls.delete(key)
      if (verdict.decision === 'deny') throw new Error(verdict.reason)
    },

    'tool.execute.after': async ({ sessionID, callID }, output) => {
      const advice = await settle(keyOf(sessionID, callID), callID, resultFrom(output))
      if (!advice) return
      if (typeof output?.output === 'string') output.output += `\n\n${advice}`
      else if (Array.isArray(output?.content)) output.content.push({ type: 'text', text: advice })
    },

    'chat.message': async ({ sessionID }, { message, parts }) => {
      const agent = await sessions.agent(sessionID)
      // What a parent has its sub-agent do comes by here, too, and what opencode itself adds to a conversation.
      if (agent.parent) agent.name = message?.agent || agent.name
      else if (parts?.some((part) => !part.synthetic)) line.startTurn(agent)
    },

    // Nobody awaits this one, so nobody would hear of a fault in it.
    event: async ({ event }) => {
      try {
        await listeners[event.type]?.(event.properties)
      } catch (error) {
        log(client, `${event?.type} could not be read: ${error?.message}`)
      }
    },

    // The only place where the model can be told more about a call that threw.
    'experimental.chat.messages.transform': async (_, { messages }) => {
      if (advised.size === 0) return
      for (const part of messages.flatMap((message) => message.parts)) {
        const advice = part.type === 'tool' && (await advised.get(keyOf(part.sessionID, part.callID)))
        const error = part.state?.error
        if (advice && typeof error === 'string' && !error.endsWith(advice)) part.state.error = `${error}\n\n${advice}`
      }
    },

    dispose: async () => line.close(),
  }

  /** Hands a result in, once. The advice for the model, or ''. */
  async function settle(key, callID, result) {
    const call = calls.get(key)
    if (!call?.allowed) return ''
    calls.delete(key)
    return line.settle(call.agent, callID, result)
  }

  /** opencode tells of a call that threw, or that it stopped, only in the state of the message's part. */
  function threw({ sessionID, callID, state }) {
    const key = keyOf(sessionID, callID)
    const call = calls.get(key)
    if (call === undefined) return
    if (!call.allowed) return call.giveUp()
    const text = String(state.error)
    const never = NOT_RUN.some((beginning) => text.startsWith(beginning))
    const advising = settle(key, callID, never ? NEVER_RAN : { isError: true, content: textsOf([{ text }]) })
    remember(advised, key, advising)
    advising.then((advice) => { if (!advice) advised.delete(key) })
  }

  /** Nothing of this session waits or runs any longer. */
  function giveUp(sessionID) {
    for (const [key, call] of calls) {
      if (!key.startsWith(`${sessionID}\n`)) continue
      if (call.allowed) settle(key, key.slice(sessionID.length + 1), NEVER_RAN)
      else call.giveUp()
    }
  }
}

/** Who is who among the sessions, as the events tell; opencode is asked about one that is older than this process. */
class Sessions {
  #client
  #agents = new Map()

  constructor(client) {
    this.#client = client
  }

  /** The agent of a session, as a promise that does not reject: `{ id, parent, name }`. */
  agent(id) {
    if (!this.#agents.has(id)) remember(this.#agents, id, this.#lookUp(id))
    return this.#agents.get(id)
  }

  learn({ id, parentID }) {
    remember(this.#agents, id, Promise.resolve(agentFrom(id, parentID)))
  }

  forget(id) {
    this.#agents.delete(id)
    return agentFrom(id)
  }

  async #lookUp(id) {
    try {
      const asked = this.#client.session.get({ path: { id } })
      const { data } = await Promise.race([asked, new Promise((_, reject) => setTimeout(reject, LOOKUP_MS).unref())])
      return agentFrom(id, data?.parentID)
    } catch {
      return agentFrom(id)
    }
  }
}

const agentFrom = (id, parent) => ({ id, parent: parent ?? '', name: parent ? 'sub-agent' : '' })
const keyOf = (sessionID, callID) => `${sessionID}\n${callID}`

function remember(map, key, value) {
  map.set(key, value)
  if (map.size > KEPT) map.delete(map.keys().next().value)
}

/** A tool of opencode's gives `{ output, metadata }`, one of an MCP server `{ content, isError }`. */
function resultFrom(output) {
  const { output: text, metadata, content, isError } = output ?? { isError: true }
  if (typeof text !== 'string') return { isError: isError === true, content: textsOf(content) }
  return { isError: false, value: endingOf(text, metadata), content: textsOf([{ text }]) }
}

/** How a command ended. It has an exit code unless opencode stopped it, so what it printed cannot say that it did. */
function endingOf(text, metadata) {
  if (typeof metadata?.exit === 'number') return { exitCode: metadata.exit }
  if (metadata?.exit === undefined) return {}
  const remarks = text.slice(-REMARKS)
  const timedOut = TIMED_OUT.exec(remarks)
  if (timedOut) return { timedOut: true, timeoutMs: Number(timedOut[1]) }
  return remarks.includes(GIVEN_UP) ? { aborted: true } : {}
}

async function log(client, message) {
  try {
    await client.app.log({ body: { service: 'repeat-tool-breaker', level: 'warn', message } })
  } catch {
    // opencode is going, or has no log.
  }
}
