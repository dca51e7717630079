/** A process that copies a database, and writes a dot for everything that it has done. */
import { writeSync } from 'node:fs'
import { isPostgres } from '../../src/config/database.ts'
import { copyDatabase, type Place } from '../../src/store/copy.ts'
import { before } from './migration-models.ts'

const [from, to] = process.argv
  .slice(2)
  .map((at): Place => ({ at, kind: isPostgres(at) ? 'postgres' : 'sqlite', name: at }))
if (from && to)
  await copyDatabase(before, { from, to, live: false, onProgress: () => void writeSync(1, '.') })
writeSync(1, 'done')
