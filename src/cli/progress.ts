/** How far a long command is. */
import type { Progress } from '../store/copy.ts'

const verbs = { copy: 'Copying', compare: 'Comparing', finish: 'Making indexes and searches' } as const
/** How often something is said, in milliseconds: on a terminal, and elsewhere. */
const OFTEN = 100
const SELDOM = 10_000

/** Standard error, or what stands for it. */
export interface Stream {
  readonly isTTY?: boolean | undefined
  write(text: string): unknown
}

/** One line that changes, on a terminal; elsewhere one for each table, and now and then one between. */
export class Reporter {
  readonly #stream: Stream
  readonly #now: () => number
  #said = ''
  #at = 0

  /** `now`: the time, in milliseconds. */
  constructor(stream: Stream, now: () => number = Date.now) {
    this.#stream = stream
    this.#now = now
  }

  report({ doing, table: name, done, of }: Progress): void {
    const what = `${verbs[doing]} ${name}`.trimEnd()
    const isNew = what !== this.#said
    const now = this.#now()
    if (!isNew && now - this.#at < (this.#stream.isTTY ? OFTEN : SELDOM)) return
    this.#said = what
    this.#at = now
    const amount =
      done === 0 ? '' : ` ${done.toLocaleString('en')}${of === 0 ? '' : ` of ${of.toLocaleString('en')}`}`
    const share = of === 0 ? '' : `, ${Math.floor((done / of) * 100)} %`
    const line = `${what}${amount}${share} …`
    if (this.#stream.isTTY) this.#stream.write(`\r\x1b[K${line}`)
    else this.#stream.write(`${line}\n`)
  }

  end(): void {
    if (this.#stream.isTTY && this.#said !== '') this.#stream.write('\r\x1b[K')
  }
}
