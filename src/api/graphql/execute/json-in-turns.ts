/** Writes large data as JSON in several turns of the event loop: text with characters beyond Latin-1 takes 4 ms per million. */
import { setImmediate } from 'node:timers/promises'

const maxTurnMs = 10
/** The data, its fields, their lists: what is deeper is written at once. */
const maxDepth = 3

/** As `JSON.stringify`, for values that come from JSON. */
export async function jsonInTurns(value: unknown): Promise<string> {
  const parts: string[] = []
  let startedAt = performance.now()
  for (const part of jsonParts(value, maxDepth)) {
    parts.push(part)
    if (performance.now() - startedAt < maxTurnMs) continue
    await setImmediate()
    startedAt = performance.now()
  }
  await setImmediate()
  const text = parts.join('')
  // Sending it has a turn of its own.
  await setImmediate()
  return text
}

function* jsonParts(value: unknown, depth: number): Generator<string> {
  if (depth === 0 || typeof value !== 'object' || value === null) {
    yield JSON.stringify(value)
    return
  }
  const isList = Array.isArray(value)
  let separator = isList ? '[' : '{'
  for (const [key, member] of Object.entries(value)) {
    yield isList ? separator : `${separator}${JSON.stringify(key)}:`
    yield* jsonParts(member, depth - 1)
    separator = ','
  }
  const isEmpty = separator !== ','
  if (isList) yield isEmpty ? '[]' : ']'
  else yield isEmpty ? '{}' : '}'
}
