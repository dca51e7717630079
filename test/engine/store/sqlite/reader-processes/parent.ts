/** A program with two reader processes, both in an endless statement. It reports their ids and waits to be killed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { FileIdentity } from '../../../../../src/engine/store/sqlite/file/identity.ts'
import { ReaderPool } from '../../../../../src/engine/store/sqlite/reader-processes/pool.ts'

const file = process.argv[2] ?? ''
const processOptions = { file, identities: new FileIdentity(file).expected, busyTimeoutMs: 1000 }
const pool = new ReaderPool({ processOptions, size: 2, timeoutMs: 600_000 })
const short = [{ sql: 'SELECT 1', values: [] }]
const sql = 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c'

// Both have answered, so both watch their parent.
await Promise.all([pool.run('a', short), pool.run('b', short)])
for (const caller of ['a', 'b']) pool.run(caller, [{ sql, values: [] }]).catch(() => {})
await sleep(50)
process.send?.(pool.pids)
