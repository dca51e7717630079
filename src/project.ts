/** Loads the files of a project: its model and its settings. */
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readSettings, type Settings, type SettingsSources } from './config.ts'
import { checkModel, ModelError } from './model/check.ts'
import type { Declaration } from './model/declaration.ts'
import type { Model } from './model/model.ts'
import { describeLoadError, describeModelError } from './source/describe.ts'
import { shownPath as shown } from './source/frame.ts'

/** Says in a sentence what is wrong with a file. */
export class ProjectError extends Error {
  override name = 'ProjectError'
}

/** The default model file. */
export const defaultModel = 'model.ts'

export const configNames = [
  'portico.config.ts',
  'portico.config.js',
  'portico.config.mjs',
  'portico.config.json',
]

/** Throws a `ProjectError` that says where the fault is. */
export async function importFile(path: string, what: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(pathToFileURL(path).href)
  } catch (error) {
    throw new ProjectError(`${shown(path)}: the ${what} cannot be loaded.${describeLoadError(error)}`)
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ProjectError(
      `${shown(path)}: the config file is not JSON: ${error instanceof Error ? error.message : error}`,
    )
  }
}

async function configFile(folder: string): Promise<SettingsSources['file']> {
  const found = configNames.map(name => resolve(folder, name)).filter(path => existsSync(path))
  const [path, second] = found
  if (path === undefined) return undefined
  if (second !== undefined) {
    throw new ProjectError(`There are two config files, ${shown(path)} and ${shown(second)}: keep one.`)
  }
  if (path.endsWith('.json')) return { path: shown(path), values: readJson(path) }
  const { default: values } = await importFile(path, 'config file')
  return { path: shown(path), values }
}

/**
 * The settings: given ones, then the environment, then the config file of the working folder. The model
 * file is `model.ts` in that folder where they name none. `defaults` replace those of the table.
 */
export async function loadSettings(
  given: Readonly<Record<string, unknown>>,
  defaults?: SettingsSources['defaults'],
): Promise<Settings> {
  const file = await configFile(process.cwd())
  const settings = readSettings({ given, environment: process.env, file, defaults })
  return settings.model === undefined && existsSync(defaultModel)
    ? { ...settings, model: defaultModel }
    : settings
}

function isDeclaration(value: unknown): value is Declaration {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'model'
}

export interface LoadedModel {
  /** Relative to the working folder, if it is in there. */
  readonly path: string
  readonly model: Model
}

/** Checks the model; its faults name the file. */
function checked(path: string, declaration: Declaration): Model {
  try {
    return checkModel(declaration)
  } catch (error) {
    if (error instanceof ModelError)
      throw new ProjectError(`${shown(path)}: ${describeModelError(path, error)}`)
    throw error
  }
}

/** Imports and checks the model file that the settings name. */
export async function loadModel({ model = '' }: Settings): Promise<LoadedModel> {
  const path = resolve(model)
  if (!existsSync(path)) throw new ProjectError(`${model}: there is no such model file.`)
  const { default: declaration } = await importFile(path, 'model file')
  if (isDeclaration(declaration)) return { path: shown(path), model: checked(path, declaration) }
  throw new ProjectError(
    `${shown(path)}: the model file must have a default export made by \`model({ … })\`.`,
  )
}

/** The hash of the model file, without its imports. */
export function modelFingerprint({ model = '' }: Settings): string {
  return existsSync(model) ? hash('sha256', readFileSync(model), 'base64url') : ''
}
