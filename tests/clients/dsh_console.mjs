// The human in front of DSH, in place of its own one-shot runner: each line of JSON on standard input is a message to
// the agent (`{"write": TEXT}`) or the key that stops it (`{"interrupt": true}`). Everything behind it is DSH as it is.
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'

export const name = 'test-console'
export const inject = ['agentDefaultModel', 'agents', 'sessions']

export const apply = (ctx, { modules }) => {
  sit(ctx, modules).catch((error) => {
    console.error(error)
    process.exit(1)
  })
}

async function sit(ctx, modules) {
  await ctx.get('loader')?.await()
  const { installModelSelection } = await import(`${modules}/@deepseek-ai/dsh-agent/lib/index.js`)
  const current = ctx.agentDefaultModel.currentSelection()
  const { agent } = await ctx.agents.create({
    sessionId: `session-${randomUUID()}`,
    meta: { cwd: process.cwd() },
    agentOptions: { provider: current.provider, model: current.model },
    setup: (agentContext) => {
      installModelSelection(agentContext, { current, assembled: undefined })
    },
  })
  console.log(JSON.stringify({ ready: agent.id }))
  for await (const line of createInterface({ input: process.stdin })) {
    const { write, interrupt } = JSON.parse(line)
    const content = [{ type: 'text', text: write }]
    if (interrupt) agent.cancel({ kind: 'user' }, { keepInbox: true })
    else agent.followup({ id: randomUUID(), role: 'user', content, source: { kind: 'user' } })
  }
}
