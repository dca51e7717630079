/** Checks GraphQL: queries against graphql-js with a naive resolver, mutations against the reference. */
import assert from 'node:assert/strict'
import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isRequiredArgument,
} from 'graphql'
import { createEngine } from '../../../src/api/graphql/execute/create-engine.ts'
import type { Plan, WriteShape } from '../../../src/engine/plan/plan.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Collection } from '../../../src/model/model.ts'
import { naiveReply } from '../../api/graphql/naive.ts'
import { sampled } from '../../cases.ts'
import { type Data, writeReference } from '../../engine/plan/reference.ts'
import { type Context, equalData, model } from './context.ts'
import type { Credential } from './credentials.ts'
import { opaque, operations, type PlannedRequest, requestsOf } from './operations.ts'
import { type MatrixRun, parents, undo } from './rest.ts'

interface GraphqlRun extends MatrixRun {
  readonly schema: GraphQLSchema
}

const noRun = new Proxy(
  {},
  { get: () => assert.fail('the schema is built without reading data') },
) as Context['run']

/** The schema that the service has. */
export function schemaOf(): GraphQLSchema {
  return createEngine({ model, run: noRun, hooks: new Map() }).schema
}

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

function typeOf(field: GraphQLField<unknown, unknown>): GraphQLObjectType {
  const type = getNamedType(field.type)
  assert.ok('getFields' in type && !isInputObjectType(type))
  return type as GraphQLObjectType
}

/** A stored value in the form of a GraphQL argument. */
function asArgument(collection: Collection, name: string, value: JsonValue): unknown {
  const type = collection.fields.get(name)?.type
  if (value === null) return null
  if (type?.graphql.type === 'ID') return String(value)
  return type?.name === 'choice' ? String(value).toUpperCase() : value
}

export interface Document {
  readonly source: string
  readonly variables: Readonly<Record<string, unknown>>
}

const plain = (source: string): Document => ({ source, variables: {} })

function argumentType(field: GraphQLField<unknown, unknown>, name: string): string {
  const argument = field.args.find(arg => arg.name === name)
  assert.ok(argument, `${field.name}(${name})`)
  return String(argument.type)
}

function filters(collection: Collection, list: GraphQLField<unknown, unknown>, data: Data): Document[] {
  const argument = list.args.find(({ name }) => name === 'filter')
  const input = argument && getNamedType(argument.type)
  if (!isInputObjectType(input)) return []
  return [...collection.fields.values()].flatMap(({ name }) => {
    const field = input.getFields()[camel(name)]
    const operators = field && getNamedType(field.type)
    if (!isInputObjectType(operators)) return []
    const values = (data[collection.name] ?? []).map(row => row[name] ?? null).filter(value => value !== null)
    const comparisons: Record<string, unknown>[] = [{ isNull: false }, { isNull: true }]
    if (operators.getFields().eq && values[0] !== undefined)
      comparisons.push({ eq: asArgument(collection, name, values[0]) })
    return comparisons.map(comparison => ({
      source: `query($filter: ${argument?.type}) { ${list.name}(limit: 20, filter: $filter) { id } }`,
      variables: { filter: { [camel(name)]: comparison } },
    }))
  })
}

function orders(list: GraphQLField<unknown, unknown>): Document[] {
  const argument = list.args.find(({ name }) => name === 'orderBy')
  const type = argument && getNamedType(argument.type)
  if (!isEnumType(type)) return []
  const names = type.getValues().map(({ name }) => name)
  // RELEVANCE needs a search, which the naive resolver does not have.
  return names
    .filter(name => name !== 'RELEVANCE')
    .map(name => plain(`{ ${list.name}(limit: 20, orderBy: [${name}]) { id } }`))
}

/** Queries by which a caller could learn about a collection. */
export function queries(schema: GraphQLSchema, collection: Collection, data: Data): Document[] {
  const root = schema.getQueryType()?.getFields() ?? {}
  const list = root[camel(collection.name)]
  const single = root[camel(collection.singular)]
  assert.ok(list && single, collection.name)
  const fields = Object.values(typeOf(list).getFields())
  const leaves = fields.filter(({ type }) => isLeafType(getNamedType(type))).map(({ name }) => name)
  const relations = fields.filter(({ name }) => [...collection.relations.keys()].map(camel).includes(name))
  const ids = (data[collection.name] ?? []).map(({ id }) => Number(id))
  return [
    plain(`{ ${list.name}(limit: 20) { ${leaves.join(' ')} } }`),
    ...leaves.map(leaf => plain(`{ ${list.name}(limit: 20) { ${leaf} } }`)),
    ...[...ids, 4_000_000].map(id => plain(`{ ${single.name}(id: ${id}) { ${leaves.join(' ')} } }`)),
    ...relations.map(relation =>
      plain(
        `{ ${list.name}(limit: 20) { id ${relation.name}${relation.args.length > 0 ? '(limit: 20)' : ''} { id } } }`,
      ),
    ),
    plain(
      `{ ${list.name}Connection(first: 2) { totalCount nodes { id } pageInfo { hasNextPage endCursor } } }`,
    ),
    ...filters(collection, list, data),
    ...orders(list),
  ]
}

