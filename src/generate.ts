/** One way from a model or an address to the types of its client: model → OpenAPI → types. */
import { readFileSync } from 'node:fs'
import { clientTypes } from './generate/client-types.ts'
import { fetchDocument } from './generate/fetch-document.ts'
import type { JsonObject } from './generate/json.ts'
import type { Model } from './model/model.ts'
import { openapi } from './rest/openapi/document.ts'

function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

/** The file of types for a checked model; `path`: its file, as the command names it. */
export function clientTypesOfModel(model: Model, path: string): string {
  // As a service sends it: without what JSON leaves out.
  const document = JSON.parse(JSON.stringify(openapi(model, undefined))) as JsonObject
  return clientTypes(document, { source: `--model ${path}`, version: version() })
}

/** The file of types for a running service. Rejects with a `DocumentError`. */
export async function clientTypesOfService(
  from: string,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const document = await fetchDocument(from, headers)
  // A query could hold a credential.
  const { origin, pathname } = new URL(from)
  const source = `--from ${origin}${pathname === '/' ? '' : pathname}`
  return clientTypes(document, { source, version: version() })
}
