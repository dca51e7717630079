/** Reads settings from the program's arguments, the environment and a file. */
import { isObject } from '../../base/json.ts'
import { readTextFile } from '../../base/text-file.ts'
import type { Setting } from './setting.ts'

/** Values of settings by name, not checked yet. */
type SettingValues = Readonly<Record<string, unknown>>
type Table = Readonly<Record<string, Setting<unknown>>>

/** Replaces groups by their members, under their full names: `graphql.documents`. */
function flattenGroups(table: Table, values: SettingValues): SettingValues {
  const groups = new Set(Object.keys(table).flatMap(name => name.split('.').slice(0, -1)))
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      if (groups.has(name) && value === undefined) return []
      if (!groups.has(name) || typeof value !== 'object' || value === null) return [[name, value]]
      return Object.entries(value).map(([member, memberValue]) => [`${name}.${member}`, memberValue])
    }),
  )
}

interface SettingsFault {
  /** The place of the value, e.g. `PORT (environment)`. */
  readonly place: string
  readonly message: string
}

/** Lists all faults of the settings. */
export class SettingsError extends Error {
  readonly faults: readonly SettingsFault[]

  constructor(faults: readonly SettingsFault[]) {
    super(
      ['The settings are wrong:', ...faults.map(fault => `  ${fault.place}: ${fault.message}`)].join('\n'),
    )
    this.name = 'SettingsError'
    this.faults = faults
  }
}

export interface SettingsSources {
  /** Values from the program or the command line, which take precedence. */
  readonly given?: SettingValues | undefined
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  readonly file?: { readonly path: string; readonly values: unknown } | undefined
  /** Values that replace the defaults of the table. */
  readonly defaults?: SettingValues | undefined
}

/** Reads every setting of a table from the first source that has it, or its default. Throws a `SettingsError`. */
export function readTable(table: Table, sources: SettingsSources): SettingValues {
  const faults: SettingsFault[] = []
  const file = fileValues(table, sources.file, faults)
  const given = flattenGroups(table, sources.given ?? {})
  if (file) faults.push(...unknownNames(table, file.values, file.path))
  faults.push(...unknownNames(table, given, 'settings'))
  const layers = { given, environment: sources.environment, file, defaults: sources.defaults ?? {} }
  const settings = Object.entries(table).map(([name, setting]) => [
    name,
    readSetting(name, setting, layers, faults),
  ])
  if (faults.length > 0) throw new SettingsError(faults)
  return Object.freeze(Object.fromEntries(settings))
}

interface FileValues {
  readonly path: string
  readonly values: SettingValues
}

/** The sources, with flattened groups. */
interface Layers {
  readonly given: SettingValues
  readonly environment: SettingsSources['environment']
  readonly file: FileValues | undefined
  readonly defaults: SettingValues
}

function fileValues(
  table: Table,
  file: SettingsSources['file'],
  faults: SettingsFault[],
): FileValues | undefined {
  if (!file) return undefined
  const { path, values } = file
  if (isObject(values)) return { path, values: flattenGroups(table, values) }
  faults.push({ place: path, message: 'must contain an object of settings, e.g. `{ "port": 8080 }`.' })
  return undefined
}

function unknownNames(table: Table, values: SettingValues, source: string): SettingsFault[] {
  return Object.keys(values)
    .filter(name => !Object.hasOwn(table, name))
    .map(name => ({
      place: `\`${name}\` (${source})`,
      message: `is not a setting. The settings are ${Object.keys(table).join(', ')}.`,
    }))
}

/** A value, its place, and the function that parses it. */
interface SourceValue {
  readonly place: string
  /** Shown to the operator if it is wrong; undefined if it may be a secret. */
  readonly value: unknown
  readonly parse: () => unknown
}

/** The setting's value is the text of the file that this variable names: `PORTICO_SECRET_KEY_FILE=/run/secrets/key`. */
export const fileVariable = (variable: string): string => `${variable}_FILE`

/** Throws a `RangeError` if the file cannot be read or is empty. A last line break does not count. */
function textOfFile(path: string): string {
  let text: string
  try {
    text = readTextFile(path).replace(/\r?\n$/, '')
  } catch (error) {
    throw new RangeError(
      `names a file that cannot be read: ${error instanceof Error ? error.message : error}`,
    )
  }
  if (text === '') throw new RangeError(`names an empty file: ${path}`)
  return text
}

function environmentValue(
  { kind, variable }: Setting<unknown>,
  environment: Layers['environment'],
): SourceValue | undefined {
  const text = environment?.[variable] || undefined
  const inFile = fileVariable(variable)
  const path = environment?.[inFile] || undefined
  if (path === undefined) {
    if (text === undefined) return undefined
    return { place: `${variable} (environment)`, value: text, parse: () => kind.fromText(text) }
  }
  const parse = () => {
    if (text !== undefined) throw new RangeError(`is set as well as ${variable}: keep one`)
    return kind.fromText(textOfFile(path))
  }
  return { place: `${inFile} (environment)`, value: undefined, parse }
}

/** The value in the first source that has the setting. */
function findValue(
  name: string,
  setting: Setting<unknown>,
  { given, environment, file }: Layers,
): SourceValue | undefined {
  const { kind } = setting
  const argument = given[name]
  if (argument !== undefined) {
    return { place: `\`${name}\` (settings)`, value: argument, parse: () => kind.fromValue(argument) }
  }
  const inEnvironment = environmentValue(setting, environment)
  if (inEnvironment !== undefined) return inEnvironment
  const fileValue = file?.values[name]
  if (fileValue === undefined) return undefined
  return { place: `\`${name}\` (${file?.path})`, value: fileValue, parse: () => kind.fromValue(fileValue) }
}

function readSetting(
  name: string,
  setting: Setting<unknown>,
  layers: Layers,
  faults: SettingsFault[],
): unknown {
  const sourceValue = findValue(name, setting, layers)
  if (sourceValue) return parseValue(setting, sourceValue, faults)
  const value = layers.defaults[name] ?? setting.default
  return value === undefined ? undefined : setting.kind.fromValue(value)
}

/** Adds a fault and returns undefined if the value is invalid. */
function parseValue(
  setting: Setting<unknown>,
  { place, value, parse }: SourceValue,
  faults: SettingsFault[],
): unknown {
  try {
    const parsed = parse()
    if (parsed !== undefined) return parsed
    const actual =
      setting.secret || value === undefined
        ? ''
        : ` It is ${withoutPassword(JSON.stringify(value))?.slice(0, 100)}.`
    faults.push({ place, message: `must be ${setting.kind.expected}.${actual}` })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    faults.push({ place, message: `${error.message}.` })
  }
  return undefined
}

/** Hides the password of a URL that was given to the wrong setting. */
function withoutPassword(text: string | undefined): string | undefined {
  return text?.replace(/(:\/\/[^/@:]*):.*@/, '$1:…@')
}
