/** What commands find in the folder where they run: settings and the model. */
import type { Settings } from '../config.ts'
import type { Model } from '../model/model.ts'
import type { Option, Written } from './commands.ts'
import { loadModel, loadSettings } from './files.ts'

export const model: Option = { value: 'file', sentence: 'The model file; else PORTICO_MODEL.' }
export const database: Option = { value: 'file', sentence: 'The database; else DATABASE_URL.' }

/** The settings; what is written as an option wins over the environment and the config file. */
export function settingsOf(written: Written): Promise<Settings> {
  const port = written.text('port')
  return loadSettings({
    model: written.text('model'),
    database: written.text('database'),
    port: port === undefined ? undefined : /^\d+$/.test(port) ? Number(port) : port,
  })
}

export interface Project {
  readonly settings: Settings
  readonly model: Model
  /** Of the model file, as a person would write it. */
  readonly path: string
}

/** The checked model of a command, with its settings. */
export async function projectOf(written: Written): Promise<Project> {
  const settings = await settingsOf(written)
  return { settings, ...(await loadModel(settings)) }
}
