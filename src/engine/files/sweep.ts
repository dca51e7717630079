/**
 * Removes the objects that no item has: uploads that were not used within a day, and files that were deleted some days ago.
 * It follows rows alone, never a listing of the store. Several nodes may do it at once: each step is harmless if repeated.
 */

import type { EpochMs } from '../../base/epoch-ms.ts'
import { ApiError } from '../../base/errors.ts'
import { system } from '../../base/principal.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { ReadAnswer } from '../plan/answer.ts'
import type { Filter, ListShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { deleteShape, listShape, readStored } from '../plan/system-plans.ts'
import { type ClaimParts, holdClaim } from './claim.ts'
import { expireUpload } from './files.ts'
import type { ObjectStore } from './object-store.ts'

const dayMs = 86_400_000
/** Longer than the day of an upload: one may arrive for that long. */
const unusedMs = dayMs + 3_600_000
const stepSize = 100

export interface SweepParts extends ClaimParts {
  readonly run: Pick<Run, 'write' | 'transaction'>
  readonly objects: ObjectStore
  /** How long deleted files are kept, for backups of the database. */
  readonly keepDeletedMs: number
  /** Called once for all objects that could not be removed. They are tried again by the next sweep. */
  readonly onFault: (error: unknown) => void
  /** Whether to end after the row in progress. */
  readonly isStopping: () => boolean
}

interface UploadRow {
  readonly id: number
  readonly key: string
}

/** Arguments: the offset, the limit, the state, the time before which, the id after which, then those of `more`. */
function endedShape(time: 'created_at' | 'ended_at', more: readonly Filter[] = []): ListShape {
  return listShape('uploads', ['id', 'key'], {
    kind: 'and',
    parts: [
      { kind: 'compare', field: 'state', operator: 'eq', param: 2 },
      { kind: 'compare', field: time, operator: 'lt', param: 3 },
      { kind: 'compare', field: 'id', operator: 'gt', param: 4 },
      ...more,
    ],
  })
}

const unused = endedShape('created_at')
const ended = endedShape('ended_at')
/** No item has ever had them. The last argument: true. */
const neverUsed = endedShape('ended_at', [
  { kind: 'compare', field: 'collection', operator: 'null', param: 5 },
])
const remove = deleteShape('uploads')

/**
 * Sweeps once. Returns how many objects were removed. Throws `ForeignClaim` if this database may not: see `claim.ts`. An upload
 * that expires is removed by a later sweep, once the claim has been renewed.
 */
export async function sweep(parts: SweepParts): Promise<number> {
  const { now, keepDeletedMs } = parts
  const claim = await holdClaim(parts)
  const { since } = claim
  const kept = Math.min(since, now() + 1 - keepDeletedMs)
  const removed =
    (await removeObjects(parts, neverUsed, ['deleted', timeOf(since)], [true])) +
    (await removeObjects(parts, ended, ['deleted', timeOf(kept)]))
  await claim.renew()
  await eachRow(parts, unused, ['pending', timeOf(now() - unusedMs)], [], async ({ id }) => {
    const args = [id, 'deleted', timeOf(now()), { state: 'pending' }]
    await parts.run.write({ shape: expireUpload, args }, system).catch(ignoreOthers)
  })
  return removed
}

/**
 * A missing object is one that was removed before its row: by another node, or before a kill. Objects of another folder are not
 * meant, since the claim is read from the folder of the database.
 */
async function removeObjects(
  parts: SweepParts,
  shape: ListShape,
  args: readonly JsonValue[],
  more: readonly JsonValue[] = [],
): Promise<number> {
  let removed = 0
  let failed = 0
  let cause: unknown
  await eachRow(parts, shape, args, more, async ({ id, key }) => {
    try {
      await parts.objects.remove(key)
    } catch (error) {
      failed++
      cause ??= error
      return
    }
    await parts.run.write({ shape: remove, args: [id] }, system).catch(ignoreOthers)
    removed++
  })
  if (failed > 0) parts.onFault(new Error(`${failed} files could not be removed`, { cause }))
  return removed
}

async function eachRow(
  { run, isStopping }: SweepParts,
  shape: ListShape,
  args: readonly JsonValue[],
  more: readonly JsonValue[],
  handle: (row: UploadRow) => Promise<void>,
): Promise<void> {
  for (let last = 0; ; ) {
    const rows = await readRows(run, shape, [...args, last, ...more])
    for (const row of rows) {
      if (isStopping()) return
      await handle(row)
    }
    if (rows.length < stepSize) return
    last = rows.at(-1)?.id ?? last
  }
}

function readRows(
  run: Pick<Run, 'transaction'>,
  shape: ListShape,
  args: readonly JsonValue[],
): Promise<readonly UploadRow[]> {
  return readStored(run as Run, function* () {
    const { text } = (yield { shape, args: [0, stepSize, ...args] }) as ReadAnswer
    return JSON.parse(text ?? '[]')
  })
}

function timeOf(time: EpochMs): string {
  return new Date(Math.max(0, time)).toISOString()
}

/** Another node was faster, or an item has got the file. */
function ignoreOthers(error: unknown): void {
  const isExpected = error instanceof ApiError && ['NOT_FOUND', 'PRECONDITION_FAILED'].includes(error.code)
  if (!isExpected) throw error
}
