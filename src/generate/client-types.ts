/** The TypeScript file that types `createClient` of `portico/client`, from an OpenAPI document of Portico. */
import {
  type CollectionDescription,
  describeApi,
  type Emitted,
  type Operation,
  referenceOf,
} from './description.ts'
import type { JsonObject } from './json.ts'
import { type ItemSchema, SchemaTypes } from './schema-types.ts'
import { docComment, lineComment, propertyName, quoted } from './text.ts'

/** What the file is made from, and how. */
export interface Origin {
  /** Where the document is from, as the command names it: `--from https://api.example.com`. */
  readonly source: string
  /** The version of Portico that writes the file. */
  readonly version: string
  /** What the file imports the client from; the package if left out. */
  readonly runtime?: string
}

/** Names that the file uses itself. */
const taken = ['Api', 'ApiTypes', 'ClientOptions']

/**
 * The text of the file. The same document gives the same text but for the line that names its origin: no time is in it.
 * Every text of the document may be hostile: names are quoted or renamed, comments cannot end early.
 */
export function clientTypes(document: JsonObject, origin: Origin): string {
  const api = describeApi(document)
  const types = new SchemaTypes(document, taken, itemSchemas(api.collections))
  const collections = api.collections.map(collection => collectionText(types, collection))
  const actions = operationsText(types, api.actions, '  ')
  const queries = operationsText(types, api.queries, '  ')
  return [
    header(origin),
    `import { type ClientOptions, createClient } from ${quoted(origin.runtime ?? 'portico/client')}\n`,
    types.declarations,
    `/** What the service offers: the types of \`createClient<Api>\`. */\nexport interface Api {\n  readonly collections: {\n${collections.join('')}  }\n  readonly actions: ${actions}\n  readonly queries: ${queries}\n}\n`,
    '/** A client of the service: `const api = createApi({ baseUrl, token })`. */\nexport const createApi = (options: ClientOptions = {}) => createClient<Api>(options)\n',
  ].join('\n')
}

function header({ source, version }: Origin): string {
  return (
    lineComment(`Written by Portico ${version}. Do not edit it: the command writes it anew.`) +
    lineComment(`portico generate client ${source}`.trimEnd())
  )
}

function itemSchemas(collections: readonly CollectionDescription[]): ReadonlyMap<string, ItemSchema> {
  return new Map(
    collections.flatMap(({ item, description, computed, relations }): [string, ItemSchema][] => {
      const name = referenceOf(item)
      const onRequest = new Set([...computed, ...relations.map(relation => relation.name)])
      return name === undefined ? [] : [[name, { description, onRequest }]]
    }),
  )
}

/** `readonly` members, each on a line. */
function members(all: Readonly<Record<string, string>>, indent: string): string {
  return Object.entries(all)
    .map(([name, text]) => `${indent}readonly ${propertyName(name)}: ${text}\n`)
    .join('')
}

function collectionText(types: SchemaTypes, collection: CollectionDescription): string {
  const { name, singular, description, item, create, update, computed, revealed, relations } = collection
  const to = (isMany: boolean) => relations.filter(relation => relation.isMany === isMany)
  const text = members(
    {
      singular: quoted(singular),
      item: types.type(item, name),
      computed: types.part(item, computed, '      '),
      ...(revealed && { revealed: types.inline(revealed, '      ') }),
      create: create ? types.type(create, `${name}_create`) : 'never',
      update: update ? types.type(update, `${name}_update`) : 'never',
      one: relationsText(to(false)),
      many: relationsText(to(true)),
      actions: operationsText(types, collection.actions, '      '),
      emits: emitsText(types, collection.emits),
    },
    '      ',
  )
  const tags = collection.isDeprecated ? ['@deprecated'] : []
  return `${docComment(description, tags, '    ')}    readonly ${propertyName(name)}: {\n${text}    }\n`
}

function relationsText(relations: CollectionDescription['relations']): string {
  if (relations.length === 0) return '{}'
  const lines = relations.map(
    ({ name, target }) => `        readonly ${propertyName(name)}: ${quoted(target)}\n`,
  )
  return `{\n${lines.join('')}      }`
}

function emitsText(types: SchemaTypes, emits: Emitted): string {
  if (emits.size === 0) return '{}'
  const texts = [...emits].map(([type, schema]) => [type, types.inline(schema, '        ')])
  return `{\n${members(Object.fromEntries(texts), '        ')}      }`
}

function operationsText(types: SchemaTypes, operations: readonly Operation[], indent: string): string {
  if (operations.length === 0) return '{}'
  const lines = operations.map(({ name, description, target, input, output }) => {
    const inputText = input ? types.type(input, `${name}_input`) : '{}'
    const outputText = output ? types.type(output, `${name}_output`) : 'void'
    const comment = docComment(description, [], `${indent}  `)
    return `${comment}${indent}  readonly ${propertyName(name)}: { target: ${quoted(target)}; input: ${inputText}; output: ${outputText} }\n`
  })
  return `{\n${lines.join('')}${indent}}`
}
