/**
 * Answers remembered while the collections that they were read from stay unchanged. Memory is bounded;
 * what was not asked for since about half of it was filled anew is forgotten.
 */
import type { JsonValue } from '../model/fields/type.ts'
import type { CompositeAnswer, ReadAnswer } from '../plan/answer.ts'
import type { GuardedCompositeRead, GuardedRead } from '../plan/guarded.ts'

type Key = number | string

/** What is asked, but for its values, and what is answered. */
export type ReadShape = (GuardedRead | GuardedCompositeRead)['shape']
export type Answer = ReadAnswer | CompositeAnswer

interface Entry {
  readonly answer: Answer
  /** The versions of what was read, summed (see `stampOf`). */
  readonly stamp: number
  bytes: number
  /** Whether `bytes` holds what a face made of the answer. */
  whole: boolean
}

const ENTRY_BYTES = 300
/** After so many remembered answers, a shape's memory is judged by how often they were asked for again. */
const judgedAnswers = 256
/** Below so many uses of a remembered answer, it costs more to keep it, and to collect it later, than it saves. */
const worthwhileUses = 0.5
/** Of a shape whose answers are not worth it, one in so many is remembered: it shows when that changes. */
const sampledAnswers = 8

/** The bound that all shapes' answers share. */
export class Answers {
  readonly #half: number
  readonly #shapes = new Set<ShapeAnswers>()
  #bytes = 0
  #oldBytes = 0
  /** The last one remembered: its face makes something of it only after it was. */
  #latest: Entry | undefined

  /** `bytes`: 0 remembers nothing. */
  constructor(bytes: number) {
    this.#half = bytes / 2
  }

  /** The answers of one shape. */
  shape(): ShapeAnswers {
    return new ShapeAnswers(this)
  }

  /** Whether an answer of this size is worth remembering. */
  fits(bytes: number): boolean {
    return bytes < this.#half / 8
  }

  /** About how much memory is taken; never much more than the bound. */
  get bytes(): number {
    return this.#bytes + this.#oldBytes
  }

  /** `replaced`: the bytes of what had the same key. */
  add(shape: ShapeAnswers, entry: Entry, replaced: number): void {
    if (this.#latest !== undefined) this.complete(this.#latest)
    this.#latest = entry
    this.#shapes.add(shape)
    this.#bytes += entry.bytes - replaced
    if (this.#bytes > this.#half) this.#turn()
  }

  /** Counts what a face has made of an answer, once. */
  complete(entry: Entry): void {
    const { rendered } = entry.answer
    if (entry.whole || rendered === undefined) return
    entry.whole = true
    entry.bytes += rendered.bytes
    this.#bytes += rendered.bytes
  }

  #turn(): void {
    this.#oldBytes = this.#bytes
    this.#bytes = 0
    for (const shape of this.#shapes) if (shape.turn()) this.#shapes.delete(shape)
  }
}

export class ShapeAnswers {
  readonly #all: Answers
  #young = new Map<Key, Entry>()
  #old = new Map<Key, Entry>()
  /** How many were remembered, and asked for again, since the last judgement. */
  #kept = 0
  #used = 0
  #isSampled = false
  #passedOver = 0

  constructor(all: Answers) {
    this.#all = all
  }

  get(key: Key, stamp: number): Answer | undefined {
    const entry = this.#young.get(key)
    if (entry !== undefined) {
      if (entry.stamp !== stamp) return undefined
      this.#used++
      if (!entry.whole) this.#all.complete(entry)
      return entry.answer
    }
    const old = this.#old.get(key)
    if (old === undefined || old.stamp !== stamp) return undefined
    this.#used++
    this.#old.delete(key)
    this.#keep(key, old)
    return old.answer
  }

  /** Remembers the answer, or passes it over where the shape's answers are hardly ever asked for again. */
  set(key: Key, stamp: number, answer: Answer): void {
    if (this.#isSampled && ++this.#passedOver % sampledAnswers !== 0) return
    const characters = (answer.text?.length ?? 0) + (typeof key === 'string' ? key.length : 0)
    const bytes = ENTRY_BYTES + 2 * characters
    if (!this.#all.fits(bytes)) return
    this.#keep(key, { answer, stamp, bytes, whole: false })
    if (++this.#kept === judgedAnswers) this.#judge()
  }

  /** Forgets the older half. Returns whether nothing is left. */
  turn(): boolean {
    this.#old = this.#young
    this.#young = new Map()
    return this.#old.size === 0
  }

  #judge(): void {
    this.#isSampled = this.#used < worthwhileUses * this.#kept
    this.#kept = 0
    this.#used = 0
  }

  #keep(key: Key, entry: Entry): void {
    const replaced = this.#young.get(key)
    this.#young.set(key, entry)
    this.#all.add(this, entry, replaced?.bytes ?? 0)
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
