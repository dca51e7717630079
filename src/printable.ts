/** Text from outside, for a terminal. */

/** Control characters and bidirectional controls are shown as their code: they could move the cursor of a terminal. */
export function printable(text: string): string {
  const code = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, code)
}
