/**
 * System calls of a process, as `strace -f -y` prints them, and whether a response was sent before its commit was
 * durable.
 */
import { findProgram } from '../../programs.ts'

export interface SystemCall {
  readonly thread: number
  readonly name: string
  /** The target of the descriptor in the first argument, e.g. `/data/portico.db-wal`; empty without one. */
  readonly target: string
  readonly args: string
  /** The lines of the trace in which the call begins and ends; Infinity: it never ended. */
  readonly begin: number
  readonly end: number
  /** As printed, e.g. `4096` or `-1 EIO (Input/output error)`. */
  readonly result: string
}

interface UnfinishedCall {
  readonly name: string
  readonly args: string
  readonly begin: number
}

const completed = /^(\d+) +(\w+)\((.*)\) += (.*)$/s
const unfinished = /^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$/s
const resumed = /^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (.*)$/s

function targetOf(args: string): string {
  return /^-?\w+<((?:[^>]|->)*)>/.exec(args)?.[1] ?? ''
}

/** In the order in which they began. Joins the parts of a call that another thread interrupted. */
export function parseTrace(text: string): readonly SystemCall[] {
  const calls: SystemCall[] = []
  const waiting = new Map<number, UnfinishedCall>()
  const add = (thread: number, { name, args, begin }: UnfinishedCall, end: number, result: string) =>
    calls.push({ thread, name, target: targetOf(args), args, begin, end, result })
  for (const [line, written] of text.split('\n').entries()) {
    const half = unfinished.exec(written)
    if (half) {
      waiting.set(Number(half[1]), { name: half[2] ?? '', args: half[3] ?? '', begin: line })
      continue
    }
    const rest = resumed.exec(written)
    if (rest) {
      const first = waiting.get(Number(rest[1]))
      if (first === undefined || first.name !== rest[2]) throw new Error(`line ${line} resumes no call`)
      waiting.delete(Number(rest[1]))
      add(Number(rest[1]), { ...first, args: first.args + rest[3] }, line, rest[4] ?? '')
      continue
    }
    const call = completed.exec(written)
    if (call) {
      const [, thread, name = '', args = '', result = ''] = call
      add(Number(thread), { name, args, begin: line }, line, result)
    }
  }
  for (const [thread, call] of waiting) add(thread, call, Number.POSITIVE_INFINITY, '?')
  return calls.toSorted((a, b) => a.begin - b.begin)
}

const writes = new Set(['write', 'writev', 'sendto', 'sendmsg'])
const logWrites = new Set(['pwrite64', 'pwritev', 'pwritev2', 'write', 'writev'])
const syncs = new Set(['fsync', 'fdatasync'])

/** A text in a request, in its response, and in the rows that it changes. */
const marks = /mark\d+x\d+end/g

/** A response that reports success. */
export function isAcknowledgement({ name, target, args }: SystemCall): boolean {
  return writes.has(name) && !target.startsWith('/') && /HTTP\/1\.1 2\d\d /.test(args)
}

export interface DurabilityResult {
  /** The acknowledged marks. */
  readonly acknowledged: ReadonlySet<string>
  /** Descriptions of the responses that were sent too early. */
  readonly violations: readonly string[]
}

/**
 * Compares every acknowledgement with the log (https://sqlite.org/wal.html) before it: each mark in it must
 * occur in a write to the log that ended before the start of a sync which succeeded before the acknowledgement began,
 * and no write to the log may be without such a sync.
 */
export function checkDurability(calls: readonly SystemCall[]): DurabilityResult {
  const acknowledged = new Set<string>()
  const violations: string[] = []
  const ofLog = calls.filter(({ target }) => target.endsWith('-wal'))
  const written = ofLog.filter(({ name }) => logWrites.has(name))
  const synced = ofLog.filter(({ name, result }) => syncs.has(name) && result === '0')
  const syncBetween = (after: number, before: number) =>
    synced.some(({ begin, end }) => begin > after && end < before)
  for (const call of calls.filter(isAcknowledgement)) {
    const before = written.filter(({ begin }) => begin < call.begin)
    const last = Math.max(-1, ...before.map(({ end }) => end))
    if (last >= 0 && !syncBetween(last, call.begin)) {
      violations.push(`line ${call.begin}: the log was written and not synced before this response`)
    }
    for (const mark of call.args.match(marks) ?? []) {
      acknowledged.add(mark)
      const covered = before.some(({ args, end }) => args.includes(mark) && syncBetween(end, call.begin))
      if (!covered) violations.push(`line ${call.begin}: ${mark} was acknowledged before it was durable`)
    }
  }
  return { acknowledged, violations }
}

/** A command prefix that traces the command, with `options` added. Its strings contain a whole page of the log. */
export function strace(output: string, options: readonly string[]): readonly string[] {
  const program = findProgram('strace')
  return [program, '-f', '-q', '--seccomp-bpf', '-y', '-s', '5000', '-o', output, ...options]
}
