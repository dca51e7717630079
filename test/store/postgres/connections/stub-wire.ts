/** A connection to no database: it answers each statement as a test says, and tells what it was asked. */

import type { Connection } from '../../../../src/store/postgres/connections/connection.ts'
import { ConnectionLost } from '../../../../src/store/postgres/connections/failure.ts'
import type { Outcome, Query, Rows } from '../../../../src/store/postgres/connections/statement.ts'

/** Rows, or a failure. Undefined: no rows. */
export type Answer = (text: string) => Rows | Error | Promise<Rows | Error | undefined> | undefined

export interface StubWire {
  readonly wire: Connection
  /** The texts of what was asked, in order. */
  readonly asked: string[]
  close(): void
}

let lastPid = 0

export function stubWire(answer: Answer = () => undefined): StubWire {
  const asked: string[] = []
  const listeners = new Set<() => void>()
  let isClosed = false
  const close = () => {
    isClosed = true
    for (const listener of listeners) listener()
  }
  const run = async (queries: readonly Query[]): Promise<Outcome> => {
    const done: Rows[] = []
    const tags: string[] = []
    for (const { statement } of queries) {
      asked.push(statement.text)
      const rows = (await answer(statement.text)) ?? []
      if (rows instanceof ConnectionLost) close()
      if (rows instanceof Error) return { done, tags, error: rows }
      done.push(rows)
      tags.push(statement.text.split(' ', 1)[0] ?? '')
    }
    return { done, tags, error: undefined }
  }
  const stub = {
    pid: ++lastPid,
    get isClosed() {
      return isClosed
    },
    run,
    destroy: close,
    close: async () => close(),
    onClose: (listener: () => void) => void listeners.add(listener),
  }
  return { wire: stub as unknown as Connection, asked, close }
}
