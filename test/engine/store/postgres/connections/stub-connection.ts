/** A connection without a database: a test supplies the results, and the statements are recorded. */

import type { Connection } from '../../../../../src/engine/store/postgres/connections/connection.ts'
import { ConnectionLost } from '../../../../../src/engine/store/postgres/connections/failure.ts'
import type {
  BoundStatement,
  DataRows,
  PipelineResult,
} from '../../../../../src/engine/store/postgres/connections/statement.ts'

/** Returns rows or an error; undefined means no rows. */
export type Answer = (text: string) => DataRows | Error | Promise<DataRows | Error | undefined> | undefined

export interface StubConnection {
  readonly connection: Connection
  /** The texts of the statements sent, in order. */
  readonly statements: string[]
  close(): void
}

let lastPid = 0

export function stubConnection(answer: Answer = () => undefined): StubConnection {
  const statements: string[] = []
  const listeners = new Set<() => void>()
  let isClosed = false
  const close = () => {
    isClosed = true
    for (const listener of listeners) listener()
  }
  const run = async (queries: readonly BoundStatement[]): Promise<PipelineResult> => {
    const done: DataRows[] = []
    const tags: string[] = []
    for (const { statement } of queries) {
      statements.push(statement.text)
      const rows = (await answer(statement.text)) ?? []
      if (rows instanceof ConnectionLost) close()
      if (rows instanceof Error) return { results: done, tags, error: rows }
      done.push(rows)
      tags.push(statement.text.split(' ', 1)[0] ?? '')
    }
    return { results: done, tags, error: undefined }
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
  return { connection: stub as unknown as Connection, statements, close }
}
