/** Runs guarded reads on any database. Answers are cached while they are valid. */

import type { Awaitable } from '../../../base/awaitable.ts'
import { isPortico, type Principal } from '../../../base/principal.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { CompositeAnswer, ReadAnswer } from '../../plan/answer.ts'
import type { AnswerBound } from '../../plan/answer-bound.ts'
import type { AnyGuardedRead, GuardedCompositeRead, GuardedRead } from '../../plan/guarded.ts'
import { memoised } from '../memoised.ts'
import { noSlots } from '../values.ts'
import { stampOf, type Version } from '../versions.ts'
import {
  type Answer,
  type AnswerKey,
  answerKey,
  type GuardedReadShape,
  type ShapeAnswers,
} from './answers.ts'
import type { ReadDatabase, RunRead } from './database.ts'
import type { AnswerQuery, ReadsInFlight } from './in-flight.ts'

interface ShapeReader {
  readonly answers: ShapeAnswers
  readonly inFlight: ReadsInFlight
  readonly reads: readonly Version[]
  readonly isPersonal: boolean
  /** Whether answers are neither cached nor shared. */
  readonly isVolatile: boolean
  readonly run: RunRead
}

export class Reader {
  readonly #database: ReadDatabase
  readonly #readerOf: (shape: GuardedReadShape) => ShapeReader
  /** Reads that were answered from the cache, and those that queried the database. */
  readonly counts = { hits: 0, misses: 0 }

  constructor(database: ReadDatabase) {
    this.#database = database
    const { answers, versions } = database
    this.#readerOf = memoised(shape => ({
      answers: answers.shape(),
      inFlight: database.readsInFlight(),
      reads: shape.reads.map(collection => versions.cell(collection)),
      isPersonal: shape.personal || database.isPersonal,
      isVolatile: shape.volatile,
      run: database.runOf(shape),
    }))
  }

  /** Synchronous if the answer is cached, or if the database is synchronous. */
  read(plan: GuardedRead): Awaitable<ReadAnswer>
  read(plan: GuardedCompositeRead): Awaitable<CompositeAnswer>
  read({ shape, args, principal }: AnyGuardedRead): Awaitable<Answer> {
    const database = this.#database
    database.hold()
    const reader = this.#readerOf(shape)
    if (reader.isVolatile) return this.#ask(reader, args, principal)
    const { userId } = principal
    // Read before the query. If the stamp is older than the answer, the cached answer is never used; it cannot be newer.
    const stamp = stampOf(reader.reads)
    const key = answerKey(args, userId, reader.isPersonal)
    const cached = reader.answers.get(key, stamp)
    if (cached !== undefined) {
      this.counts.hits++
      return cached
    }
    const { budgetKey: caller } = principal
    const inFlight = reader.inFlight.get(key, stamp, caller)
    if (inFlight !== undefined) return inFlight
    this.counts.misses++
    const inputs = {
      ...{ args, userId, slots: noSlots },
      ...{ actor: database.actor(principal), answerBound: this.#boundOf(principal) },
    }
    const answer = reader.run(inputs, principal)
    if (typeof answer === 'function') return sharedAnswer(reader, key, stamp, caller, answer)
    reader.answers.set(key, stamp, answer)
    return answer
  }

  /** Portico's own reads have any size. */
  #boundOf(principal: Principal): AnswerBound | undefined {
    return isPortico(principal) ? undefined : this.#database.answerBound
  }

  /** Queries the database for this request alone, with the current time, and the caller's claims and app. */
  #ask({ run }: ShapeReader, args: readonly JsonValue[], principal: Principal): Awaitable<Answer> {
    const database = this.#database
    this.counts.misses++
    const inputs = {
      ...{ args, userId: principal.userId, slots: noSlots, caller: principal },
      ...{ now: database.now(), actor: database.actor(principal), answerBound: this.#boundOf(principal) },
    }
    const answer = run(inputs, principal)
    return typeof answer === 'function' ? answer({}) : answer
  }
}

function sharedAnswer(
  { answers, inFlight }: ShapeReader,
  key: AnswerKey,
  stamp: number,
  caller: string,
  query: AnswerQuery,
): Promise<Answer> {
  return inFlight.add(key, stamp, caller, async waiting => {
    const answer = await query(waiting)
    answers.set(key, stamp, answer)
    return answer
  })
}
