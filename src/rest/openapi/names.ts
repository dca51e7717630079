/** The names of schemas and operations in the OpenAPI document: unique, whatever a model's collections are called. */
import { pascalCase } from '../../model/check/names.ts'
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Collection, Field, Model } from '../../model/model.ts'
import type { BodyMode } from '../../model/schemas.ts'
import { shownWithNames } from './values.ts'

export type SchemaKind =
  | 'item'
  | 'list'
  | 'created'
  | BodyMode
  | 'createdEvent'
  | 'updatedEvent'
  | 'deletedEvent'
  | 'ownEvent'

/** In the order of precedence: where an item and a list would have the same name, the item gets it. */
const endings: Readonly<Record<SchemaKind, string>> = {
  item: '',
  list: 'List',
  created: 'Created',
  create: 'Create',
  replace: 'Replace',
  merge: 'Merge',
  createdEvent: 'CreatedEvent',
  updatedEvent: 'UpdatedEvent',
  deletedEvent: 'DeletedEvent',
  ownEvent: 'OwnEvent',
}

/** The document that is being written: its model, and the names that it has given. */
export interface Document {
  readonly model: Model
  /** A reference to one of a collection's schemas, e.g. to `PostCreate`. */
  schema(collection: Collection, kind: SchemaKind): { readonly $ref: string }
  schemaName(collection: Collection, kind: SchemaKind): string
  /** The schema of a field's values, in which each enumeration is a reference, e.g. to `TaskState`. */
  valueSchema(collection: Collection, field: Field): JsonSchema
  /** The enumerations that `valueSchema` has named so far. */
  readonly enumerations: ReadonlyMap<string, JsonSchema>
  /** A unique operation id: `wished`, or that with a number. */
  operationId(wished: string): string
}

function given(taken: Set<string>, wished: string): string {
  let name = wished
  for (let count = 2; taken.has(name); count += 1) name = `${wished}_${count}`
  taken.add(name)
  return name
}

function reference(name: string): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}` }
}

/** `fooBar baz` → `FooBarBaz`. */
function wordsOf(path: readonly string[]): string {
  const words = path.flatMap(name => (name === 'items' ? 'item' : name).match(/[A-Za-z0-9]+/g) ?? [])
  return words.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

function createValueSchemas(schemas: Set<string>) {
  const enumerations = new Map<string, JsonSchema>()
  const known = new Map<Field, JsonSchema>()
  const valueSchema = ({ singular }: Collection, field: Field): JsonSchema => {
    const found = known.get(field)
    if (found) return found
    const made = shownWithNames(field.type.schema, (enumeration, path) => {
      const name = given(schemas, pascalCase(`${singular}_${field.name}`) + wordsOf(path))
      enumerations.set(name, enumeration)
      return reference(name)
    })
    known.set(field, made)
    return made
  }
  return { enumerations, valueSchema }
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
    schema: (collection, kind) => reference(schemaName(collection, kind)),
    ...createValueSchemas(schemas),
    operationId: wished => given(operations, wished),
  }
}
