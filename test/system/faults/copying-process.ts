/**
 * A process that copies a database and writes a dot for each step. After the given number of steps it waits to be
 * killed.
 */
import { writeSync } from 'node:fs'
import { copyDatabase, type DatabaseLocation } from '../../../src/engine/store/copy/copy.ts'
import { isPostgres } from '../../../src/server/config/database.ts'
import { before } from './migration-models.ts'

const [from, to] = process.argv
  .slice(2, 4)
  .map((at): DatabaseLocation => ({ location: at, kind: isPostgres(at) ? 'postgres' : 'sqlite', name: at }))
const maxSteps = Number(process.argv[4])
let reports = 0

async function onProgress(): Promise<void> {
  writeSync(1, '.')
  if (++reports > maxSteps) await new Promise(resolve => setTimeout(resolve, 600_000))
}

if (from && to) await copyDatabase(before, { from, to, live: false, onProgress })
writeSync(1, 'done')
