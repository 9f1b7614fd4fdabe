// Drives the published JavaScript plugin through its own entry, with a stand-in for the harness around it.
// node --expose-gc reference.mjs PLUGIN/index.js STREAM.jsonl MODE CONFIG_JSON   (MODE: decide | settle | ask)
// Prints one JSON object: seconds spent inside the plugin, megabytes resident when the stream has been read
// (and before it), and a verdict a call ("1" refused).
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const [pluginPath, streamPath, mode, configText] = process.argv.slice(2)
const plugin = await import(pathToFileURL(pluginPath))
const listeners = {}
let guard
const context = {
  on: (name, listener) => { listeners[name] = listener; return () => {} },
  tools: { guard: (callback) => { guard = callback; return () => {} } },
}
plugin.apply(context, JSON.parse(configText))

const agents = new Map()
const agentOf = (id) => agents.get(id) ?? agents.set(id, { id }).get(id)
const next = async () => ({ kind: 'allow' })
const verdicts = []
let pending
let spent = 0n

const resident = () => { global.gc(); return process.memoryUsage().rss / 1e6 }
const before = resident()

for await (const text of createInterface({ input: createReadStream(streamPath, 'utf8'), crlfDelay: Infinity })) {
  const line = JSON.parse(text)
  const agent = agentOf(line.agent)
  if (line.type === 'turn') {
    const started = process.hrtime.bigint()
    await listeners['agent/pre-step']({ agent, messages: [{ source: { kind: 'user' } }] }, next)
    spent += process.hrtime.bigint() - started
  } else if (line.type === 'call') {
    pending = { name: line.tool, arguments: line.args, agent }
    const started = process.hrtime.bigint()
    let refused = false
    if (mode === 'ask') {
      const decision = await listeners['tools/pre-execute'](pending, next)
      refused = decision.kind === 'ask' // nobody there: the harness rejects it, and its guard is never reached
    }
    if (!refused) refused = guard(pending) !== undefined
    spent += process.hrtime.bigint() - started
    pending.refused = refused
    verdicts.push(refused ? '1' : '0')
  } else if (mode === 'settle' || pending.refused) {
    // A refused call is reported too: only so does the plugin learn that its ask was rejected.
    const started = process.hrtime.bigint()
    await listeners['tools/post-execute'](pending, pending.refused ? { isError: true } : line.result, next)
    if (mode !== 'decide') spent += process.hrtime.bigint() - started
  }
}
console.log(JSON.stringify({ seconds: Number(spent) / 1e9, before, after: resident(), verdicts: verdicts.join('') }))
