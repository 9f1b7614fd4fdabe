// The part of DSH that its plugins see: listeners around one another, a guard, a tool's body, and what comes after.
// dsh_stage.mjs SETTINGS_JSON
import plugin from '../../../engine/harnesses/javascript/dsh.mjs'
import { perform, say } from './stage.mjs'

const listeners = {}
const guards = []
const context = {
  on(event, listener, { prepend = false } = {}) {
    const all = (listeners[event] ??= [])
    if (prepend) all.unshift(listener)
    else all.push(listener)
  },
  tools: { guard: (guard) => guards.push(guard) },
  logger: { warn: (text) => say({ warned: text }) },
}

const waterfall = (event, ...args) => {
  const rest = [...(listeners[event] ?? [])]
  const innermost = args.pop()
  const next = () => (rest.shift() ?? innermost)(...args, next)
  return next()
}
const emit = (event, ...args) => (listeners[event] ?? []).forEach((listener) => listener(...args))

// As in DSH: registered before the plugin is, and around it unless the plugin sees to that.
context.on('tools/pre-execute', async (exec, next) => (exec.waved ? { kind: 'allow' } : next()))
context.on('tools/pre-execute', async (exec, next) => {
  const decision = await next()
  if (exec.turned === 'deny') return { kind: 'deny', reason: 'no, says another plugin' }
  return exec.turned === 'allow' ? { kind: 'allow' } : decision
})
// As cordis does with what could be a class: it is made with new, and then has no disposer.
const unmount = plugin.apply.prototype ? undefined : plugin.apply(context, JSON.parse(process.argv[2]))

const agents = new Map()
function agentOf({ id, ...header }) {
  if (!agents.has(id)) {
    // Whoever writes it as JSON finds out.
    const toJSON = () => { throw new Error('an agent was serialised') }
    agents.set(id, { id, session: { header: { id, ...header } }, toJSON })
  }
  return agents.get(id)
}

const calls = new Map()
const text = (said) => [{ type: 'text', text: said }]
const failed = (message, info) => ({ isError: true, content: text(`Error: ${message}`), error: { message, info } })
const aborted = (code) => failed('aborted', { name: 'AbortError', code })

async function prepared(exec, signal) {
  const allow = async () => ({ kind: 'allow' })
  const gate = exec.skipped ? await allow() : await waterfall('tools/pre-execute', exec, allow)
  const guarded = () => guards.map((guard) => guard(exec)).find((said) => said !== undefined)
  const reason = gate.kind === 'allow' ? guarded() : gate.reason
  if (reason !== undefined) return failed(reason)
  if (signal.aborted) return aborted('ABORTED_BEFORE_DISPATCH')
  return undefined
}

perform({
  async call({ id, agent, tool, args, result, breaks, ...others }) {
    const abort = new AbortController()
    const exec = { callId: id, name: tool, arguments: args, signal: abort.signal, ...others }
    if (agent) exec.agent = agentOf(agent)
    calls.set(id, abort)
    let ran = false
    const body = async () => {
      ran = true
      if (result?.thrown) return failed(result.thrown, { name: 'Error', code: 'BROKEN' })
      return { isError: false, content: [], ...result }
    }
    let outcome = await prepared(exec, abort.signal)
    outcome ??= await waterfall('tools/execute', exec, body)
    const accept = async () => ({ kind: 'accept' })
    const decision = breaks ? await accept() : await waterfall('tools/post-execute', exec, outcome, accept)
    emit('tools/result', Object.freeze(exec), outcome)
    const contexts = decision.additionalContexts ?? []
    const told = [...outcome.content, ...contexts.flatMap((context) => context.content)]
    return {
      ran,
      code: outcome.error?.info?.code ?? null,
      told: told.map((block) => block.text).join('\n'),
      sources: contexts.map((context) => context.source),
    }
  },
  abort: ({ id }) => calls.get(id).abort(),
  message: ({ agent, sources }) => {
    const messages = sources.map((source) => ({ role: 'user', source, content: [] }))
    return waterfall('agent/pre-step', { agent: agentOf(agent), messages }, async () => ({ kind: 'enter' }))
  },
  disposed: ({ agent }) => emit('agent/disposed', { agent: agentOf(agent) }),
  unmount: () => unmount(),
})
