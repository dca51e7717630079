/** `/docs/rest`: the OpenAPI document, rendered by Scalar without anything from other hosts. */

import { html } from '../../base/html.ts'
import { t } from '../../identity/mail/page-texts.ts'
import type { JsonSchema, JsonValue } from '../../model/fields/type.ts'
import { assetsPath, type Page, type Visitor } from '../pages/frame/layout.ts'

export const referencePath = '/docs/rest'
export const documentPath = '/docs/openapi.json'

export interface DocumentedOperation {
  readonly id: string
  readonly tag: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
}

const methods = ['get', 'post', 'put', 'patch', 'delete']

function members(value: unknown): [string, JsonSchema][] {
  return Object.entries((value ?? {}) as Record<string, JsonSchema>)
}

/** The operations of an OpenAPI document, in the document's order. */
export function operationsOf(document: JsonSchema): readonly DocumentedOperation[] {
  return members(document['paths']).flatMap(([path, item]) =>
    members(item)
      .filter(([method]) => methods.includes(method))
      .map(([method, operation]) => ({
        id: String(operation['operationId']),
        tag: String([operation['tags'] ?? []].flat()[0] ?? ''),
        method,
        path,
        summary: String(operation['summary'] ?? path),
        description: String(operation['description'] ?? ''),
      })),
  )
}

/** The example response of a GET request. */
export function exampleResponse(document: JsonSchema, path: string): JsonValue | undefined {
  const responseOrReference = memberAt(document, 'paths', path, 'get', 'responses', '200')
  const reference = memberAt(responseOrReference, '$ref')
  const name = typeof reference === 'string' ? (reference.split('/').at(-1) ?? '') : undefined
  const response =
    name === undefined ? responseOrReference : memberAt(document, 'components', 'responses', name)
  return memberAt(response, 'content', 'application/json', 'example')
}

function memberAt(value: JsonValue | undefined, ...keys: readonly string[]): JsonValue | undefined {
  return keys.reduce((member, key) => (member as JsonSchema | undefined)?.[key], value)
}

/** The address of an operation on the page. `assets/reference.js` configures the same names. */
export function operationHref({ tag, id }: Pick<DocumentedOperation, 'tag' | 'id'>): string {
  return `${referencePath}#tag/${encodeURIComponent(tag)}/${encodeURIComponent(id)}`
}

/** The address of a collection on the page. */
export function tagHref(tag: string): string {
  return `${referencePath}#tag/${encodeURIComponent(tag)}`
}

/** The page until its script runs, and the text for browsers without scripts. */
export function referencePage(visitor: Visitor): Page {
  const content = html`<div id="content" class="reference" lang="en"></div><noscript><main><h1>${t('REST API')}</h1><p>${t('This page needs JavaScript. The document itself is {link}; the guides need none.', { link: html`<a href="/api/v1/openapi.json">/api/v1/openapi.json</a>` })}</p></main></noscript>`
  return {
    title: t('REST API'),
    place: 'rest',
    layout: 'tool',
    content,
    visitor,
    styles: [`${assetsPath}reference.css`],
    scripts: [`${assetsPath}scalar.js`, `${assetsPath}reference.js`],
  }
}
