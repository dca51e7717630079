/** `portico secrets`: manages the keys that encrypt secrets in the database. */
import { setTimeout } from 'node:timers/promises'
import type { Records } from '../../../base/records.ts'
import { forgetSecrets, type KeyRotation, rotateSecrets } from '../../../identity/encryption/open-records.ts'
import { newKeyText } from '../../../identity/encryption/record-cipher.ts'
import type { Settings } from '../../../server/config/config.ts'
import { counted } from '../counted.ts'
import { databaseOptions, withDatabase } from '../database.ts'
import type { Command } from './commands.ts'

/** The time within which every running service reads a changed key file. */
const keyFileNoticedMs = 1500

function keyRotation(records: Records, { secretKeys: keys, database }: Settings): KeyRotation {
  return { records, keys, database, wait: () => setTimeout(keyFileNoticedMs) }
}

async function encryptAgain(records: Records, settings: Settings): Promise<string> {
  const count = await rotateSecrets(keyRotation(records, settings))
  const nextStep =
    settings.secretKeys === undefined
      ? '`portico secrets forget` removes the older keys from the key file.'
      : 'Once every node runs with the keys in this order, leave only the first one in PORTICO_SECRET_KEY.'
  return `Encrypted ${counted(count, 'record')} with the newest key. ${nextStep}\n`
}

async function removeOlderKeys(records: Records, settings: Settings): Promise<string> {
  const count = await forgetSecrets(keyRotation(records, settings))
  return `Removed ${counted(count, 'older key')} from the key file. Earlier backups still need them.\n`
}

export const generate: Command = {
  options: {},
  run: async () => `${newKeyText()}\n`,
}

export const rotate: Command = {
  options: databaseOptions,
  run: args => withDatabase(args, ({ stored, settings }) => encryptAgain(stored, settings)),
}

export const forget: Command = {
  options: databaseOptions,
  run: args => withDatabase(args, ({ stored, settings }) => removeOlderKeys(stored, settings)),
}
