// Hosts the published JavaScript plugin behind the engine's protocol: JSON-RPC, one message a line, on a Unix socket.
// node reference_server.mjs PLUGIN/index.js SOCKET CONFIG_JSON
// Serves initialize, call/decide, call/settle and turn/start, each as briefly as it can be; prints a line when it listens.
import { createServer } from 'node:net'
import { pathToFileURL } from 'node:url'

const [pluginPath, socketPath, configText] = process.argv.slice(2)
const plugin = await import(pathToFileURL(pluginPath))
const listeners = {}
let guard
const context = {
  on: (name, listener) => { listeners[name] = listener; return () => {} },
  tools: { guard: (callback) => { guard = callback; return () => {} } },
}
plugin.apply(context, JSON.parse(configText))
const next = async () => ({ kind: 'allow' })
const done = {}
const CALLS_KEPT = 1024 // whose results are awaited, of one connection: as many as the engine keeps

const methods = {
  initialize (connection, params) {
    connection.agent = { id: params.agent.id }
    connection.calls = new Map()
    return { protocol: 1 }
  },
  'call/decide' (connection, params) {
    const call = { name: params.tool, arguments: params.args, agent: connection.agent }
    const reason = guard(call)
    if (reason !== undefined) return { decision: 'deny', reason }
    connection.calls.set(params.id, call)
    if (connection.calls.size > CALLS_KEPT) connection.calls.delete(connection.calls.keys().next().value)
    return { decision: 'allow' }
  },
  async 'call/settle' (connection, params) {
    const call = connection.calls.get(params.id)
    if (call === undefined) return { advisories: [], known: false }
    connection.calls.delete(params.id)
    const decision = await listeners['tools/post-execute'](call, params.result, next)
    return { advisories: decision.additionalContexts ?? [], known: true }
  },
  async 'turn/start' (connection) {
    await listeners['agent/pre-step']({ agent: connection.agent, messages: [{ source: { kind: 'user' } }] }, next)
    return done
  },
}

function serve (socket, connection, line) {
  const { id, method, params } = JSON.parse(line)
  const result = methods[method](connection, params)
  if (result instanceof Promise) result.then((settled) => answer(socket, id, settled))
  else answer(socket, id, result)
}

function answer (socket, id, result) {
  socket.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n')
}

const server = createServer((socket) => {
  const connection = {}
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (data) => {
    const lines = (rest + data).split('\n')
    rest = lines.pop()
    for (const line of lines) serve(socket, connection, line)
  })
  socket.on('error', () => socket.destroy())
})
server.listen(socketPath, () => console.log('listening'))
process.on('SIGTERM', () => process.exit(0))
