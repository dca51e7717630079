/** JSON from outside: bodies of requests and responses, files, tokens. */

/** A JSON object whose members are not checked yet. */
export type UncheckedObject = Readonly<Record<string, unknown>>

/** Whether a JSON value is an object: neither null nor an array. */
export function isObject(value: unknown): value is UncheckedObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a JSON text; undefined, which is not a JSON value, if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