async function reply({ send }: GraphqlRun, { source, variables }: Document, credential: Credential) {
  const sent = await send(
    { method: 'POST', path: '/graphql', body: { query: source, variables } },
    credential.headers,
  )
  const { data, errors = [] } = sent.json as {
    data?: JsonValue
    errors?: readonly { extensions: { code: string } }[]
  }
  return { sent, data, errors }
}

async function checkQueries(
  run: GraphqlRun,
  collection: Collection,
  data: Data,
  credential: Credential,
): Promise<void> {
  for (const request of sampled(queries(run.schema, collection, data))) {
    const { sent, data: actual, errors } = await reply(run, request, credential)
    const expected = naiveReply({ model, data, schema: run.schema, who: credential.who }, request)
    const details = `${credential.name}: ${request.source} ${JSON.stringify(request.variables)} → ${sent.status} ${sent.text}`
    assert.deepEqual({ errors, data: actual }, expected, details)
    run.tally.add(expected.errors.length > 0 ? 'refused' : 'read')
  }
}

const verbs = { create: 'create', update: 'update', delete: 'delete' } as const

function mutationOf(
  schema: GraphQLSchema,
  { collection, plan, body = {} }: PlannedRequest,
): Document | undefined {
  const { kind } = plan.shape
  assert.ok(kind === 'create' || kind === 'update' || kind === 'delete')
  const name = `${verbs[kind]}${camel(`_${collection.singular}`)}`
  const field = schema.getMutationType()?.getFields()[name]
  assert.ok(field, name)
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(body).map(([key, value]) => [camel(key), asArgument(collection, key, value)]),
  )
  if (kind !== 'create') values.id = String(plan.args[0])
  // A mutation without a required argument would not be executed.
  if (field.args.some(arg => isRequiredArgument(arg) && values[arg.name] === undefined)) return undefined
  const names = Object.keys(values)
  const declared = names.map(name => `$${name}: ${argumentType(field, name)}`).join(', ')
  const args = names.map(name => `${name}: $${name}`).join(', ')
  const inner = isLeafType(getNamedType(field.type)) ? '' : '{ id }'
  return { source: `mutation(${declared}) { done: ${name}(${args}) ${inner} }`, variables: values }
}

async function checkMutation(
  run: GraphqlRun,
  request: PlannedRequest,
  credential: Credential,
): Promise<void> {
  const data = await run.context.snapshot()
  const plan = request.plan as Plan<WriteShape>
  const expected = writeReference(model, data, credential.who, plan)
  const allowed = !('errors' in expected)
  if (allowed && plan.shape.kind === 'delete' && parents.has(request.collection.name)) return
  const mutation = mutationOf(run.schema, request)
  if (!mutation) return
  const { sent, data: actual, errors } = await reply(run, mutation, credential)
  const after = await run.context.snapshot()
  const details = `${credential.name}: ${mutation.source} ${JSON.stringify(mutation.variables)} → ${sent.status} ${sent.text}`
  if (!allowed) {
    const [error] = errors
    assert.ok(
      error && [...expected.errors].some(code => code === error.extensions.code),
      `${details}: ${[...expected.errors]}`,
    )
    assert.ok(after === data || equalData(after, data), `${details}: something has changed`)
    run.tally.add('write refused')
    return
  }
  const before = new Set((data[request.collection.name] ?? []).map(({ id }) => id))
  const id =
    plan.shape.kind === 'create'
      ? after[request.collection.name]?.find(row => !before.has(row.id))?.id
      : expected.id
  assert.ok(id !== undefined, details)
  const rows = expected.data[request.collection.name] ?? []
  const renamed = rows.map(row => (row.id === expected.id ? { ...row, id } : row))
  assert.ok(
    equalData({ ...expected.data, [request.collection.name]: renamed }, after),
    `${details}: not what the rules say`,
  )
  const returnedId = (actual as { done?: { id?: string } } | null)?.done?.id
  if (returnedId !== undefined) assert.equal(returnedId, String(id), details)
  await undo(run.context, request, data, Number(id))
  run.tally.add('written')
}

const kinds = new Set(['create', 'merge', 'delete'])

/** Sends queries of every collection, and mutations of rows, of a sample. */
export async function checkGraphql(run: GraphqlRun, credential: Credential): Promise<void> {
  for (const collection of model.collections.values())
    await checkQueries(run, collection, await run.context.snapshot(), credential)
  for (const operation of operations()) {
    if (!kinds.has(operation.kind) || opaque.has(operation.collection.name)) continue
    for (const request of sampled(requestsOf(operation, await run.context.snapshot(), credential.who)))
      await checkMutation(run, request, credential)
  }
}
