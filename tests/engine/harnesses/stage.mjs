// What the stand-ins for a harness share: commands come as lines of JSON and run beside each other, and each is
// answered by a line with its number. A rejection that nobody handles ends the process, as it would end a harness.
import { createInterface } from 'node:readline'

export const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)

/** `{"repeated": ["ab", 3]}` stands for "ababab" wherever it is, and `{"deep": 9}` for as many lists in one another. */
const grown = (_, value) => {
  if (Array.isArray(value?.repeated)) return value.repeated[0].repeat(value.repeated[1])
  if (typeof value?.deep === 'number') return Array.from({ length: value.deep }).reduce((inner) => [inner], [])
  return value
}

export function perform(acts) {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', async (line) => {
    const command = JSON.parse(line, grown)
    try {
      say({ answers: command.number, gave: (await acts[command.act](command)) ?? null })
    } catch (error) {
      say({ answers: command.number, threw: error.message })
    }
  })
}
