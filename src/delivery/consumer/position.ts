/**
 * The position up to which the log has been processed. Each step forward is one transaction with the rows that it creates,
 * and succeeds only while no other node has taken the lease: a former holder can store nothing twice.
 */
import { ApiError } from '../../base/errors.ts'
import { system } from '../../base/principal.ts'
import type { RecordKey, Records } from '../../base/records.ts'
import type { Plan, WriteShape } from '../../engine/plan/plan.ts'
import type { Run } from '../../engine/plan/run.ts'
import type { Program, ProgramStep, RecordChange, StepAnswer } from '../../engine/plan/transaction.ts'

/** The record's payload. */
type Stored<P> = P & { readonly term: number }

/** Another node has the lease now. */
export class LeaseLost extends Error {
  constructor() {
    super('Another node has taken the lease.')
    this.name = 'LeaseLost'
  }
}

export type CommitStep = Plan<WriteShape> | RecordChange

interface PositionParts {
  readonly key: RecordKey
  readonly run: Pick<Run, 'transaction'>
  readonly records: Pick<Records, 'get' | 'add' | 'swap'>
}

/** `P`: the type of the position in the log, as JSON. */
export class StoredPosition<P extends object> {
  readonly #parts: PositionParts
  #payload: string

  private constructor(parts: PositionParts, payload: string) {
    this.#parts = parts
    this.#payload = payload
  }

  /** Takes the position over for a term of the lease. `start` returns the position from which the first holder begins. */
  static async take<P extends object>(
    parts: PositionParts,
    term: number,
    start: () => Promise<P>,
  ): Promise<StoredPosition<P>> {
    const { key } = parts
    const record = await parts.records.get(key.kind, key.id)
    if (record === undefined) {
      const payload = JSON.stringify({ ...(await start()), term } satisfies Stored<P>)
      if (!(await parts.records.add({ ...key, payload, expiresAt: null }))) throw new LeaseLost()
      return new StoredPosition<P>(parts, payload)
    }
    const stored: Stored<P> = JSON.parse(record.payload)
    if (stored.term > term) throw new LeaseLost()
    const payload = JSON.stringify({ ...stored, term })
    const isTaken = payload === record.payload || (await parts.records.swap(key, record.payload, payload))
    if (!isTaken) throw new LeaseLost()
    return new StoredPosition<P>(parts, payload)
  }

  get current(): P {
    return JSON.parse(this.#payload) as P
  }

  /**
   * Commits the steps together with the new position. Returns the ids of the items that the steps wrote. Make one
   * call at a time. After a failure it is unknown what was committed: take the position again. Rejects with `LeaseLost`.
   */
  async commit(steps: readonly CommitStep[], position: P = this.current): Promise<readonly number[]> {
    const before = this.#payload
    const { key, run } = this.#parts
    const { term }: Stored<P> = JSON.parse(before)
    const after = JSON.stringify({ ...position, term } satisfies Stored<P>)
    let isLost = false
    const program: Program<readonly number[]> = {
      serial: undefined,
      principal: system,
      *steps(): Generator<ProgramStep, readonly number[], StepAnswer> {
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
    const ids = await run.transaction(program).catch(error => {
      throw isLost ? new LeaseLost() : error
    })
    this.#payload = after
    return ids
  }
}
