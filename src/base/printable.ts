/** Untrusted text for a terminal. */

/** Escapes control characters, which could move the terminal's cursor, and bidirectional controls. */
export function printable(text: string): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, escaped)
}
