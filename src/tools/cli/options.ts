/** Options that several commands share, and the settings and model that they select. */
import type { Settings, SettingsSources } from '../../server/config/config.ts'
import { defaultModel, type LoadedModel, loadModel, loadSettings } from '../../server/project/project.ts'
import type { Option, ParsedArgs } from './commands/commands.ts'
import { Failure } from './failure.ts'

export const model: Option = {
  value: 'file',
  sentence: 'The model file. Default: PORTICO_MODEL, then model.ts.',
}
export const database: Option = { value: 'file', sentence: 'The database. Default: DATABASE_URL.' }

export const port: Option = { value: 'number', sentence: 'The port. Default: PORT.' }

/** The settings that the options set. */
export function commandLineSettings(args: ParsedArgs): Readonly<Record<string, unknown>> {
  const port = args.text('port')
  return {
    model: args.text('model'),
    database: args.text('database'),
    port: port === undefined ? undefined : /^\d+$/.test(port) ? Number(port) : port,
  }
}

/** The settings. Options take precedence over the environment and the config file. */
export function settingsOf(args: ParsedArgs): Promise<Settings> {
  return loadSettings(commandLineSettings(args))
}

export interface Project extends LoadedModel {
  readonly settings: Settings
}

/** Loads the settings and the model, and checks the model. */
export function projectOf(args: ParsedArgs): Promise<Project> {
  return loadProject(commandLineSettings(args))
}

/** Throws a `Failure` if no model is named or found. `commandLine`: the settings that options set. `defaults`: see `loadSettings`. */
export async function loadProject(
  commandLine: Readonly<Record<string, unknown>>,
  defaults?: SettingsSources['defaults'],
): Promise<Project> {
  const settings = await loadSettings(commandLine, defaults)
  if (settings.model === undefined) {
    throw new Failure(
      `No model: this folder has no ${defaultModel}. Create it, or name another file with \`--model model.ts\` or in PORTICO_MODEL.`,
      2,
    )
  }
  return { settings, ...(await loadModel(settings)) }
}
