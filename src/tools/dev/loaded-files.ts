/** Records which files of the project a process loads as modules, and which missing files it imports. */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { envFile } from '../../base/env-file.ts'
import { configNames } from '../../server/project/project.ts'
import { isOwnSource } from '../../server/project/source/error-place.ts'
import type { FileHashes, ModuleTexts } from './messages.ts'

/** Returns null for a file that cannot be read. */
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

/** The missing file that an import names. */
function missingFile(specifier: string, parent: string | undefined, error: unknown): string | undefined {
  if (error instanceof Error && 'url' in error && typeof error.url === 'string') return pathOf(error.url)
  const isRelative = /^\.{0,2}\//.test(specifier)
  return isRelative && parent !== undefined ? pathOf(new URL(specifier, parent).href) : undefined
}

/** Calls `onFile` once with each file that is loaded from now on, or that is missing. */
export function recordFiles(onFile: (path: string, hash: string | null) => void): void {
  const seen = new Set<string>()
  const record = (path: string | undefined) => {
    if (path === undefined || seen.has(path)) return
    seen.add(path)
    onFile(path, fileHash(path))
  }
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (error) {
        record(missingFile(specifier, context.parentURL, error))
        throw error
      }
    },
    load(url, context, next) {
      // The file is hashed before it is loaded, so a later change gives another hash.
      record(pathOf(url))
      return next(url, context)
    },
  })
}

const isModule = /\.(?:[cm]?[jt]s|json)$/

/** Reads the modules among these files. Returns undefined if one of them no longer has its hash. */
export function sourcesOf(files: FileHashes): ModuleTexts | undefined {
  const sources: (readonly [string, string])[] = []
  for (const [path, recordedHash] of files) {
    if (recordedHash === null || !isModule.test(path)) continue
    if (fileHash(path) !== recordedHash) return undefined
    sources.push([path, readFileSync(path, 'utf8')])
  }
  return sources
}

/** Loads these modules with the given texts, even if their files have changed or are missing. */
export function loadSources(sources: ModuleTexts): void {
  const texts = new Map(sources)
  const textOf = (url: string) => texts.get(pathOf(url) ?? '')
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (error) {
        const path = missingFile(specifier, context.parentURL, error)
        if (path === undefined || !texts.has(path)) throw error
        return { url: pathToFileURL(path).href, shortCircuit: true }
      }
    },
    load(url, context, next) {
      const source = textOf(url)
      if (source === undefined) return next(url, context)
      const format = context.format ?? (/ts$/.test(url) ? 'module-typescript' : 'module')
      return { format, source, shortCircuit: true }
    },
  })
}

export function hashesOf(paths: readonly string[]): FileHashes {
  return paths.map(path => [path, fileHash(path)])
}

/** Files that any project may have: settings, variables, and the records that package managers write when they install. */
export function projectFiles(folder: string): readonly string[] {
  const installationRecords = ['.package-lock.json', '.modules.yaml', '.yarn-state.yml']
  return [
    ...[...configNames, envFile, 'package.json'].map(name => join(folder, name)),
    ...installationRecords.map(name => join(folder, 'node_modules', name)),
  ]
}
