/**
 * Answers remembered while the collections that they were read from stay unchanged, in bounded memory. See
 * decisions/answers-worth-remembering.md.
 */
import { Cache, CacheBound } from '../../cache.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { CompositeAnswer, ReadAnswer } from '../../plan/answer.ts'
import type { GuardedCompositeRead, GuardedRead } from '../../plan/guarded.ts'

export type Key = number | string

/** What is asked, but for its values, and what is answered. */
export type ReadShape = (GuardedRead | GuardedCompositeRead)['shape']
export type Answer = ReadAnswer | CompositeAnswer

interface Remembered {
  readonly answer: Answer
  /** Whether its weight holds what REST made of the answer. */
  isWhole: boolean
}

const entryBytes = 300
/** After so many remembered answers, a shape's memory is judged by how often they were asked for again. */
const judgedAnswers = 256
/** Below so many uses of a remembered answer, it costs more to keep it, and to collect it later, than it saves. */
const worthwhileUses = 0.5
/** Of a shape whose answers are not worth it, one in so many is remembered: it shows when that changes. */
const sampledAnswers = 8

/** The bound that all shapes' answers share. */
export class Answers {
  readonly bound: CacheBound
  readonly #maxBytes: number
  /** The answer remembered last: REST makes something of it only afterwards. */
  #latest: (() => void) | undefined

  /** `bytes`: 0 remembers nothing. */
  constructor(bytes: number) {
    this.bound = new CacheBound('answers', bytes)
    this.#maxBytes = bytes / 16
  }

  /** The answers of one shape. */
  shape(): ShapeAnswers {
    return new ShapeAnswers(this)
  }

  /** Whether an answer of this size is worth remembering. */
  fits(bytes: number): boolean {
    return bytes < this.#maxBytes
  }

  /** `weigh`: counts what is made of the answer until the next one is remembered. */
  added(weigh: () => void): void {
    this.#latest?.()
    this.#latest = weigh
  }
}

export class ShapeAnswers {
  readonly #all: Answers
  readonly #cache: Cache<Key, Remembered>
  /** How many were remembered, and asked for again, since the last judgement. */
  #kept = 0
  #used = 0
  #isSampled = false
  #passedOver = 0

  constructor(all: Answers) {
    this.#all = all
    this.#cache = new Cache(all.bound)
  }

  get(key: Key, stamp: number): Answer | undefined {
    const remembered = this.#cache.get(key, stamp)
    if (remembered === undefined) return undefined
    this.#used++
    if (!remembered.isWhole) this.#weigh(key, remembered)
    return remembered.answer
  }

  /** Remembers the answer, or passes it over where the shape's answers are hardly ever asked for again. */
  set(key: Key, stamp: number, answer: Answer): void {
    if (this.#isSampled && ++this.#passedOver % sampledAnswers !== 0) return
    const characters = (answer.text?.length ?? 0) + (typeof key === 'string' ? key.length : 0)
    const bytes = entryBytes + 2 * characters
    if (!this.#all.fits(bytes)) return
    const remembered = { answer, isWhole: false }
    this.#cache.set(key, remembered, bytes, stamp)
    this.#all.added(() => this.#weigh(key, remembered))
    if (++this.#kept === judgedAnswers) this.#judge()
  }

  /** Counts what REST has made of an answer, once. */
  #weigh(key: Key, remembered: Remembered): void {
    const { rendered } = remembered.answer
    if (remembered.isWhole || rendered === undefined) return
    remembered.isWhole = true
    this.#cache.grow(key, rendered.bytes)
  }

  #judge(): void {
    this.#isSampled = this.#used < worthwhileUses * this.#kept
    this.#kept = 0
    this.#used = 0
  }
}

/** A key that is equal only for equal arguments and, where the answer is personal, equal users. */
export function keyOf(args: readonly JsonValue[], userId: number | null, personal: boolean): Key {
  if (personal) return `${userId}:${JSON.stringify(args)}`
  const first = args[0]
  if (args.length === 1 && typeof first === 'number') return first
  const second = args[1]
  if (args.length === 2 && typeof first === 'number' && typeof second === 'number')
    return `${first},${second}`
  return JSON.stringify(args)
}
