/**
 * How far the log has been made into deliveries. Each step forward is one transaction with the rows that it makes, and
 * succeeds only while no other node has begun to send: a former sender can enqueue nothing twice.
 */
import { ApiError } from '../../errors.ts'
import type { Plan, WriteShape } from '../../plan/plan.ts'
import type { Run } from '../../plan/run.ts'
import type { Program, StepAnswer, Steps } from '../../plan/transaction.ts'
import { system } from '../../principal.ts'
import type { RecordKey, Records } from '../../records.ts'
import { senderKind } from './lease.ts'

const key: RecordKey = { kind: senderKind, id: 'position' }

/** Up to where an event has become deliveries that did not fit into one transaction. */
export interface PartialEvent {
  readonly event: number
  readonly webhook: number
  /** The last user, of an app's webhook. */
  readonly user: number
}

export interface Place {
  /** The last event that is done. */
  readonly event: number
  readonly partial: PartialEvent | null
}

/** The record's payload. */
interface Stored extends Place {
  readonly term: number
}

/** Another node sends now. */
export class NoLongerSender extends Error {
  constructor() {
    super('Another node has begun to send webhooks.')
    this.name = 'NoLongerSender'
  }
}

export type Step = Plan<WriteShape>

interface PositionParts {
  readonly run: Pick<Run, 'transaction'>
  readonly records: Pick<Records, 'get' | 'add' | 'swap'>
}

export class Position {
  readonly #parts: PositionParts
  #payload: string

  private constructor(parts: PositionParts, payload: string) {
    this.#parts = parts
    this.#payload = payload
  }

  /** Takes it over for a term of the lease. `start`: the event after which the very first sender begins. */
  static async take(parts: PositionParts, term: number, start: () => Promise<number>): Promise<Position> {
    const record = await parts.records.get(key.kind, key.id)
    if (record === undefined) {
      const payload = JSON.stringify({ event: await start(), partial: null, term } satisfies Stored)
      if (!(await parts.records.add({ ...key, payload, expiresAt: null }))) throw new NoLongerSender()
      return new Position(parts, payload)
    }
    const stored: Stored = JSON.parse(record.payload)
    if (stored.term > term) throw new NoLongerSender()
    const payload = JSON.stringify({ ...stored, term } satisfies Stored)
    const isOurs = payload === record.payload || (await parts.records.swap(key, record.payload, payload))
    if (!isOurs) throw new NoLongerSender()
    return new Position(parts, payload)
  }

  get place(): Place {
    return JSON.parse(this.#payload) as Stored
  }

  /**
   * Commits the steps, and that the position is now at `place`. Returns the ids of what the steps wrote. One call at a
   * time. After a failure it is unknown what was committed: take the position anew. Rejects with `NoLongerSender`.
   */
  async commit(steps: readonly Step[], place: Place = this.place): Promise<readonly number[]> {
    const before = this.#payload
    const { term }: Stored = JSON.parse(before)
    const after = JSON.stringify({ event: place.event, partial: place.partial, term } satisfies Stored)
    let isLost = false
    const program: Program<readonly number[]> = {
      serial: undefined,
      principal: system,
      *steps(): Generator<Steps<Step>, readonly number[], StepAnswer> {
        isLost = !(yield { kind: 'swap', key, before, after })
        if (isLost) throw new ApiError('CONFLICT')
        const written: number[] = []
        for (const step of steps) {
          const answer = yield step
          if (typeof answer === 'object' && 'id' in answer) written.push(answer.id)
        }
        return written
      },
    }
    const ids = await this.#parts.run.transaction(program).catch(error => {
      throw isLost ? new NoLongerSender() : error
    })
    this.#payload = after
    return ids
  }
}
