/** Loads the files of a project: its model and its settings. */
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readTextFile, TextEncodingError } from '../../base/text-file.ts'
import { checkModel, ModelError } from '../../model/check/check.ts'
import type { Declaration } from '../../model/declaration.ts'
import type { Model } from '../../model/model.ts'
import { readSettings, type Settings, type SettingsSources } from '../config/config.ts'
import { describeLoadError, describeModelError } from './source/describe.ts'
import { shownPath } from './source/frame.ts'

/** A fault of a project file, in one sentence. */
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

/** `description`: the kind of the file, e.g. `model file`. Throws a `ProjectError` with the place of the fault. */
export async function importFile(
  path: string,
  description: string,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(pathToFileURL(path).href)
  } catch (error) {
    throw new ProjectError(
      `${shownPath(path)}: the ${description} cannot be loaded.${describeLoadError(error)}`,
    )
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readTextFile(path))
  } catch (error) {
    if (error instanceof TextEncodingError)
      throw new ProjectError(`${shownPath(path)}: the config file ${error.message}.`)
    throw new ProjectError(
      `${shownPath(path)}: the config file is not JSON: ${error instanceof Error ? error.message : error}`,
    )
  }
}

async function configFile(folder: string): Promise<SettingsSources['file']> {
  const paths = configNames.map(name => resolve(folder, name)).filter(path => existsSync(path))
  const [path, second] = paths
  if (path === undefined) return undefined
  if (second !== undefined) {
    throw new ProjectError(
      `There are two config files, ${shownPath(path)} and ${shownPath(second)}: keep one.`,
    )
  }
  if (path.endsWith('.json')) return { path: shownPath(path), values: readJson(path) }
  const { default: values } = await importFile(path, 'config file')
  return { path: shownPath(path), values }
}

/**
 * Reads the settings: those of the command line, then the environment, then the config file of the working folder. If they
 * name no model file, it is `model.ts` in that folder. `defaults` replace those of the table of settings.
 */
export async function loadSettings(
  commandLine: Readonly<Record<string, unknown>>,
  defaults?: SettingsSources['defaults'],
): Promise<Settings> {
  const file = await configFile(process.cwd())
  const settings = readSettings({ given: commandLine, environment: process.env, file, defaults })
  return settings.model === undefined && existsSync(defaultModel)
    ? { ...settings, model: defaultModel }
    : settings
}

function isDeclaration(value: unknown): value is Declaration {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'model'
}

export interface LoadedModel {
  /** Relative to the working folder, if the file is in it. */
  readonly path: string
  readonly model: Model
}

/** Checks the model; its faults name the file. */
function checkDeclaration(path: string, declaration: Declaration): Model {
  try {
    return checkModel(declaration)
  } catch (error) {
    if (error instanceof ModelError)
      throw new ProjectError(`${shownPath(path)}: ${describeModelError(path, error)}`)
    throw error
  }
}

/** Imports and checks the model file that the settings name. */
export async function loadModel({ model = '' }: Settings): Promise<LoadedModel> {
  const path = resolve(model)
  if (!existsSync(path)) throw new ProjectError(`${model}: there is no such model file.`)
  const { default: declaration } = await importFile(path, 'model file')
  if (isDeclaration(declaration)) return { path: shownPath(path), model: checkDeclaration(path, declaration) }
  throw new ProjectError(
    `${shownPath(path)}: the model file must have a default export made by \`model({ … })\`.`,
  )
}

/** The hash of the model file, without its imports. */
export function modelFingerprint({ model = '' }: Settings): string {
  return existsSync(model) ? hash('sha256', readFileSync(model), 'base64url') : ''
}
