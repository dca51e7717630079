/** Runs guarded reads on any database: answers are remembered while they stay true. */
import type { JsonValue } from '../../model/fields/type.ts'
import type { Awaitable, CompositeAnswer, ReadAnswer } from '../../plan/answer.ts'
import type { GuardedCompositeRead, GuardedRead } from '../../plan/guarded.ts'
import type { Principal } from '../../principal.ts'
import { once } from '../once.ts'
import { noSlots } from '../values.ts'
import { stampOf, type Version } from '../versions.ts'
import { type Answer, type Key, keyOf, type ReadShape, type ShapeAnswers } from './answers.ts'
import type { ReadDatabase, Run } from './database.ts'
import { InFlight, type Later } from './in-flight.ts'

interface ShapeReader {
  readonly answers: ShapeAnswers
  readonly inFlight: InFlight
  readonly reads: readonly Version[]
  readonly isPersonal: boolean
  /** Whether no answer is used twice. */
  readonly isVolatile: boolean
  readonly run: Run
}

export class Reader {
  readonly #database: ReadDatabase
  readonly #readerOf: (shape: ReadShape) => ShapeReader
  /** Reads that were answered from memory, and those for which the database was asked. */
  readonly counts = { hits: 0, misses: 0 }

  constructor(database: ReadDatabase) {
    this.#database = database
    const { answers, versions } = database
    this.#readerOf = once(shape => ({
      answers: answers.shape(),
      inFlight: new InFlight(),
      reads: shape.reads.map(collection => versions.cell(collection)),
      isPersonal: shape.personal || database.isPersonal,
      isVolatile: shape.volatile,
      run: database.runOf(shape),
    }))
  }

  /** Answers at once what is remembered, and whatever the database answers at once. */
  read(plan: GuardedRead): Awaitable<ReadAnswer>
  read(plan: GuardedCompositeRead): Awaitable<CompositeAnswer>
  read({ shape, args, principal }: GuardedRead | GuardedCompositeRead): Awaitable<Answer> {
    const database = this.#database
    database.hold()
    const reader = this.#readerOf(shape)
    if (reader.isVolatile) return this.#ask(reader, args, principal)
    const { userId } = principal
    // Taken before the database is asked: it may be too old for the answer, and then is of no use, but never too new.
    const stamp = stampOf(reader.reads)
    const key = keyOf(args, userId, reader.isPersonal)
    const known = reader.answers.get(key, stamp)
    if (known !== undefined) {
      this.counts.hits++
      return known
    }
    const caller = database.queuesByCaller ? principal.budgetKey : ''
    const underWay = reader.inFlight.get(key, stamp, caller)
    if (underWay !== undefined) return underWay
    this.counts.misses++
    const inputs = { args, userId, slots: noSlots, actor: database.actor(principal) }
    const answer = reader.run(inputs, principal)
    if (typeof answer === 'function') return later(reader, key, stamp, caller, answer)
    reader.answers.set(key, stamp, answer)
    return answer
  }

  /** Answers by what is true at this moment, for this request alone. */
  #ask({ run }: ShapeReader, args: readonly JsonValue[], principal: Principal): Awaitable<Answer> {
    const database = this.#database
    this.counts.misses++
    const { userId, claims } = principal
    const inputs = {
      ...{ args, userId, slots: noSlots, claims },
      ...{ now: database.now(), actor: database.actor(principal) },
    }
    const answer = run(inputs, principal)
    return typeof answer === 'function' ? answer(undefined) : answer
  }
}

function later(
  { answers, inFlight }: ShapeReader,
  key: Key,
  stamp: number,
  caller: string,
  ask: Later,
): Promise<Answer> {
  return inFlight.add(key, stamp, caller, async signal => {
    const answer = await ask(signal)
    answers.set(key, stamp, answer)
    return answer
  })
}
