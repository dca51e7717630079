/** `portico documents`: manages the GraphQL documents that a service with `graphql.documents: 'registered'` accepts. */

import {
  type Manifest,
  parseManifest,
  readManifest,
  writeManifest,
} from '../../../api/graphql/documents/manifest.ts'
import { documentHash } from '../../../api/graphql/documents/stored-documents.ts'
import type { Engine } from '../../../api/graphql/engine.ts'
import { readTextFile, TextEncodingError } from '../../../base/text-file.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { Model } from '../../../model/model.ts'
import type { Settings } from '../../../server/config/config.ts'
import { documentLimits } from '../../../server/config/document-limits.ts'
import { counted } from '../counted.ts'
import { Failure } from '../failure.ts'
import { model, projectOf, settingsOf } from '../options.ts'
import type { Command } from './commands.ts'

function unused(): never {
  throw new Error('documents are checked, not executed')
}

const noRun: Run = {
  item: unused,
  list: unused,
  aggregate: unused,
  composite: unused,
  refusals: unused,
  write: unused,
  transaction: unused,
}

async function engineOf(model: Model, settings: Settings): Promise<Engine> {
  const { createEngine } = await import('../../../api/graphql/execute/create-engine.ts')
  return createEngine({ model, run: noRun, hooks: new Map(), limits: documentLimits(settings) })
}

function textOf(file: string): string {
  try {
    return readTextFile(file)
  } catch (error) {
    if (error instanceof TextEncodingError) throw new Failure(`${file} ${error.message}.`)
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new Failure(`There is no file ${file}.`)
    if (code === 'EISDIR')
      throw new Failure(`${file} is a folder: name the files in it, e.g. ${file}/*.graphql.`)
    throw new Failure(`Cannot read ${file}: ${message}.`)
  }
}

/** Reads a manifest of documents, or a file with one document, which is trimmed. */
function readDocuments(file: string): Manifest {
  const text = textOf(file).trim()
  if (!file.endsWith('.json')) return new Map([[documentHash(text), text]])
  try {
    return parseManifest(text)
  } catch (error) {
    throw new Failure(`${file}: ${error instanceof Error ? error.message : error}.`)
  }
}

async function faultsOf(engine: Engine, text: string): Promise<readonly string[]> {
  try {
    const { operationNames } = await import('../../../api/graphql/documents/operation-names.ts')
    const names = operationNames(text)
    if (names.length === 0) return ['The document contains no operation.']
    const prepared = names.map(name => engine.prepare(text, name))
    const messages = prepared.flatMap(operation =>
      operation.outcome === 'request error' ? operation.errors.map(error => error.message) : [],
    )
    return [...new Set(messages)]
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

/** Registers the documents of files. Each must be valid for the model and within the limits. */
export async function registerDocuments(
  model: Model,
  settings: Settings,
  files: readonly string[],
): Promise<string> {
  const engine = await engineOf(model, settings)
  const registered = new Map(readRegistered(settings))
  const { size } = registered
  const faults: string[] = []
  for (const file of files) {
    for (const [id, text] of readDocuments(file)) {
      for (const message of await faultsOf(engine, text))
        faults.push(`  ${file}, ${id.slice(0, 8)}…: ${message}`)
      registered.set(id, text)
    }
  }
  if (faults.length > 0) throw new Failure(['Nothing was registered:', ...faults].join('\n'))
  const target = settings['graphql.documents'].file
  writeRegistered(target, registered)
  return `${counted(registered.size - size, 'document')} added; ${target} now has ${registered.size}. A running service reads it at its next start.\n`
}

function readRegistered(settings: Settings): Manifest {
  try {
    return readManifest(settings['graphql.documents'].file)
  } catch (error) {
    throw new Failure(error instanceof Error ? error.message : String(error))
  }
}

function writeRegistered(file: string, registered: Manifest): void {
  try {
    writeManifest(file, registered)
  } catch (error) {
    throw new Failure(`Cannot write to ${file}: ${error instanceof Error ? error.message : error}.`)
  }
}

export async function listDocuments(settings: Settings): Promise<string> {
  const registered = readRegistered(settings)
  if (registered.size === 0) return 'No documents are registered.\n'
  const { operationNames } = await import('../../../api/graphql/documents/operation-names.ts')
  const namesIn = (text: string) => operationNames(text).map(name => name ?? '(unnamed)')
  return [...registered].map(([id, text]) => `sha256:${id}  ${namesIn(text).join(' ')}\n`).join('')
}

export const register: Command = {
  arguments: ['file…'],
  options: { model },
  async run(args) {
    const project = await projectOf(args)
    return registerDocuments(project.model, project.settings, args.arguments)
  },
}

export const list: Command = {
  options: {},
  run: async args => listDocuments(await settingsOf(args)),
}
