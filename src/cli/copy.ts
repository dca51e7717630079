/** `portico copy`: a database into another, with what it does meanwhile. */
import { isPostgres, database as kind, publicName } from '../config/database.ts'
import type { Model } from '../model/model.ts'
import { type Copied, copyDatabase, type Place, type Progress } from '../store/copy.ts'
import { table } from './accounts.ts'
import { Failure } from './failure.ts'

export interface CopyWords {
  readonly from: string
  readonly to: string
  readonly live: boolean
}

function placeOf(text: string, option: string): Place {
  const at = named(text, option)
  return { at, kind: isPostgres(at) ? 'postgres' : 'sqlite', name: publicName(at) }
}

function named(text: string, option: string): string {
  let reason = `takes ${kind.says}`
  try {
    const at = kind.fromText(text)
    if (at !== undefined) return at
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    reason = error.message
  }
  throw new Failure(`--${option} ${reason}.`, 2)
}

const verbs = { copy: 'Copying', compare: 'Comparing', finish: 'Making indexes and searches' } as const
/** How often something is said, in milliseconds: on a terminal, and elsewhere. */
const OFTEN = 100
const SELDOM = 10_000

/** One line that changes, on a terminal; elsewhere one for each table, and now and then one between. */
class Reporter {
  readonly #stream: NodeJS.WriteStream
  #said = ''
  #at = 0

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  report({ doing, table: name, done, of }: Progress): void {
    const what = `${verbs[doing]} ${name}`.trimEnd()
    const isNew = what !== this.#said
    const now = performance.now()
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

/** Returns what is printed at the end. */
export async function copy(model: Model, { from, to, live }: CopyWords): Promise<string> {
  const reporter = new Reporter(process.stderr)
  const places = { from: placeOf(from, 'from'), to: placeOf(to, 'to') }
  try {
    const copied = await copyDatabase(model, {
      ...places,
      live,
      onProgress: progress => reporter.report(progress),
    })
    return `${summary(copied)}\nDone: ${places.to.name} holds all of ${places.from.name}.\n`
  } finally {
    reporter.end()
  }
}

function summary(copied: readonly Copied[]): string {
  return table(
    ['table', 'rows', 'checksum, the same on both sides'],
    copied.map(({ table: name, count, checksum }) => ({
      table: name,
      rows: count,
      'checksum, the same on both sides': checksum.slice(0, 16),
    })),
  )
}
