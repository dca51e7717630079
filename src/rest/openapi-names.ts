/** The names that the OpenAPI document gives: each only once, whatever a model's collections are called. */
import { pascalCase } from '../model/check/names.ts'
import type { Collection, Model } from '../model/model.ts'
import type { BodyMode } from '../model/schemas.ts'

export type SchemaKind = 'item' | 'list' | 'created' | BodyMode

/** In the order in which they are given out: an item keeps its name where a list would have it too. */
const endings: Readonly<Record<SchemaKind, string>> = {
  item: '',
  list: 'List',
  created: 'Created',
  create: 'Create',
  replace: 'Replace',
  merge: 'Merge',
}

/** What is written into a document: its model, and the names in it. */
export interface Document {
  readonly model: Model
  /** A reference to one of a collection's schemas, e.g. to `PostCreate`. */
  schema(collection: Collection, kind: SchemaKind): { readonly $ref: string }
  schemaName(collection: Collection, kind: SchemaKind): string
  /** An operation's id, as it is wished for where that is free. */
  operationId(wished: string): string
}

function given(taken: Set<string>, wished: string): string {
  let name = wished
  for (let count = 2; taken.has(name); count += 1) name = `${wished}_${count}`
  taken.add(name)
  return name
}

/** `taken`: the names of schemas that belong to no collection. */
export function createDocument(model: Model, taken: Iterable<string>): Document {
  const collections = [...model.collections.values()]
  const names = new Map<string, string>()
  const schemas = new Set(taken)
  const operations = new Set<string>()
  for (const [kind, ending] of Object.entries(endings)) {
    for (const { name, singular } of collections) {
      names.set(`${kind} ${name}`, given(schemas, pascalCase(singular) + ending))
    }
  }
  const schemaName = ({ name }: Collection, kind: SchemaKind) => names.get(`${kind} ${name}`) ?? ''
  return {
    model,
    schemaName,
    schema: (collection, kind) => ({ $ref: `#/components/schemas/${schemaName(collection, kind)}` }),
    operationId: wished => given(operations, wished),
  }
}
