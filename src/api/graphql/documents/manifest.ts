/** The file of registered documents: a JSON object of documents by their SHA-256. */

import { existsSync, writeFileSync } from 'node:fs'
import { isObject } from '../../../base/json.ts'
import { readTextFile, TextEncodingError } from '../../../base/text-file.ts'
import { documentHash } from './stored-documents.ts'

export type Manifest = ReadonlyMap<string, string>

type ManifestEntries = readonly (readonly [id: string, text: string])[]

/** Apollo's manifest lists operations; Relay's and ours are an object of texts by hash. */
function entriesOf(value: unknown): ManifestEntries | undefined {
  if (!isObject(value)) return undefined
  if (!Array.isArray(value.operations)) return checkedEntries(Object.entries(value))
  return checkedEntries(
    value.operations.map(operation => (isObject(operation) ? [operation.id, operation.body] : [])),
  )
}

function checkedEntries(entries: readonly (readonly unknown[])[]): ManifestEntries | undefined {
  const areStrings = entries.every(([id, text]) => typeof id === 'string' && typeof text === 'string')
  return areStrings ? entries.map(([id, text]) => [String(id), String(text)] as const) : undefined
}

/** Throws an `Error` whose message says what is wrong with the text. */
export function parseManifest(text: string): Manifest {
  const entries = entriesOf(parseJson(text))
  if (!entries)
    throw new Error('it must be a JSON object of documents by their SHA-256, or an Apollo manifest')
  for (const [id, document] of entries) {
    if (id.replace(/^sha256:/, '') !== documentHash(document)) {
      throw new Error(`"${id.slice(0, 80)}" is not the SHA-256 of its document`)
    }
  }
  return new Map(entries.map(([, document]) => [documentHash(document), document]))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`it is not JSON: ${error instanceof Error ? error.message : error}`)
  }
}

/** The registered documents; none where there is no file. Throws an `Error` that names the file. */
export function readManifest(file: string): Manifest {
  if (!existsSync(file)) return new Map()
  try {
    return parseManifest(readTextFile(file))
  } catch (error) {
    if (error instanceof TextEncodingError) throw new Error(`${file} ${error.message}.`)
    throw new Error(`${file}: ${error instanceof Error ? error.message : error}.`)
  }
}

/** Sorted by hash, so that diffs stay small. */
export function writeManifest(file: string, manifest: Manifest): void {
  const sorted = [...manifest].sort(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}
