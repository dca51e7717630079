/** The excerpt of a response in the list of deliveries. */

/** In bytes of UTF-8. */
export const maxExcerptBytes = 1000

/** Control characters, and characters that change the direction of the text around them. */
const unsafe = /[\p{Cc}\u061C\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/gu

/** The beginning of a body as text that can be shown and stored: without control characters, bounded in size. */
export function excerptOf(body: Buffer): string {
  const text = new TextDecoder().decode(body.subarray(0, maxExcerptBytes))
  const plain = text.replace(unsafe, character => (character === '\n' || character === '\t' ? character : ''))
  return withinBytes(plain, maxExcerptBytes)
}

/** Decoding can lengthen the text: U+FFFD takes three bytes, and the byte that it replaces was one. */
function withinBytes(text: string, maxBytes: number): string {
  const target = new Uint8Array(maxBytes)
  return text.slice(0, new TextEncoder().encodeInto(text, target).read)
}
