/**
 * Sessions that were ended before their time. A request that is under way stores its session again when it is
 * answered, and perhaps a code: each looks here afterwards, so that neither outlives the end.
 */
import type { Records } from '../../records.ts'

const KIND = 'EndedSession'
/** Longer than any request takes, in milliseconds. */
const KEPT = 10 * 60 * 1000

/** To be called before anything of the session is deleted. `uid`: what it is called whatever its cookie is. */
export function noteEnd(records: Records, uid: string, owner: string | undefined): Promise<void> {
  return records.put({ kind: KIND, id: uid, payload: '{}', expiresAt: Date.now() + KEPT, owner })
}

export async function isEnded(records: Records, uid: string): Promise<boolean> {
  return (await records.get(KIND, uid)) !== undefined
}
