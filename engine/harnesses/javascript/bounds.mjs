// What a harness says to an engine, cut to a size that any frame holds. What is cut ends in a digest of the whole, so
// that equal calls stay equal and different ones different.

import { createHash } from 'node:crypto'

/** Characters of JSON that are sent as they are: a frame holds 16 MiB, and a character has at most three bytes. */
const WHOLE = 4 * 1024 * 1024
/** Characters of one text in what is longer than that. */
const TEXT = 64 * 1024
/** Characters of what a tool printed, half of them from its end: that is where it says how it ended. */
const PRINTED = 256 * 1024
const WORD = 256

/** `params` with the value under `key` cut if need be. Throws for what cannot be written as JSON. */
export function bounded(params, key) {
  const value = params[key]
  const text = JSON.stringify(value) ?? 'null'
  if (text.length <= WHOLE) return params
  const shorten = (_, one) => (typeof one === 'string' && one.length > TEXT ? cut(one) : one)
  const shorter = JSON.stringify(value, shorten)
  const fits = shorter.length <= WHOLE
  return { ...params, [key]: fits ? JSON.parse(shorter) : { tooLong: cut(text) } }
}

function cut(text) {
  return `${text.slice(0, TEXT)}… ${text.length} characters, sha256 ${createHash('sha256').update(text).digest('hex')}`
}

/** What a tool printed, its middle left out when it is long. */
export function printed(text) {
  if (text.length <= PRINTED) return text
  const half = PRINTED / 2
  return `${text.slice(0, half)}\n… ${text.length - PRINTED} characters …\n${text.slice(-half)}`
}

/** The text blocks of a tool's content, as one such block; anything else in it says nothing about how the call went. */
export function textsOf(content) {
  if (!Array.isArray(content)) return []
  const texts = content.map((block) => block?.text).filter((text) => typeof text === 'string' && text)
  return texts.length ? [{ type: 'text', text: printed(texts.join('\n')) }] : []
}

/** The named fields that are plain values, which is all that an engine reads of a structured result. */
export function fieldsOf(value, names) {
  const fields = {}
  for (const name of names) {
    const field = value?.[name]
    if (typeof field === 'string') fields[name] = field.slice(0, WORD)
    else if (typeof field === 'number' || typeof field === 'boolean') fields[name] = field
  }
  return fields
}
