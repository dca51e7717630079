/** Reports the progress of a long command. */
import type { CopyProgress } from '../../engine/store/copy/copy.ts'

const verbs = {
  copy: 'Copying',
  compare: 'Comparing',
  finish: 'Creating indexes and search tables',
  import: 'Importing',
  export: 'Exporting',
} as const
const terminalIntervalMs = 100
const logIntervalMs = 10_000

interface Reported extends Omit<CopyProgress, 'doing'> {
  readonly doing: keyof typeof verbs
  /** The progress from 0 to 1, if it is not `done / of`. */
  readonly share?: number | undefined
}

/** The members of `process.stderr` that the reporter uses. */
export interface Stream {
  readonly isTTY?: boolean | undefined
  write(text: string): unknown
}

/** On a terminal, rewrites one line; elsewhere, prints a line for each table and one every ten seconds. */
export class Reporter {
  readonly #stream: Stream
  readonly #now: () => number
  #lastReported = ''
  #reportedAt = 0

  /** `now`: the time, in milliseconds. */
  constructor(stream: Stream, now: () => number = Date.now) {
    this.#stream = stream
    this.#now = now
  }

  report({ doing, table: name, done, of, share = of === 0 ? undefined : done / of }: Reported): void {
    const activity = `${verbs[doing]} ${name}`.trimEnd()
    const isNew = activity !== this.#lastReported
    const now = this.#now()
    if (!isNew && now - this.#reportedAt < (this.#stream.isTTY ? terminalIntervalMs : logIntervalMs)) return
    this.#lastReported = activity
    this.#reportedAt = now
    const amount =
      done === 0 ? '' : ` ${done.toLocaleString('en')}${of === 0 ? '' : ` of ${of.toLocaleString('en')}`}`
    const percent = share === undefined ? '' : `, ${Math.floor(share * 100)} %`
    const line = `${activity}${amount}${percent} …`
    if (this.#stream.isTTY) this.#stream.write(`\r\x1b[K${line}`)
    else this.#stream.write(`${line}\n`)
  }

  end(): void {
    if (this.#stream.isTTY && this.#lastReported !== '') this.#stream.write('\r\x1b[K')
  }
}
