/** JSON that clients send. */

export type ClientObject = Readonly<Record<string, unknown>>

/** Returns the value of a JSON text; undefined, which is not a JSON value, if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
