/** Colours of the terminal. */
import { styleText } from 'node:util'

export type Style = (format: Parameters<typeof styleText>[0], text: string) => string

export const plainStyle: Style = (_, text) => text

/** Colours only if standard output is a terminal that supports them, and NO_COLOR is not set. */
export const terminalStyle: Style = (format, text) => styleText(format, text, { stream: process.stdout })

export function hasColours(): boolean {
  return terminalStyle('red', '.') !== '.'
}
