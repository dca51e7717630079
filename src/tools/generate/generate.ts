/** Generates the types of the client from a model or an address: model → OpenAPI → types. */
import { readFileSync } from 'node:fs'
import { openapi } from '../../api/rest/openapi/document.ts'
import type { UncheckedObject } from '../../base/json.ts'
import { packageFolder } from '../../base/package-files.ts'
import type { Model } from '../../model/model.ts'
import { clientTypes, type Origin } from './client-types.ts'
import { fetchDocument } from './fetch-document.ts'
import { standaloneFolder } from './standalone.ts'

export { standaloneFiles, standaloneFolder } from './standalone.ts'

export interface GenerateOptions {
  /** True: the file imports the client from `standaloneFolder` next to it, not from the package. */
  readonly standalone?: boolean
}

function originOf(source: string, { standalone = false }: GenerateOptions): Origin {
  const { version } = JSON.parse(readFileSync(new URL('package.json', packageFolder), 'utf8'))
  if (!standalone) return { source, version }
  return { source: `${source} --standalone`, version, runtime: `./${standaloneFolder}/client.js` }
}

/** The file of types for a checked model. `path`: the model's file, as it was given to the command. */
export function clientTypesOfModel(model: Model, path: string, options: GenerateOptions = {}): string {
  // A service sends JSON, in which no member is undefined.
  const document = JSON.parse(JSON.stringify(openapi(model, undefined))) as UncheckedObject
  return clientTypes(document, originOf(`--model ${path}`, options))
}

/**
 * The file of types for a running service. `from`: the address of the service or of its document. Rejects with a
 * `DocumentError`.
 */
export async function clientTypesOfService(
  from: string,
  headers: Readonly<Record<string, string>>,
  options: GenerateOptions = {},
): Promise<string> {
  const document = await fetchDocument(from, headers)
  return clientTypes(document, originOf(`--from ${withoutQuery(from)}`, options))
}

/** The address without its query, which could contain a credential. */
function withoutQuery(from: string): string {
  const { origin, pathname } = new URL(from)
  return origin + pathname.replace(/\/$/, '')
}
