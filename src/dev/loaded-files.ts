/** Which files of the project a process loads as modules, and which it looks for in vain. */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { envFile } from '../env-file.ts'
import { configNames } from '../project.ts'
import { isOwnSource } from '../source/error-place.ts'
import type { FileHashes } from './messages.ts'

/** Null where there is no such file. */
export function fileHash(path: string): string | null {
  try {
    return hash('sha256', readFileSync(path), 'base64')
  } catch {
    return null
  }
}

function pathOf(url: string): string | undefined {
  if (!url.startsWith('file:')) return undefined
  const path = fileURLToPath(url.replace(/[?#].*$/, ''))
  return isOwnSource(path) ? path : undefined
}

/** The file that an import names in vain. */
function missingFile(specifier: string, parent: string | undefined, error: unknown): string | undefined {
  if (error instanceof Error && 'url' in error && typeof error.url === 'string') return pathOf(error.url)
  const isRelative = /^\.{0,2}\//.test(specifier)
  return isRelative && parent !== undefined ? pathOf(new URL(specifier, parent).href) : undefined
}

/** Notes every file from now on. `onFile` is called with each file once. */
export function recordFiles(onFile: (path: string, hash: string | null) => void): void {
  const seen = new Set<string>()
  const note = (path: string | undefined) => {
    if (path === undefined || seen.has(path)) return
    seen.add(path)
    onFile(path, fileHash(path))
  }
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (error) {
        note(missingFile(specifier, context.parentURL, error))
        throw error
      }
    },
    load(url, context, next) {
      // Before it is read: a later change makes another hash.
      note(pathOf(url))
      return next(url, context)
    },
  })
}

export function hashesOf(paths: readonly string[]): FileHashes {
  return paths.map(path => [path, fileHash(path)])
}

/** What every project may have: settings, variables, and what a package manager writes when it has installed. */
export function projectFiles(folder: string): readonly string[] {
  const installed = ['.package-lock.json', '.modules.yaml', '.yarn-state.yml']
  return [
    ...[...configNames, envFile, 'package.json'].map(name => join(folder, name)),
    ...installed.map(name => join(folder, 'node_modules', name)),
  ]
}
