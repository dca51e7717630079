/** The time that a read waits for a standby counts when it then waits for the primary. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type AskOptions, Pool } from '../../../../../src/engine/store/postgres/connections/pool.ts'
import {
  type BoundStatement,
  statementOf,
} from '../../../../../src/engine/store/postgres/connections/statement.ts'
import {
  Replicas,
  type StoreForReplicas,
} from '../../../../../src/engine/store/postgres/replicas/replicas.ts'
import { WaitingCallers } from '../../../../../src/engine/store/read/waiting-callers.ts'
import { sql } from '../../../../../src/engine/store/sql/writer.ts'
import { noInputs } from '../../../../../src/engine/store/values.ts'
import { type Answer, stubConnection } from '../connections/stub-connection.ts'

const slowRead = statementOf(sql`SELECT 'slow'`)
const read = statementOf(sql`SELECT 1`)

/** A standby that has replayed everything and has one connection, which a read occupies. */
function withBusyStandby(timeoutMs: number) {
  const isName = (text: string) => text.includes('pg_control_system')
  const timeline: Answer = text => (isName(text) ? [['name/1', 'name/1/x']] : [[7]])
  const busy = stubConnection(text => (text === slowRead.text ? Promise.withResolvers<[]>().promise : [[7]]))
  const asked: (AskOptions | undefined)[] = []
  const primary = {
    ask: async (_: readonly BoundStatement[], options?: AskOptions) => {
      asked.push(options)
      return [[[1]]]
    },
  }
  const connector = {
    openReplica: async () => busy.connection,
    openWatcher: async () => stubConnection(timeline).connection,
  }
  const replicas = new Replicas()
  replicas.open({
    settings: { connections: 2, maxWaiting: 10, timeoutMs, replicas: [{ url: '' }] },
    watch: new Pool({ open: connector.openWatcher, size: 1, maxWaiting: 10 }),
    checks: { query: read.with(noInputs) },
    primary,
    connector,
  } as unknown as StoreForReplicas)
  replicas.onAnswered([7], undefined)
  return { replicas, asked, sent: busy.statements }
}

test('a read has one deadline, on the standby and then on the primary', async t => {
  const { replicas, asked, sent } = withBusyStandby(50)
  t.after(() => replicas.close())
  const ask = (statement: typeof read) =>
    replicas.ask([statement.with(noInputs)], { reads: [], waitingCallers: new WaitingCallers('ann') })
  while (replicas.counts().lag > 0) await turn()
  void ask(slowRead).catch(() => {})
  while (!sent.includes(slowRead.text)) await turn()
  assert.deepEqual(await ask(read), [[[1]]])
  const [options] = asked
  assert.ok(options?.deadline !== undefined && options.deadline <= performance.now())
})
