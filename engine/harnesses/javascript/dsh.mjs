// The bridge from DSH to the breaker: a cordis plugin that asks the engine about every tool call of every agent.
// Written from DSH 0.1.0-rc.8.
//
// DSH lets a plugin wait only before a call (tools/pre-execute), and refuses for good only in a guard, which cannot
// wait. So the verdict is found in the one and given in the other, where no later listener can turn it.

import { randomUUID } from 'node:crypto'
import { fieldsOf, textsOf } from './bounds.mjs'
import { ALLOWED, Line, settingsFrom } from './line.mjs'

export const name = 'repeat-tool-breaker-bridge'
export const inject = ['tools']

const SUMMARY_CHARS = 120
/** What an engine reads of a tool's structured result. */
const FIELDS = ['kind', 'exitCode', 'signal', 'timedOut', 'aborted', 'timeoutMs', 'statusCode']
/** Fields in which a tool without text has what it printed. */
const OUTPUTS = ['stdout', 'stderr', 'output', 'body']
const NOT_ASKED = 'REPEAT_TOOL_BLOCKED: the breaker was not asked about this call, so it was not run.'
const NOT_RUN = { isError: true, error: { code: 'ABORTED_BEFORE_DISPATCH' } }

/**
 * Mounts the bridge. `config` is `{ socket, onUnreachable }`; a setting that cannot be meant stops the harness.
 * No `function`: cordis would take it for a class, and never call the disposer that it returns.
 */
export const apply = (ctx, config) => {
  const settings = settingsFrom(config)
  const line = new Line(settings, 'dsh', (text) => ctx.logger?.warn?.(`repeat-tool-breaker: ${text}`))
  /** The state of each call by its execution, which is the same object in every hook: `{ agent, verdict, started }`. */
  const calls = new WeakMap()

  // Before the others, so that none can let a call through that the engine has not seen.
  ctx.on('tools/pre-execute', async (exec, next) => {
    const agent = agentFrom(exec.agent)
    if (agent === undefined) return next()
    const verdict = await line.decide(agent, String(exec.callId), exec.name, exec.arguments, exec.signal)
    calls.set(exec, { agent, verdict, started: false })
    if (verdict.decision === 'allow') return next()
    return verdict.withdrawn ? { kind: 'allow' } : { kind: 'deny', reason: verdict.reason }
  }, { prepend: true })

  ctx.tools.guard((exec) => {
    if (agentFrom(exec.agent) === undefined) return undefined
    const verdict = calls.get(exec)?.verdict
    if (verdict === undefined) return settings.onUnreachable === 'deny' ? NOT_ASKED : undefined
    // DSH ends a call that was given up in words of its own, but only if it knows that it was.
    if (verdict.withdrawn && exec.signal?.aborted) return undefined
    return verdict.decision === 'allow' ? undefined : verdict.reason
  })

  ctx.on('tools/execute', (exec, next) => {
    const call = calls.get(exec)
    if (call !== undefined) call.started = true
    return next()
  }, { prepend: true })

  ctx.on('tools/post-execute', async (exec, result, next) => {
    const advising = settle(exec, result)
    const decision = await next()
    const advice = await advising
    if (!advice) return decision
    return { ...decision, additionalContexts: [...(decision.additionalContexts ?? []), notice(advice)] }
  })

  // A call whose own pipeline failed comes by here only.
  ctx.on('tools/result', (exec, result) => {
    settle(exec, result)
  })

  ctx.on('agent/pre-step', (step, next) => {
    const agent = agentFrom(step.agent)
    if (agent !== undefined && step.messages?.some((message) => isHuman(message, agent))) line.startTurn(agent)
    return next()
  })

  ctx.on('agent/disposed', ({ agent }) => {
    const gone = agentFrom(agent)
    if (gone !== undefined) line.endAgent(gone)
  })

  // DSH takes its plugins out before its agents.
  return () => line.close({ withAgents: true })

  /** Hands a result in, once. The advice for the model, or ''. Never with the call's signal: it may have fired. */
  async function settle(exec, result) {
    const call = calls.get(exec)
    if (call?.verdict !== ALLOWED) return ''
    calls.delete(exec)
    return line.settle(call.agent, String(exec.callId), resultFrom(result, call.started))
  }
}

export default { name, inject, apply }

/** What an engine needs of an agent, taken out: the object itself is the whole harness. */
function agentFrom(agent) {
  if (typeof agent?.id !== 'string' || !agent.id) return undefined
  const header = agent.session?.header
  // A session that a human forked has a parent, too, and is nobody's sub-agent.
  if (header?.origin !== 'subagent') return { id: agent.id, parent: '', name: '' }
  return { id: agent.id, parent: header.parentSession ?? '', name: header.agentPreset ?? 'sub-agent' }
}

/**
 * Whether a human wrote a message. What a parent agent writes to its sub-agent has the same source; a human who
 * writes to one comes through a client, which leaves the id of its request.
 */
function isHuman({ source }, agent) {
  return source?.kind === 'user' && (!agent.parent || source.rpcId !== undefined)
}

function resultFrom(result, started) {
  // Somebody else refused it: that is no failure of the call, and says nothing about it.
  if (!started && result.isError) return NOT_RUN
  const { value, error } = result
  const content = textsOf(result.content)
  const output = OUTPUTS.filter((field) => typeof value?.[field] === 'string').map((field) => ({ text: value[field] }))
  return {
    isError: result.isError === true,
    value: { ...fieldsOf(value, FIELDS), sandbox: fieldsOf(value?.sandbox, ['mode', 'denied']) },
    content: content.length ? content : textsOf(output),
    ...(error ? { error: fieldsOf(error.info, ['code', 'name']) } : {}),
  }
}

function notice(text) {
  const summary = text.split('\n', 1)[0].slice(0, SUMMARY_CHARS)
  return {
    id: randomUUID(),
    role: 'user',
    content: [{ type: 'text', text }],
    source: { kind: 'plugin', plugin: name, form: 'notice', summary },
  }
}
