/**
 * Which database may remove objects. A copy of a database, or a restored backup, knows its folder as the original does; so the
 * folder holds a token that changes every two hours, and the database the last ones. What holds others is a copy, or was
 * overtaken by one: then nobody removes anything until an operator has decided.
 *
 * Of two databases that know the same token, the first to change it wins; the other one sees that within an hour, and ends
 * both claims. Until then a copy removes nothing that it does not share: see `HeldClaim`.
 */
import { randomUUID } from 'node:crypto'
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { Records } from '../../base/records.ts'
import type { ObjectStore } from './object-store.ts'

const key = { kind: 'FileStore', id: 'claim' } as const
/** Longer than any service waits between two looks at the claim. */
const renewAfterMs = 2 * 3_600_000
/** More than kills between the change of the database and that of the store can use up. */
const keptTokens = 20

/** Another database claims the store, or did when this one had it. */
export class ForeignClaim extends Error {}

export interface ClaimParts {
  readonly objects: Pick<ObjectStore, 'readClaim' | 'writeClaim' | 'claimPlace'>
  readonly records: Pick<Records, 'get' | 'add' | 'swap'>
  readonly now: () => EpochMs
}

export interface HeldClaim {
  /**
   * When the token was written. Whatever had ended before is the same in every database that knows the token: only that may
   * be removed.
   */
  readonly since: EpochMs
  /** Changes the token if it is old. */
  renew(): Promise<void>
}

interface Claim {
  /** Null: databases have contradicted each other. */
  readonly token: string | null
  readonly at: EpochMs
}

/** Throws `ForeignClaim` unless this database may remove objects. */
export async function holdClaim(parts: ClaimParts): Promise<HeldClaim> {
  const { objects, records, now } = parts
  // The store first: a token is in the database before it is in the store.
  const text = await objects.readClaim()
  const payload = (await records.get(key.kind, key.id))?.payload
  const tokens: readonly string[] = payload === undefined ? [] : JSON.parse(payload)
  if (text === undefined) {
    await change(parts, payload, tokens, true)
    // Nothing is removed before another look.
    return { since: 0 as EpochMs, renew: async () => {} }
  }
  const { token, at } = parse(text)
  if (token === null || !tokens.includes(token)) {
    if (token !== null && tokens.length > 0)
      await objects.writeClaim(textOf({ token: null, at: now() }), false)
    throw new ForeignClaim(
      `The folder of the files was also used by another database that says it is this one: a copy, or the one from which this one was restored. No file is removed. Stop the services of the other one, then delete ${objects.claimPlace}`,
    )
  }
  return {
    since: at,
    async renew() {
      if (Math.abs(now() - at) < renewAfterMs) return
      await change(parts, payload, [token, ...tokens.filter(other => other !== token)], false)
    },
  }
}

/** Other nodes may do the same at the same time: one of them does it. */
async function change(
  { objects, records, now }: ClaimParts,
  before: string | undefined,
  tokens: readonly string[],
  isFirst: boolean,
): Promise<void> {
  const token = randomUUID()
  const after = JSON.stringify([token, ...tokens].slice(0, keptTokens))
  const isOurs =
    before === undefined
      ? await records.add({ ...key, payload: after, expiresAt: null })
      : await records.swap(key, before, after)
  if (isOurs) await objects.writeClaim(textOf({ token, at: now() }), isFirst)
}

function textOf(claim: Claim): string {
  return `${JSON.stringify(claim)}\n`
}

/** What cannot be read belongs to nobody. */
function parse(text: string): Claim {
  try {
    const { token, at } = JSON.parse(text)
    if (typeof token === 'string' && typeof at === 'number') return { token, at }
  } catch {
    // As below.
  }
  return { token: null, at: 0 as EpochMs }
}
