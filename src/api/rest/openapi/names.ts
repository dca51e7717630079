/** The names of schemas and operations in the OpenAPI document: unique, whatever a model's collections are called. */
import { camelCase, pascalCase, singularOf } from '../../../model/check/names.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Collection, Field, Model } from '../../../model/model.ts'
import { answerSchemaOf, type BodyMode } from '../../../model/schemas.ts'
import { Components, type Reference, schemaReference, uniqueName } from './components.ts'
import { openapiSchemaWithEnumerations } from './values.ts'

const spellings: ReadonlyMap<string, string> = new Map([
  ['api', 'API'],
  ['oauth', 'OAuth'],
])

/** A name of the model as titles write it: `task_labels` → `task labels`. */
export function words(name: string): string {
  return name
    .split('_')
    .map(word => spellings.get(word) ?? word)
    .join(' ')
}

export type SchemaKind =
  | 'item'
  | 'list'
  | 'created'
  | BodyMode
  | 'createdEvent'
  | 'updatedEvent'
  | 'deletedEvent'

/** In order of precedence: if an item and a list would have the same name, the item gets it. */
const endings: Readonly<Record<SchemaKind, string>> = {
  item: '',
  list: 'List',
  created: 'Created',
  create: 'Create',
  replace: 'Replace',
  merge: 'Update',
  createdEvent: 'CreatedEvent',
  updatedEvent: 'UpdatedEvent',
  deletedEvent: 'DeletedEvent',
}

/** The document under construction: its model, the names in use, and the components created on demand. */
export interface Document {
  readonly model: Model
  /** A reference to one of a collection's schemas, e.g. to `PostCreate`. */
  schema(collection: Collection, kind: SchemaKind): Reference
  schemaName(collection: Collection, kind: SchemaKind): string
  /** The schema of a field's values, in which each enumeration is a reference, e.g. to `TaskState`. */
  valueSchema(collection: Collection, field: Field): JsonSchema
  /** The same of a value in an answer. */
  answerSchema(collection: Collection, field: Field): JsonSchema
  readonly schemas: Components
  readonly parameters: Components
  readonly responses: Components
  /** A unique operation id: `preferredName` in camel case, with a number appended if it is taken. */
  operationId(preferredName: string): string
}

/** `fooBar baz` → `FooBarBaz`. */
function wordsOf(path: readonly string[]): string {
  const words = path.flatMap(name => (name === 'items' ? 'item' : name).match(/[A-Za-z0-9]+/g) ?? [])
  return words.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/** The enumeration of an array's items, e.g. of `scopes`, has a name in the singular: `ApiKeyScope`. */
function enumerationName(singular: string, field: string, path: readonly string[]): string {
  const item = path.at(-1) === 'items' ? singularOf(field) : undefined
  return item === undefined
    ? pascalCase(`${singular}_${field}`) + wordsOf(path)
    : pascalCase(`${singular}_${item}`) + wordsOf(path.slice(0, -1))
}

function createValueSchemas(schemas: Components, schemaOf: (field: Field) => JsonSchema) {
  const schemasByField = new Map<Field, JsonSchema>()
  return ({ singular }: Collection, field: Field): JsonSchema => {
    const cached = schemasByField.get(field)
    if (cached) return cached
    const schema = openapiSchemaWithEnumerations(schemaOf(field), (enumeration, path) => {
      // Two array fields of a collection can list the same values, e.g. `scopes` and `default_scopes` of an app.
      const isItem = path.at(-1) === 'items'
      const key = isItem ? `${singular} ${JSON.stringify(enumeration)}` : enumeration
      return schemas.refer(key, enumerationName(singular, field.name, path), () => enumeration)
    })
    schemasByField.set(field, schema)
    return schema
  }
}

/** `fixed`: the names of components that belong to no collection. */
export function createDocument(model: Model, fixed: Iterable<string>): Document {
  const collections = [...model.collections.values()]
  const names = new Map<string, string>()
  const taken = new Set(fixed)
  const operations = new Set<string>()
  for (const [kind, ending] of Object.entries(endings)) {
    for (const { name, singular } of collections) {
      names.set(`${kind} ${name}`, uniqueName(taken, pascalCase(singular) + ending))
    }
  }
  const schemaName = ({ name }: Collection, kind: SchemaKind) => names.get(`${kind} ${name}`) ?? ''
  const schemas = new Components('schemas', taken)
  const valueSchema = createValueSchemas(schemas, ({ type }) => type.schema)
  const answerSchema = createValueSchemas(schemas, answerSchemaOf)
  return {
    model,
    schemaName,
    schema: (collection, kind) => schemaReference(schemaName(collection, kind)),
    valueSchema,
    answerSchema: (collection, field) =>
      (field.type.answerSchema === undefined ? valueSchema : answerSchema)(collection, field),
    schemas,
    parameters: new Components('parameters', taken),
    responses: new Components('responses', taken),
    operationId: preferredName => uniqueName(operations, camelCase(preferredName)),
  }
}
