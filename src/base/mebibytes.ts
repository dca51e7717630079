const mebibyte = 1024 * 1024

/** The size of a text in UTF-8, in whole mebibytes, rounded down. A character has at most three bytes. */
export function mebibytesOf(text: string): number {
  return 3 * text.length < mebibyte ? 0 : Math.floor(Buffer.byteLength(text) / mebibyte)
}
