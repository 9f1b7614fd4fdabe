// A harness's line to the breaker's engine: one connection for all of its agents, over the socket that
// engine/protocol.py describes. Node's own modules only, so that it runs in whatever runtime the harness brings.
//
// Nothing in here rejects or throws at a harness: a call is allowed, refused or withdrawn, and advice is a text.

import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { bounded } from './bounds.mjs'

const HANDSHAKE_MS = 2_000
/** How soon a full queue of connections is tried again; it says that an engine is there, only busy. */
const RETRY_MS = 5
const ANSWER_MS = 10_000
/** How much longer than the engine's own askTimeout a verdict is waited for. */
const PATIENCE_MS = 15_000
/** What setTimeout can count; it takes more for no time at all. */
const LONGEST_MS = 2 ** 31 - 1
const PROTOCOL = 1
const FRAME_BYTES = 16 * 1024 * 1024

const END_OF_FILE = 'end of file'
/** How a connection ends that somebody had taken. */
const HUNG_UP = new Set([END_OF_FILE, 'ECONNRESET', 'EPIPE'])

export const ALLOWED = Object.freeze({ decision: 'allow' })
/** No engine has seen the call, and the operator wants such calls to run. */
export const UNGUARDED = Object.freeze({ decision: 'allow' })

const NO_ENGINE = 'what answered is no engine'

const denied = (why) => ({ decision: 'deny', reason: `REPEAT_TOOL_BLOCKED: ${why}` })
const unread = (why) => denied(`the breaker could not read this call, so it was not run: ${why}.`)

/** The harness gave the call up; it has an answer of its own for that. */
export const WITHDRAWN = Object.freeze({ ...denied('the call was withdrawn.'), withdrawn: true })

/** No engine is there, or it is none. */
class Unreachable extends Error {}
/** The connection ended before the answer came; the message is the system's code where there is one. */
class Lost extends Error {}
class TooLate extends Error {
  message = 'no answer in time'
}
class Aborted extends Error {}
/** The engine's answer is an error. */
class Refused extends Error {}

/**
 * What an installation writes down for its plugin. Throws for what cannot be meant: a plugin that guards nothing
 * because of a misspelt setting would not be noticed.
 */
export function settingsFrom(given) {
  const { socket, onUnreachable = 'allow', ...unknown } = given ?? {}
  const path = process.env.BREAKER_SOCKET || socket
  for (const key of Object.keys(unknown)) throw misfit(key, unknown[key], 'a setting that does not exist')
  if (typeof path !== 'string' || !path.startsWith('/')) throw misfit('socket', path, 'no absolute path')
  if (!['allow', 'deny'].includes(onUnreachable)) throw misfit('onUnreachable', onUnreachable, 'neither allow nor deny')
  return { socket: path, onUnreachable }
}

