import { schemaText } from '../../graphql/sdl.ts'
import type { Command } from '../commands.ts'
import { model, projectOf } from '../options.ts'

export const command: Command = {
  options: { model },
  run: async written => schemaText((await projectOf(written)).model),
}
