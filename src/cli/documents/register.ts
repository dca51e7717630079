import type { Command } from '../commands.ts'
import { registerDocuments } from '../documents.ts'
import { model, projectOf } from '../options.ts'

export const command: Command = {
  arguments: ['file…'],
  options: { model },
  async run(written) {
    const { model: checked, settings } = await projectOf(written)
    return registerDocuments(checked, settings, written.arguments)
  },
}