function misfit(key, value, why) {
  return new Error(`repeat-tool-breaker: ${key}: ${JSON.stringify(value)} is ${why}`)
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
  /** Agents whose human has written, until an engine says that it heard of it: the connection on which it was told. */
  #owed = new Map()

  constructor(settings, harness, warn) {
    this.#settings = settings
    this.#harness = harness
    this.#warn = warn
  }

  /** Whether a call may run: ALLOWED, UNGUARDED, `{ decision: 'deny', reason }`; WITHDRAWN once `signal` has fired. */
  async decide(agent, call, tool, args, signal) {
    let params
    try {
      params = bounded({ id: call, agent: agent.id, tool, args }, 'args')
    } catch (error) {
      return unread(error?.message)
    }
    // A verdict that was under way when an engine went is asked of the next one; it may have been at the gate.
    for (const asked of [false, true]) {
      try {
        return await this.#verdict(agent, call, params, signal)
      } catch (error) {
        if (error instanceof Aborted) return WITHDRAWN
        if (error instanceof Refused) return unread(error.message)
        if (error instanceof TooLate) return denied('the breaker gave no answer in time, so the call was not run.')
        if (error instanceof Unreachable && !asked) return this.#unguarded(error)
      }
    }
    return denied('the breaker engine gave no answer about this call; it was not run. Tell the operator.')
  }

  /** Hands in what an allowed call gave back, in the session format. The advice that the model is owed, or ''. */
  async settle(agent, call, result) {
    try {
      const params = bounded({ id: call, agent: agent.id, result }, 'result')
      const connection = await this.#connected()
      const { advisories } = await connection.ask('call/settle', params, ANSWER_MS)
      return advisories.map((advisory) => advisory.text).join('\n\n')
    } catch {
      return ''
    }
  }

  /** A human has written to the agent. */
  async startTurn(agent) {
    this.#owed.set(agent.id, undefined)
    try {
      await this.#tellTurn(await this.#connected(), agent)
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

  /** Hangs up; with `withAgents`, they are gone, too. */
  close({ withAgents = false } = {}) {
    const leave = (connection) => {
      for (const agent of withAgents ? connection.introduced : []) connection.tell('agent/end', { agent })
      connection.leave()
    }
    this.#connecting?.then(leave, () => {})
    this.#connecting = undefined
  }

  async #verdict(agent, call, params, signal) {
    if (signal?.aborted) throw new Aborted()
    const connection = await abortable(this.#connected(), signal)
    const untold = this.#owed.has(agent.id) && this.#owed.get(agent.id) !== connection
    if (untold) this.#tellTurn(connection, agent).catch(() => {})
    this.#introduce(connection, agent)
    try {
      return verdictFrom(await connection.ask('call/decide', params, connection.patience, signal))
    } catch (error) {
      const waits = error instanceof Aborted || error instanceof TooLate
      if (waits) connection.tell('call/cancel', { id: call, agent: agent.id })
      throw error
    }
  }

  async #tellTurn(connection, agent) {
    this.#owed.set(agent.id, connection)
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
      this.#warn(`${error.message}; calls are ${denies ? 'refused' : 'let through unguarded'} until there is one`)
    }
    return denies ? denied(`no breaker guards this call, so it was not run: ${error.message}.`) : UNGUARDED
  }

  /** The connection, made anew if need be; those who need one at the same time make one together. */
  #connected() {
    if (this.#connecting === undefined) {
      const gone = () => {
        if (this.#connecting === connecting) this.#connecting = undefined
      }
      const connecting = Promise.resolve().then(() => open(this.#settings.socket, gone))
      connecting.then(() => { this.#warned = false }, gone)
      this.#connecting = connecting
    }
    return this.#connecting
  }
}

/**
 * A connection to an engine that has introduced itself. Rejects with Unreachable, with Lost when one was there and hung
 * up, and with TooLate when it says nothing. `gone` is called at its end.
 */
async function open(path, gone) {
  const until = Date.now() + HANDSHAKE_MS
  for (;;) {
    try {
      return await greet(new Connection(path, gone))
    } catch (error) {
      if (error instanceof TooLate || HUNG_UP.has(error?.message)) throw error
      if (error?.message !== 'EAGAIN') throw new Unreachable(`no engine at ${path} (${error?.message})`)
      if (Date.now() >= until) throw new TooLate()
      await sleep(RETRY_MS)
    }
  }
}

async function greet(connection) {
  try {
    const params = { protocol: PROTOCOL, client: { name: 'javascript' } }
    const { protocol, limits } = await connection.ask('initialize', params, HANDSHAKE_MS)
    const seconds = limits?.askTimeout
    if (protocol !== PROTOCOL || (seconds !== null && typeof seconds !== 'number')) throw new Error(NO_ENGINE)
    connection.patience = seconds === null ? Infinity : seconds * 1_000 + PATIENCE_MS
    return connection
  } catch (error) {
    connection.end()
    throw error
  }
}

class Connection {
  patience = 0
  /** Ids of the agents that were introduced on it. */
  introduced = new Set()
  #socket
  #gone
  #asked = new Map()
  #number = 0
  #parts = []
  #size = 0
  #why = END_OF_FILE

  constructor(path, gone) {
    this.#gone = gone
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

  /** Ends it once what was said has been written. */
  leave() {
    this.#socket.end(() => this.#socket.destroy())
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
    const { id, result, error } = message ?? {}
    // An answer may come after its asker has given up; one to what was never asked is none.
    if (!Number.isInteger(id) || id > this.#number) return false
    if (error !== undefined) this.#finish(id)?.reject(new Refused(String(error?.message)))
    else if (typeof result === 'object' && result !== null) this.#finish(id)?.resolve(result)
    else return false
    return true
  }

  #late(id) {
    this.#finish(id)?.reject(new TooLate())
    // Whatever hangs there is not asked again. What else waits on it was asked for a human's answer, and goes on.
    if (this.#asked.size === 0) this.#distrust()
  }

  #distrust() {
    this.#why = NO_ENGINE
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
    this.#gone()
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
