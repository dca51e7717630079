/**
 * Removes the objects that no item has: uploads that were not used within a day, and files that were deleted some days ago.
 * It follows rows alone, never a listing of the store. Several nodes may do it at once: each step is harmless if repeated.
 */

import type { EpochMs } from '../../base/epoch-ms.ts'
import { ApiError } from '../../base/errors.ts'
import { system } from '../../base/principal.ts'
import type { ReadAnswer } from '../plan/answer.ts'
import type { ListShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { deleteShape, listShape, readStored } from '../plan/system-plans.ts'
import { expireUpload } from './files.ts'
import type { ObjectStore } from './object-store.ts'

const dayMs = 86_400_000
/** Longer than the day of an upload: one may arrive for that long. */
const unusedMs = dayMs + 3_600_000
const stepSize = 100

export interface SweepParts {
  readonly run: Pick<Run, 'write' | 'transaction'>
  readonly objects: ObjectStore
  /** How long deleted files are kept, for backups of the database. */
  readonly keepDeletedMs: number
  readonly now: () => EpochMs
}

interface UploadRow {
  readonly id: number
  readonly key: string
}

/** Arguments: the offset, the limit, the state, the time before which. */
function endedShape(time: 'created_at' | 'ended_at'): ListShape {
  return listShape('uploads', ['id', 'key'], {
    kind: 'and',
    parts: [
      { kind: 'compare', field: 'state', operator: 'eq', param: 2 },
      { kind: 'compare', field: time, operator: 'lt', param: 3 },
    ],
  })
}

const unused = endedShape('created_at')
const ended = endedShape('ended_at')
const remove = deleteShape('uploads')

/** Sweeps once. Returns how many objects were removed. */
export async function sweep(parts: SweepParts): Promise<number> {
  const { now, keepDeletedMs } = parts
  await eachRow(parts, unused, ['pending', timeBefore(now(), unusedMs)], async ({ id }) => {
    // Without the time of a backup: no item has ever had it.
    const endedAt = timeBefore(now(), keepDeletedMs)
    const args = [id, 'deleted', endedAt, { state: 'pending' }]
    await parts.run.write({ shape: expireUpload, args }, system).catch(ignoreOthers)
  })
  let removed = 0
  await eachRow(parts, ended, ['deleted', timeBefore(now() + 1, keepDeletedMs)], async ({ id, key }) => {
    await parts.objects.remove(key)
    await parts.run.write({ shape: remove, args: [id] }, system).catch(ignoreOthers)
    removed++
  })
  return removed
}

/** Each row that is found leaves the list. */
async function eachRow(
  { run }: SweepParts,
  shape: ListShape,
  args: readonly string[],
  handle: (row: UploadRow) => Promise<void>,
): Promise<void> {
  for (let last = 0; ; ) {
    const rows = await readRows(run, shape, args)
    const next = rows.filter(({ id }) => id > last)
    for (const row of next) await handle(row)
    if (rows.length < stepSize || next.length === 0) return
    last = rows.at(-1)?.id ?? last
  }
}

function readRows(
  run: Pick<Run, 'transaction'>,
  shape: ListShape,
  args: readonly string[],
): Promise<readonly UploadRow[]> {
  return readStored(run as Run, function* () {
    const { text } = (yield { shape, args: [0, stepSize, ...args] }) as ReadAnswer
    return JSON.parse(text ?? '[]')
  })
}

function timeBefore(now: EpochMs, ms: number): string {
  return new Date(now - ms).toISOString()
}

/** Another node was faster, or an item has got the file. */
function ignoreOthers(error: unknown): void {
  const isExpected = error instanceof ApiError && ['NOT_FOUND', 'PRECONDITION_FAILED'].includes(error.code)
  if (!isExpected) throw error
}
