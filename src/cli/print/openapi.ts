import type { Command } from '../commands.ts'
import { openapiText } from '../print.ts'
import { model, projectOf } from '../project.ts'

export const command: Command = {
  options: { model },
  async run(written) {
    const { model: checked, settings } = await projectOf(written)
    return openapiText(checked, settings)
  },
}
