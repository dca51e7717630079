/** `portico users export` and `portico users delete`: the data of a person. A service may run at the same time. */
import { ApiError } from '../../../base/errors.ts'
import { service } from '../../../base/principal.ts'
import { deleteInSlices } from '../../../delivery/deletions/accounts.ts'
import { exportedData } from '../../../identity/accounts/self-service/data-export.ts'
import { deleteAccount, requireExportable } from '../../../identity/accounts/self-service/deletion.ts'
import { databaseOptions, type OpenedDatabase, withDatabase } from '../database.ts'
import { writeExport } from '../export-file.ts'
import { Failure } from '../failure.ts'
import { requireUserBy } from '../user.ts'
import type { Command, ParsedArgs } from './commands.ts'

async function exportData({ model, run, stored }: OpenedDatabase, args: ParsedArgs): Promise<string> {
  const { id, email } = await requireUserBy(run, args.arguments[0] ?? '')
  const chunks = exportedData({
    ...{ model, run, userId: id, details: { exported_at: new Date().toISOString() } },
    reader: () => requireExportable(run, stored, id),
  })
  return writeExport(args.text('file') ?? '-', args.flag('overwrite'), async ({ write }) => {
    for await (const chunk of chunks) await write(chunk)
    return `Exported the data of ${email}.`
  })
}

export const exportCommand: Command = {
  arguments: ['user'],
  options: {
    file: { value: 'file', sentence: 'Write to this file. Default: standard output.' },
    overwrite: { value: undefined, sentence: 'Replace an existing file.' },
    ...databaseOptions,
  },
  run: args => withDatabase(args, opened => exportData(opened, args)),
}

async function deleteUser({ model, run }: OpenedDatabase, name: string): Promise<string> {
  const { id, email } = await requireUserBy(run, name)
  let hasBegun = false
  try {
    hasBegun = !(await deleteAccount({ model, run }, id, service))
    // If this process ends before it is done, a service continues.
    if (hasBegun) await deleteInSlices({ model, run }, id, null)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    const state = hasBegun
      ? `${email} is disabled, and the deletion has begun: a service tries again each minute.`
      : `${email} was not deleted.`
    throw new Failure(`${state} ${error.message}`)
  }
  return `Deleted ${email}, with what belonged to the account\n`
}

export const deleteCommand: Command = {
  arguments: ['user'],
  options: databaseOptions,
  run: args => withDatabase(args, opened => deleteUser(opened, args.arguments[0] ?? '')),
}
