/** Options of many commands, and the settings and model that they name. */
import type { Settings } from '../config.ts'
import { defaultModel, type LoadedModel, loadModel, loadSettings } from '../project.ts'
import type { Option, ParsedArgs } from './commands.ts'
import { Failure } from './failure.ts'

export const model: Option = { value: 'file', sentence: 'The model file; else PORTICO_MODEL, else model.ts.' }
export const database: Option = { value: 'file', sentence: 'The database; else DATABASE_URL.' }

/** The settings. Options take precedence over the environment and the config file. */
export function settingsOf(args: ParsedArgs): Promise<Settings> {
  const port = args.text('port')
  return loadSettings({
    model: args.text('model'),
    database: args.text('database'),
    port: port === undefined ? undefined : /^\d+$/.test(port) ? Number(port) : port,
  })
}

export interface Project extends LoadedModel {
  readonly settings: Settings
}

/** The checked model of a command, with its settings. */
export async function projectOf(args: ParsedArgs): Promise<Project> {
  const settings = await settingsOf(args)
  if (settings.model === undefined) {
    throw new Failure(
      `No model: this folder has no ${defaultModel}. Write one, or name another file with \`--model model.ts\` or in PORTICO_MODEL.`,
      2,
    )
  }
  return { settings, ...(await loadModel(settings)) }
}
