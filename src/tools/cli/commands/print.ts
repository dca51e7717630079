/** `portico print`: prints documents that are generated from the model and from the code. Each command loads only its own modules. */

import { database, model, projectOf } from '../options.ts'
import type { Command } from './commands.ts'

export const openapi: Command = {
  options: { model },
  async run(args) {
    const { openapi: documentOf } = await import('../../../api/rest/openapi/document.ts')
    const { model: checked, settings } = await projectOf(args)
    const { baseUrl, port } = settings
    return `${JSON.stringify(documentOf(checked, baseUrl ?? `http://localhost:${port}`), null, 2)}\n`
  },
}

export const schema: Command = {
  options: { model },
  async run(args) {
    const { sdlOf } = await import('../../../api/graphql/schema/sdl.ts')
    return sdlOf((await projectOf(args)).model)
  },
}

export const sql: Command = {
  options: { model, database },
  async run(args) {
    const { schemaSqlOf } = await import('./migrate.ts')
    const { model: checked, settings } = await projectOf(args)
    return schemaSqlOf(checked, settings)
  },
}

export const config: Command = {
  options: {},
  run: async () => (await import('../../../server/config/pages.ts')).configurationPage(),
}

export const errors: Command = {
  options: {},
  run: async () => (await import('../../../server/config/pages.ts')).errorsPage(),
}
