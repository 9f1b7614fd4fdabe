// A harness's line to the breaker's engine: one connection for all of its agents, over the socket that
// engine/protocol.py describes. Node's own modules only, so that it runs in whatever runtime the harness brings.
//
// Nothing in here rejects or throws at a harness: a call is allowed, refused or withdrawn, and advice is a text.

import { connect } from 'node:net'
import { bounded } from './bounds.mjs'

const HANDSHAKE_MS = 2_000
const ANSWER_MS = 10_000
/** How much longer than the engine's own askTimeout a verdict is waited for. */
const PATIENCE_MS = 15_000
/** What setTimeout can count; it takes more for no time at all. */
const LONGEST_MS = 2 ** 31 - 1
const PROTOCOL = 1
const FRAME_BYTES = 16 * 1024 * 1024

export const ALLOWED = Object.freeze({ decision: 'allow' })
/** The harness gave the call up; it has an answer of its own for that. */
export const WITHDRAWN = Object.freeze({ decision: 'deny', withdrawn: true, reason: 'REPEAT_TOOL_BLOCKED: the call was withdrawn.' })

const denied = (why) => ({ decision: 'deny', reason: `REPEAT_TOOL_BLOCKED: ${why}` })

/** No engine is there, or it is none. */
class Unreachable extends Error {}
/** The connection ended before the answer came. */
class Lost extends Error {}
class TooLate extends Error {}
class Aborted extends Error {}
/** The engine's answer is an error. */
class Refused extends Error {}

/**
 * What an installation writes down for its plugin. Throws for what cannot be meant: a plugin that guards nothing
 * because of a misspelt setting would not be noticed.
 */
export function settingsFrom(given = {}) {
  const { socket, onUnreachable = 'allow', ...unknown } = given ?? {}
  const [stranger] = Object.keys(unknown)
  if (stranger !== undefined) throw new Error(`repeat-tool-breaker: there is no setting '${stranger}'; there are socket and onUnreachable`)
  const path = process.env.BREAKER_SOCKET || socket
  if (typeof path !== 'string' || !path.startsWith('/')) throw new Error(`repeat-tool-breaker: socket must be an absolute path, and is ${JSON.stringify(path)}`)
  if (onUnreachable !== 'allow' && onUnreachable !== 'deny') throw new Error(`repeat-tool-breaker: onUnreachable must be allow or deny, and is ${JSON.stringify(onUnreachable)}`)
  return { socket: path, onUnreachable }
}

/**
 * An agent is `{ id, parent, name }`; a sub-agent names its parent, the others have ''. Its object is never sent.
 * `warn` gets one text for each time that no engine is there.
 */
export class Line {
  #settings
  #harness
  #warn
  #connecting
  #warned = false
  /** Agents whose human wrote while no engine was there to be told. */
  #owed = new Set()

  constructor(settings, harness, warn) {
    this.#settings = settings
    this.#harness = harness
    this.#warn = warn
  }

  /** Whether a call may run: ALLOWED, WITHDRAWN once `signal` has fired, or a `{ decision: 'deny', reason }`. */
  async decide(agent, call, tool, args, signal) {
    let params
    try {
      params = bounded({ id: call, agent: agent.id, tool, args }, 'args')
    } catch (error) {
      return denied(`the breaker could not read this call, so it was not run: ${error?.message}.`)
    }
    // A verdict that was under way when an engine went is asked of the next one; it may have been at the gate.
    for (const asked of [false, true]) {
      try {
        return await this.#verdict(agent, call, params, signal)
      } catch (error) {
        if (error instanceof Aborted) return WITHDRAWN
        if (error instanceof Refused) return denied(`the breaker could not read this call, so it was not run: ${error.message}.`)
        if (error instanceof TooLate) return denied('the breaker gave no answer in time, so the call was not run.')
        if (error instanceof Unreachable && !asked) return this.#unguarded(error)
      }
    }
    return denied('the breaker went away while it decided this call, so it was not run. Tell the operator.')
  }

