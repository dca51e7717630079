/** A program that exhausts its file descriptors, reads, frees them and reads again. It prints both results. */
import { closeSync, openSync } from 'node:fs'
import { FileIdentity } from '../../../../../src/engine/store/sqlite/file/identity.ts'
import { ReaderPool } from '../../../../../src/engine/store/sqlite/reader-processes/pool.ts'

const file = process.argv[2] ?? ''
const processOptions = { file, identities: new FileIdentity(file).expected, busyTimeoutMs: 1000 }
const pool = new ReaderPool({ processOptions, size: 2, timeoutMs: 60_000 })
const query = [{ sql: 'SELECT 1', values: [] }]

/** Opens files until the system refuses. */
function exhaust(): number[] {
  const descriptors: number[] = []
  try {
    while (descriptors.length < 10_000) descriptors.push(openSync(file, 'r'))
  } catch {
    // As intended.
  }
  return descriptors
}

const descriptors = exhaust()
const first = await pool.run('a', query).catch(error => error.code)
for (const descriptor of descriptors) closeSync(descriptor)
const { results } = await pool.run('a', query)
await pool.close()
console.log(JSON.stringify({ first, second: results }))
