/**
 * The cache of answers, each valid while the collections that it was read from are unchanged, in bounded memory. See
 * decisions/caches.md.
 */
import { Cache, CacheBound } from '../../../base/cache.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { CompositeAnswer, ReadAnswer } from '../../plan/answer.ts'
import type { AnyGuardedRead } from '../../plan/guarded.ts'

export type AnswerKey = number | string

/** A read without its values, and its answer. */
export type GuardedReadShape = AnyGuardedRead['shape']
export type Answer = ReadAnswer | CompositeAnswer

interface CachedAnswer {
  readonly answer: Answer
  /** Whether its weight includes the response that REST rendered from the answer. */
  isWeighed: boolean
}

const entryBytes = 300
/** After this many cached answers of a shape, their cache hits decide whether caching is worthwhile. */
const answersPerEvaluation = 256
/** With fewer hits per cached answer, storing and garbage-collecting it costs more than it saves. */
const minHitsPerAnswer = 0.5
/** If a shape is not worth caching, one of this many answers is cached, to notice when that changes. */
const samplingInterval = 8

/** The bound that all shapes' answers share. */
export class Answers {
  readonly bound: CacheBound
  readonly #maxBytes: number
  /** Weighs the answer cached last: REST renders it only afterwards. */
  #latest: (() => void) | undefined

  /** `bytes`: 0 caches nothing. */
  constructor(bytes: number) {
    this.bound = new CacheBound('answers', bytes)
    this.#maxBytes = bytes / 16
  }

  /** The answers of one shape. */
  shape(): ShapeAnswers {
    return new ShapeAnswers(this)
  }

  /** Whether an answer of this size may be cached. */
  fits(bytes: number): boolean {
    return bytes < this.#maxBytes
  }

  /** `weigh`: adds the weight of the rendered response; called when the next answer is cached. */
  added(weigh: () => void): void {
    this.#latest?.()
    this.#latest = weigh
  }
}

export class ShapeAnswers {
  readonly #answers: Answers
  readonly #cache: Cache<AnswerKey, CachedAnswer>
  /** Cached answers and cache hits since the shape was last judged. */
  #cached = 0
  #hits = 0
  #isSampled = false
  #skipped = 0

  constructor(answers: Answers) {
    this.#answers = answers
    this.#cache = new Cache(answers.bound)
  }

  get(key: AnswerKey, stamp: number): Answer | undefined {
    const cached = this.#cache.get(key, stamp)
    if (cached === undefined) return undefined
    this.#hits++
    if (!cached.isWeighed) this.#weigh(key, cached)
    return cached.answer
  }

  /** Caches the answer, or skips it where the shape's answers are rarely read again. */
  set(key: AnswerKey, stamp: number, answer: Answer): void {
    if (this.#isSampled && ++this.#skipped % samplingInterval !== 0) return
    const characters = (answer.text?.length ?? 0) + (typeof key === 'string' ? key.length : 0)
    const bytes = entryBytes + 2 * characters
    if (!this.#answers.fits(bytes)) return
    const cached = { answer, isWeighed: false }
    this.#cache.set(key, cached, bytes, stamp)
    this.#answers.added(() => this.#weigh(key, cached))
    if (++this.#cached === answersPerEvaluation) this.#evaluate()
  }

  /** Adds the weight of the rendered response, once. */
  #weigh(key: AnswerKey, cached: CachedAnswer): void {
    const { rendered } = cached.answer
    if (cached.isWeighed || rendered === undefined) return
    cached.isWeighed = true
    this.#cache.grow(key, rendered.bytes)
  }

  #evaluate(): void {
    this.#isSampled = this.#hits < minHitsPerAnswer * this.#cached
    this.#cached = 0
    this.#hits = 0
  }
}

/** A key that is equal only for equal arguments and, for a personal answer, the same user. */
export function answerKey(args: readonly JsonValue[], userId: number | null, personal: boolean): AnswerKey {
  if (personal) return `${userId}:${JSON.stringify(args)}`
  const first = args[0]
  if (args.length === 1 && typeof first === 'number') return first
  const second = args[1]
  if (args.length === 2 && typeof first === 'number' && typeof second === 'number')
    return `${first},${second}`
  return JSON.stringify(args)
}
