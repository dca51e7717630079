import { openapi } from '../../rest/openapi.ts'
import type { Command } from '../commands.ts'
import { model, projectOf } from '../options.ts'

export const command: Command = {
  options: { model },
  async run(written) {
    const { model: checked, settings } = await projectOf(written)
    const { baseUrl, port } = settings
    return `${JSON.stringify(openapi(checked, baseUrl ?? `http://localhost:${port}`), null, 2)}\n`
  },
}