  /** Hands in what an allowed call gave back, as `{ isError, value, content }`. The advice that the model is owed, or ''. */
  async settle(agent, call, result) {
    try {
      const connection = await this.#connected()
      const { advisories } = await connection.ask('call/settle', bounded({ id: call, agent: agent.id, result }, 'result'), ANSWER_MS)
      return advisories.map((advisory) => advisory.text).join('\n\n')
    } catch {
      return ''
    }
  }

  /** A human has written to the agent. */
  async startTurn(agent) {
    this.#owed.add(agent.id)
    try {
      const connection = await this.#connected()
      await this.#settleTurn(connection, agent)
    } catch {
      // It stays owed, and is paid before the agent's next call.
    }
  }

  /** The agent is gone, and those under it. */
  async endAgent(agent) {
    this.#owed.delete(agent.id)
    if (this.#connecting === undefined) return
    try {
      const connection = await this.#connecting
      connection.introduced.delete(agent.id)
      connection.tell('agent/end', { agent: agent.id })
    } catch {
      // An engine that is gone has forgotten it.
    }
  }

  close() {
    this.#connecting?.then((connection) => connection.end(), () => {})
    this.#connecting = undefined
  }

  async #verdict(agent, call, params, signal) {
    if (signal?.aborted) throw new Aborted()
    const connection = await abortable(this.#connected(), signal)
    if (this.#owed.has(agent.id)) this.#settleTurn(connection, agent).catch(() => {})
    this.#introduce(connection, agent)
    try {
      return verdictFrom(await connection.ask('call/decide', params, connection.patience, signal))
    } catch (error) {
      if (error instanceof Aborted || error instanceof TooLate) connection.tell('call/cancel', { id: call, agent: agent.id })
      throw error
    }
  }

  async #settleTurn(connection, agent) {
    connection.introduced.delete(agent.id) // the engine forgets who was idle for hours
    this.#introduce(connection, agent)
    await connection.ask('turn/start', { agent: agent.id }, ANSWER_MS)
    this.#owed.delete(agent.id)
  }

  #introduce(connection, { id, parent, name }) {
    if (connection.introduced.has(id)) return
    connection.introduced.add(id)
    connection.tell('agent/start', { agent: id, parent, harness: this.#harness, name })
  }

  #unguarded(error) {
    const denies = this.#settings.onUnreachable === 'deny'
    if (!this.#warned) {
      this.#warned = true
      this.#warn(`no breaker guards this agent: ${error.message}; calls are ${denies ? 'refused' : 'let through'} until one does`)
    }
    return denies ? denied(`no breaker guards this call, so it was not run: ${error.message}.`) : ALLOWED
  }

  /** The connection, made anew if need be; those who need one at the same time make one together. */
  #connected() {
    if (this.#connecting === undefined) {
      const connecting = open(this.#settings.socket, () => {
        if (this.#connecting === connecting) this.#connecting = undefined
      })
      this.#connecting = connecting
      connecting.then(() => { this.#warned = false }, () => {})
    }
    return this.#connecting
  }
}

/** A connection to an engine that has introduced itself. Rejects with Unreachable. `closed` is called at its end. */
async function open(path, closed) {
  const connection = new Connection(path, closed)
  try {
    const params = { protocol: PROTOCOL, client: { name: 'javascript' } }
    const { protocol, limits } = await connection.ask('initialize', params, HANDSHAKE_MS)
    if (protocol !== PROTOCOL || typeof limits !== 'object') throw new Error('what answered is no engine')
    connection.patience = limits.askTimeout === null ? Infinity : limits.askTimeout * 1_000 + PATIENCE_MS
    if (Number.isNaN(connection.patience)) throw new Error('what answered is no engine')
    return connection
  } catch (error) {
    connection.end()
    throw new Unreachable(`no engine at ${path} (${error?.message})`)
  }
}

class Connection {
  patience = 0
  /** Ids of the agents that were introduced on it. */
  introduced = new Set()
  #socket
  #closed
  #asked = new Map()
  #number = 0
  #parts = []
  #size = 0
  #why = 'end of file'

  constructor(path, closed) {
    this.#closed = closed
    this.#socket = connect({ path })
    this.#socket.setEncoding('utf8')
    this.#socket.on('data', (text) => this.#hear(text))
    this.#socket.on('error', (error) => { this.#why = error.code ?? error.message })
    this.#socket.on('close', () => this.#over())
    this.#socket.unref() // only a request under way keeps the harness alive
  }

  /** The result of a request. Rejects with Lost, Refused, TooLate and, once `signal` has fired, Aborted. */
  ask(method, params, milliseconds, signal) {
    const id = ++this.#number
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Lost(this.#why))
      if (signal?.aborted) return reject(new Aborted())
      const timer = milliseconds < LONGEST_MS ? setTimeout(() => this.#late(id), milliseconds) : undefined
      const abort = () => this.#finish(id)?.reject(new Aborted())
      signal?.addEventListener('abort', abort, { once: true })
      const release = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      this.#asked.set(id, { resolve, reject, release })
      this.#socket.ref()
      this.#write({ jsonrpc: '2.0', id, method, params })
    })
  }

  /** Says something that needs no answer. */
  tell(method, params) {
    if (!this.#socket.destroyed) this.#write({ jsonrpc: '2.0', method, params })
  }

  end() {
    this.#socket.destroy()
    this.#over()
  }

  #write(message) {
    this.#socket.write(`${JSON.stringify(message)}\n`)
  }

  #hear(text) {
    const [first, ...lines] = text.split('\n')
    this.#parts.push(first)
    this.#size += first.length
    for (const line of lines) {
      const message = this.#parts.join('')
      this.#parts = [line]
      this.#size = line.length
      if (!this.#answer(message)) return this.#distrust()
    }
    if (this.#size > FRAME_BYTES) this.#distrust()
  }

  /** Gives one answer to whoever waits for it. False when it is none that an engine gives. */
  #answer(text) {
    let message
    try {
      message = JSON.parse(text)
    } catch {
      return false
    }
    if (typeof message?.id !== 'number') return false
    const asked = this.#finish(message.id)
    if (message.error !== undefined) asked?.reject(new Refused(String(message.error?.message)))
    else if (typeof message.result === 'object' && message.result !== null) asked?.resolve(message.result)
    else asked?.reject(new Lost('an answer without a result'))
    return true
  }

  #late(id) {
    this.#finish(id)?.reject(new TooLate())
    // Whatever hangs there is not asked again. What else waits on it was asked for a human's answer, and goes on.
    if (this.#asked.size === 0) this.#distrust()
  }

  #distrust() {
    this.#why = 'what answered is no engine'
    this.end()
  }

  #finish(id) {
    const asked = this.#asked.get(id)
    if (asked === undefined) return undefined
    this.#asked.delete(id)
    asked.release()
    if (this.#asked.size === 0) this.#socket.unref()
    return asked
  }

  #over() {
    this.#closed()
    for (const id of [...this.#asked.keys()]) this.#finish(id)?.reject(new Lost(this.#why))
  }
}

function verdictFrom({ decision, reason }) {
  if (decision === 'allow') return ALLOWED
  if (decision === 'deny' && typeof reason === 'string' && reason) return { decision, reason }
  return denied('the breaker gave an answer that cannot be read, so the call was not run.')
}

/** A promise, or Aborted as soon as the signal fires. */
function abortable(promise, signal) {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const abort = () => reject(new Aborted())
    signal.addEventListener('abort', abort, { once: true })
    const done = () => signal.removeEventListener('abort', abort)
    promise.then((value) => { done(); resolve(value) }, (error) => { done(); reject(error) })
  })
}
