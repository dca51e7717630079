/** An explanation as text: for a terminal, and short for the errors of `portico dev`. */
import { printable } from '../../base/printable.ts'
import type { Explanation, Reason, RulePart } from './explanation.ts'

export function explanationText(explanation: Explanation): string {
  const { allowed, status, code, as, request, reasons, limits, notes } = explanation
  const who = as.user === null ? 'nobody signed in' : `user ${as.user} (${as.role})`
  const verdict = allowed
    ? ['allowed', ...(status === null ? [] : [status])].join(', ')
    : `refused, ${status} ${code}`
  const lines = [
    `${request.method} ${request.path} as ${who}: ${verdict}`,
    ...reasons.flatMap(reasonLines),
    ...limits.map(({ name, requests, seconds }) => `Limit: ${name}, ${requests} requests in ${seconds} s.`),
    ...notes.map(note => `Note: ${note}`),
  ]
  return `${lines.map(printable).join('\n')}\n`
}

function reasonLines({ message, words, parts = [] }: Reason): readonly string[] {
  const inWords = words === undefined ? [] : [`  In words: ${words}`]
  return [message, ...inWords, ...parts.flatMap(part => partLines(part, 1))]
}

const marks = new Map([
  [true, '✓'],
  [false, '✗'],
  [null, '?'],
])

function partLines({ rule, holds, because, parts = [] }: RulePart, depth: number): readonly string[] {
  const reason = because === undefined ? '' : ` — ${because}`
  return [
    `${'  '.repeat(depth)}${marks.get(holds)} ${rule}${reason}`,
    ...parts.flatMap(part => partLines(part, depth + 1)),
  ]
}

/** For `error.explain`. */
export function shortText(reasons: readonly Reason[]): string {
  return reasons.map(({ message }) => message).join(' ')
}
