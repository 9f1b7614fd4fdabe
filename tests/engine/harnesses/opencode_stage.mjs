// The part of opencode that its plugins see: hooks around a tool, and events that it does not wait for.
// opencode_stage.mjs SETTINGS_JSON OLDER_SESSIONS_JSON
import { bridge } from '../../../engine/harnesses/javascript/opencode.mjs'
import { perform, say } from './stage.mjs'

const older = JSON.parse(process.argv[3])
const client = {
  session: {
    async get({ path: { id } }) {
      if (!(id in older)) throw new Error('not found')
      return { data: { id, ...older[id] } }
    },
  },
  app: { log: async ({ body }) => say({ warned: body.message }) },
}
const hooks = bridge({ client, directory: process.cwd() }, JSON.parse(process.argv[2]))

perform({
  before: ({ input, output }) => hooks['tool.execute.before'](input, output),
  async after({ input, output }) {
    await hooks['tool.execute.after'](input, output)
    return output
  },
  message: ({ input, output }) => hooks['chat.message'](input, output),
  event: ({ event }) => void hooks.event({ event }),
  async transform({ messages }) {
    await hooks['experimental.chat.messages.transform']({}, { messages })
    return messages
  },
  dispose: () => hooks.dispose(),
})
