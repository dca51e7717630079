import type { Command } from '../commands.ts'
import { printedSql } from '../migrate.ts'
import { database, model, projectOf } from '../options.ts'

export const command: Command = {
  options: { model, database },
  async run(written) {
    const { model: checked, settings } = await projectOf(written)
    return printedSql(checked, settings)
  },
}
