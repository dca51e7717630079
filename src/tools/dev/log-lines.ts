/** Formats the log for developers: one line for each request, event, mail or note, and more for errors. */
import { printable } from '../../base/printable.ts'
import { stackPlace } from '../../server/project/source/error-place.ts'
import { codeFrame } from '../../server/project/source/frame.ts'
import { plainStyle, type Style } from './style.ts'

type Fields = Readonly<Record<string, unknown>>

const maxPathCharacters = 300
/** For other texts in a line. */
const maxTextCharacters = 1000
/** Fields that the line shows in another form, or that are not useful during development. */
const omitted = new Set(['level', 'time', 'msg', 'err', 'dev', 'request_id', 'method'])

export function clock(time: unknown): string {
  const date = new Date(typeof time === 'number' ? time : Date.now())
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map(part => String(part).padStart(2, '0'))
    .join(':')
}

/** Escapes control characters, including line breaks: a value cannot add a line. */
function text(value: unknown, maxCharacters = maxTextCharacters): string {
  const full = typeof value === 'string' ? value : JSON.stringify(value)
  return printable((full ?? '').slice(0, maxCharacters))
}

function parseLine(line: string): Fields | undefined {
  if (!line.startsWith('{"')) return undefined
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function statusStyle(status: number): Parameters<Style>[0] {
  if (status >= 500) return 'red'
  if (status >= 400) return 'yellow'
  return status >= 300 ? 'cyan' : 'green'
}

/** Durations below ten milliseconds have one decimal. */
function duration(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
}

function requestLine({ method, path, status, ms, user_id: user }: Fields, style: Style): string {
  const caller = typeof user === 'number' ? `user ${user}` : 'nobody'
  const statusText = style(statusStyle(Number(status)), String(status))
  return `${text(method, 20).padEnd(6)} ${text(path, maxPathCharacters)} ${statusText} ${duration(Number(ms))} ${style('dim', caller)}`
}

function eventLine({ event, type, id, userId, changed }: Fields, style: Style): string {
  const actor = typeof userId === 'number' ? `, by user ${userId}` : ''
  const fields = Array.isArray(changed) && changed.length > 0 ? ` (${text(changed.join(', '))})` : ''
  return `${style('magenta', 'event')}  ${text(type)} ${text(id)}${fields} ${style('dim', `no. ${event}${actor}`)}`
}

/** E.g. `4990 more events: post.created 4980, tag.created 10`. */
function foldedLine({ count, types, first, last }: Fields, style: Style): string {
  const counts = Object.entries(typeof types === 'object' && types !== null ? types : {})
  const list = counts.map(([type, number]) => `${type} ${number}`).join(', ')
  return `${style('magenta', 'event')}  ${text(count)} more events: ${text(list)} ${style('dim', `no. ${text(first)} to ${text(last)}`)}`
}

function mailLine({ to, subject, link, isSent }: Fields, style: Style): string {
  const delivery = isSent === true ? 'sent by the mail server' : 'not sent: no mail server is configured'
  return `${style('blue', 'mail')}   to ${text(to)}: ${text(subject)} ${style('cyan', text(link))} ${style('dim', delivery)}`
}

/** The place in the project's own files where the error was thrown; without one, the whole stack. */
function errorLines(err: Fields, style: Style): string {
  const { type, message, stack } = err
  const place = typeof stack === 'string' ? stackPlace(stack) : undefined
  const heading = `          ${style('red', `${text(type)}: ${text(message)}`)}`
  if (place !== undefined) return `${heading}\n${codeFrame(place).replaceAll(/^/gm, '          ')}`
  const frames = String(stack ?? '')
    .split('\n')
    .filter(line => /^\s+at /.test(line))
  return [heading, ...frames.map(line => style('dim', `          ${printable(line.trim())}`))].join('\n')
}

function noteLine(fields: Fields, style: Style): string {
  const { level, msg, err, method } = fields
  const severity =
    Number(level) >= 50 ? style('red', 'error') : Number(level) >= 40 ? style('yellow', 'warn ') : 'note '
  const rest = Object.entries(fields).filter(([name]) => !omitted.has(name))
  const values = rest.map(([name, value]) => style('dim', ` ${text(name)}=${text(value)}`)).join('')
  const methodText = typeof method === 'string' ? `${text(method, 20)} ` : ''
  const line = `${severity}  ${methodText}${text(msg)}${values}`
  return typeof err === 'object' && err !== null ? `${line}\n${errorLines(err as Fields, style)}` : line
}

function body(fields: Fields, style: Style): string {
  if (fields.dev === 'mail') return mailLine(fields, style)
  if (fields.dev === 'event') return eventLine(fields, style)
  if (fields.dev === 'events') return foldedLine(fields, style)
  return fields.msg === 'request' && 'status' in fields ? requestLine(fields, style) : noteLine(fields, style)
}

/** Formats a line of a serving process. Lines that the model's own code prints stay unchanged. */
export function formatLine(line: string, style: Style = plainStyle): string {
  const fields = parseLine(line)
  if (fields === undefined || !('time' in fields)) return line
  return `${style('dim', clock(fields.time))}  ${body(fields, style)}`
}

/** Recognises repeated events: while one process replaces another, both may read the same event. */
export class RecentEvents {
  readonly #shownEvents = new Set<string>()

  /** Whether the line is an event that was already shown. */
  isRepeated(line: string): boolean {
    const fields = line.includes('"dev":"event"') ? parseLine(line) : undefined
    if (fields?.dev !== 'event') return false
    const key = `${fields.event} ${fields.at}`
    if (this.#shownEvents.has(key)) return true
    this.#shownEvents.add(key)
    if (this.#shownEvents.size > 500)
      for (const oldest of this.#shownEvents.values().take(1)) this.#shownEvents.delete(oldest)
    return false
  }
}
