/** `portico secrets`: the keys that seal what is secret in the database. */
import { setTimeout } from 'node:timers/promises'
import { forgetSecrets, type Resealing, rotateSecrets } from '../auth/sealing/open.ts'
import { newKeyText } from '../auth/sealing/vault.ts'
import type { Settings } from '../config.ts'
import type { Records } from '../records.ts'

/** Until every running service has looked at the key file again, in milliseconds. */
const NOTICED = 1500

function resealing(records: Records, { secretKeys: keys, database }: Settings): Resealing {
  return { records, keys, database, wait: () => setTimeout(NOTICED) }
}

export function generateSecret(): string {
  return `${newKeyText()}\n`
}

export async function rotate(records: Records, settings: Settings): Promise<string> {
  const count = await rotateSecrets(resealing(records, settings))
  const rest =
    settings.secretKeys === undefined
      ? '`portico secrets forget` removes the older keys from the key file.'
      : 'Once every node runs with this order of keys, leave only the first one in PORTICO_SECRET_KEY.'
  return `${count} records are sealed with the newest key now. ${rest}\n`
}

export async function forget(records: Records, settings: Settings): Promise<string> {
  const count = await forgetSecrets(resealing(records, settings))
  return `${count} older keys are gone from the key file. Backups from before still need them.\n`
}
