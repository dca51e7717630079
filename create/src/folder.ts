/** The folder of the project, and its name. */
import { readdirSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { Failure } from './failure.ts'

export interface Target {
  /** Absolute. */
  readonly path: string
  /** The folder's name, which is also the package's name. */
  readonly name: string
}

/** Entries that do not count: a new repository has the first, and a file manager creates the second. */
const ignored = ['.git', '.DS_Store']

/** npm refuses the first two; the others are packages that the project depends on. */
const taken = ['node_modules', 'favicon.ico', 'portico', 'typescript']

const maxNameLength = 214

/** Turns a name into a valid package name: `My App` → `my-app`. */
function suggestedName(name: string): string {
  const near = name
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|-+$/g, '')
    .slice(0, maxNameLength)
  return near === '' || taken.includes(near) ? 'my-app' : near
}

/** The fault of a name, as a sentence; undefined if npm accepts it. */
export function nameFault(name: string): string | undefined {
  const isValid = /^[a-z0-9][a-z0-9._-]*$/.test(name) && name.length <= maxNameLength
  if (isValid && !taken.includes(name)) return undefined
  const shown = JSON.stringify(name)
  if (isValid) return `A project cannot be called ${shown}: choose another name, for example my-app.`
  return (
    `A project cannot be called ${shown}: use lower-case letters, digits, \`-\`, \`_\` and \`.\`, ` +
    `beginning with a letter or digit, for example ${suggestedName(name)}.`
  )
}

/** Why the folder cannot hold a new project; undefined if it can. */
function folderFault(path: string, shown: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  if (!found.isDirectory()) return `${shown} is a file: name a folder that is empty or does not exist.`
  const inIt = readdirSync(path).filter(name => !ignored.includes(name))
  if (inIt.length === 0) return undefined
  return `The folder ${shown} is not empty: name one that is empty or does not exist.`
}

/** The reason why no project can be created in the folder; undefined if it can. */
export function targetFault(folder: string, from: string): string | undefined {
  if (folder.trim() === '') return 'Name a folder, for example my-app.'
  const { path, name } = targetOf(folder, from)
  try {
    return nameFault(name) ?? folderFault(path, folder)
  } catch (error) {
    return `${folder} cannot be read: ${error instanceof Error ? error.message : error}. Name another folder.`
  }
}

export function targetOf(folder: string, from: string): Target {
  const path = resolve(from, folder)
  return { path, name: basename(path) }
}

/** Throws a `Failure` if no project can be created there. */
export function checkedTarget(folder: string, from: string): Target {
  const fault = targetFault(folder, from)
  if (fault !== undefined) throw new Failure(fault)
  return targetOf(folder, from)
}
