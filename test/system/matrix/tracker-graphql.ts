/** GraphQL documents for the tracker, generated from its schema. */
import assert from 'node:assert/strict'
import { operations, type Service } from './tracker.ts'

interface TypeRef {
  readonly kind: string
  readonly name: string | null
  readonly ofType?: TypeRef | null
}

interface SchemaField {
  readonly name: string
  readonly type: TypeRef
  readonly args: readonly {
    readonly name: string
    readonly type: TypeRef
    readonly defaultValue: string | null
  }[]
}

const schemaQuery = `{ __schema { queryType { fields { ...f } } mutationType { fields { ...f } } types { name fields { ...f } } } }
  fragment f on __Field { name type { ...t } args { name defaultValue type { ...t } } }
  fragment t on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`

/** A query of each field of `Query` without arguments, with all leaf fields and the ids of relations. */
export async function graphqlQueries(service: Service, as: number): Promise<readonly string[]> {
  const { body } = await service.request('POST /graphql', { as, body: { query: schemaQuery } })
  const { queryType, types } = body.data.__schema
  const fieldsOf = new Map<string, readonly SchemaField[]>(
    types.map(({ name, fields }: { name: string; fields: readonly SchemaField[] | null }) => [
      name,
      fields ?? [],
    ]),
  )
  const open = (fields: readonly SchemaField[]) =>
    fields.filter(({ args }) =>
      args.every(({ type, defaultValue }) => type.kind !== 'NON_NULL' || defaultValue !== null),
    )
  const selection = ({ name, type }: SchemaField, depth: number): readonly string[] => {
    const inner = fieldsOf.get(namedType(type)) ?? []
    if (inner.length === 0) return [name]
    const below = open(inner).flatMap(field => (depth > 0 ? selection(field, depth - 1) : []))
    return below.length === 0 ? [] : [`${name} { ${below.join(' ')} }`]
  }
  const queries = open(queryType.fields).flatMap(field => selection(field, 2).map(text => `{ ${text} }`))
  assert.ok(queries.length > 10)
  return queries
}

/** Mutations of one item; the caller inserts the id. */
export async function graphqlMutations(service: Service, as: number): Promise<readonly string[]> {
  const { body } = await service.request('POST /graphql', { as, body: { query: schemaQuery } })
  const fields: readonly SchemaField[] = body.data.__schema.mutationType.fields
  const about = /^(update|delete)(Organization|Membership|Invitation|Project|Label|Task|TaskLabel|Comment)$/
  const names = new Set(operations.map(({ name }) => name))
  return fields
    .filter(({ name, args }) => (about.test(name) || names.has(name)) && args.some(arg => arg.name === 'id'))
    .map(({ name, type }) => {
      const leaf = /^(Boolean|ID|Int|String)$/.test(namedType(type))
      return `mutation { ${name}(id: ID_HERE) ${leaf ? '' : '{ id }'} }`
    })
}

function namedType({ name, ofType }: TypeRef): string {
  return ofType ? namedType(ofType) : (name ?? '')
}
