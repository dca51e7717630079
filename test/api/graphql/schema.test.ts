/** The generated schema has exactly the required types, and nothing that must stay hidden. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  buildSchema,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isObjectType,
  parse,
  validate,
  validateSchema,
} from 'graphql'
import tracker from '../../../examples/tracker/model.ts'
import { typeName } from '../../../src/api/graphql/schema/names.ts'
import { createSchema } from '../../../src/api/graphql/schema/schema.ts'
import { sdlOf } from '../../../src/api/graphql/schema/sdl.ts'
import { openapi } from '../../../src/api/rest/openapi/document.ts'
import {
  anyone,
  checkModel,
  choice,
  collection,
  date,
  integer,
  model,
  nobody,
  relation,
  role,
  string,
} from '../../../src/index.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import blog from '../../models/blog.ts'
import rich from '../../models/rich.ts'

/** Copied from the requirements. */
const requiredSchema = `
  type User { id: ID! email: String! posts: [Post!]! }
  type Post { id: ID! title: String! author: User! }
  type Query { user(id: ID!): User posts(limit: Int = 10): [Post!]! }
  type Mutation { createPost(title: String!, authorId: ID!): Post! }
  type Subscription { newPost: Post! }
`

function schemaOf(declaration: Declaration): GraphQLSchema {
  return createSchema(checkModel(declaration), 100).schema
}

function fieldsOf(schema: GraphQLSchema, name: string) {
  const type = schema.getType(name)
  assert.ok(isObjectType(type), `${name} is an object type`)
  return type.getFields()
}

test('the schema of the reference model contains the required types and fields', () => {
  const schema = schemaOf(blog)
  for (const requiredType of Object.values(buildSchema(requiredSchema).getTypeMap())) {
    if (!isObjectType(requiredType) || requiredType.name.startsWith('__')) continue
    const fields = fieldsOf(schema, requiredType.name)
    for (const field of Object.values(requiredType.getFields())) {
      const actual = fields[field.name]
      assert.equal(String(actual?.type), String(field.type), `${requiredType.name}.${field.name}`)
      for (const argument of field.args) {
        const actualArgument = actual?.args.find(arg => arg.name === argument.name)
        assert.equal(String(actualArgument?.type), String(argument.type), `${field.name}(${argument.name})`)
      }
    }
  }
  const limit = fieldsOf(schema, 'Query').posts?.args.find(({ name }) => name === 'limit')
  assert.equal(limit?.default?.value, 10)
})

test('additional arguments are optional, so that documents for the required schema stay valid', () => {
  const schema = schemaOf(blog)
  const required = (type: string, field: string) =>
    fieldsOf(schema, type)
      [field]?.args.filter(({ type }) => String(type).endsWith('!'))
      .map(({ name }) => name)
  assert.deepEqual(required('User', 'posts'), [])
  assert.deepEqual(required('Query', 'posts'), [])
  assert.deepEqual(required('Query', 'user'), ['id'])
  assert.deepEqual(required('Mutation', 'createPost'), ['title', 'authorId'])
})

test('the schemas of both test models are valid', () => {
  for (const declaration of [blog, rich]) assert.deepEqual(validateSchema(schemaOf(declaration)), [])
})

test('internal and write-only fields are not in the schema, but write-only ones are arguments', () => {
  const hidden = sdlOf(
    checkModel(
      model({
        doors: collection({
          fields: {
            label: string(),
            riddle: string({ internal: true, optional: true }),
            pin: string({ writeOnly: true, optional: true }),
          },
        }),
      }),
    ),
  )
  assert.doesNotMatch(hidden, /riddle/i)
  assert.doesNotMatch(hidden, /passwordHash|password_hash|PASSWORD_HASH/)
  const schema = buildSchema(hidden)
  assert.deepEqual(Object.keys(fieldsOf(schema, 'Door')), ['id', 'label', 'createdAt', 'nodeId'])
  const create = fieldsOf(schema, 'Mutation').createDoor
  assert.deepEqual(
    create?.args.map(({ name }) => name),
    ['label', 'pin'],
  )
  assert.doesNotMatch(hidden, /PIN_ASC/)
})

test('a relation by a hidden field is omitted, and one with a rule of its own is nullable', () => {
  const schema = schemaOf(
    model({
      notes: collection({
        fields: {
          reader_id: relation('users', { internal: true, optional: true, inverse: 'hidden_notes' }),
          owner_id: relation('users', { inverse: 'notes', access: { read: role('admin') } }),
        },
      }),
    }),
  )
  assert.deepEqual(
    Object.entries(fieldsOf(schema, 'Note')).map(([name, { type }]) => `${name}: ${type}`),
    ['id: ID!', 'ownerId: ID', 'createdAt: DateTime!', 'nodeId: ID!', 'owner: User'],
  )
  assert.equal('hiddenNotes' in fieldsOf(schema, 'User'), false)
})

test('choices are enums, deprecations have reasons, and immutable fields are not arguments of updates', () => {
  const schema = schemaOf(
    model({
      tasks: collection({
        deprecated: { since: '2026-01-01T00:00:00Z', reason: 'Use tickets.' },
        fields: {
          state: choice(['draft', 'in-progress'], { default: 'draft' }),
          code: string({ immutable: true }),
          old: string({ optional: true, deprecated: { since: '2026-02-01T00:00:00Z' } }),
        },
        access: { read: anyone, create: nobody },
      }),
    }),
  )
  const { state, old } = fieldsOf(schema, 'Task')
  assert.equal(String(state?.type), 'TaskState!')
  assert.match(old?.deprecationReason ?? '', /2026-02-01/)
  assert.match(fieldsOf(schema, 'Query').tasks?.deprecationReason ?? '', /Use tickets\./)
  const update = fieldsOf(schema, 'Mutation').updateTask
  assert.deepEqual(
    update?.args.map(({ name, type }) => `${name}: ${type}`),
    ['id: ID!', 'state: TaskState', 'old: String'],
  )
})

test('the mutations of items are exactly the writes that REST has: none that no caller can ever call', () => {
  for (const [name, declaration] of Object.entries({ blog, rich, tracker })) {
    const checked = checkModel(declaration)
    const { paths = {} } = openapi(checked, undefined)
    const writes = [...checked.collections.values()].flatMap(collection => {
      const methodsAt = (path: string) => Object.keys(Object(Object(paths)[`/api/v1${path}`]))
      const [list, item] = [methodsAt(`/${collection.name}`), methodsAt(`/${collection.name}/{id}`)]
      return [
        ...(list.includes('post') ? [`create${typeName(collection)}`] : []),
        ...(item.includes('patch') ? [`update${typeName(collection)}`] : []),
        ...(item.includes('delete') ? [`delete${typeName(collection)}`] : []),
      ]
    })
    const { mutations } = createSchema(checked, 100).directory
    const ofItems = [...mutations].filter(([, { kind }]) => kind !== 'logic').map(([mutation]) => mutation)
    assert.deepEqual(ofItems.sort(), writes.sort(), name)
    assert.ok(ofItems.length >= 10, name)
    const { schema } = createSchema(checked, 100)
    assert.deepEqual(Object.keys(fieldsOf(schema, 'Mutation')).sort(), [...mutations.keys()].sort(), name)
  }
})

test('the examples on the documentation page about the schema are valid', () => {
  const page = readFileSync(new URL('../../../docs/graphql-schema.md', import.meta.url), 'utf8')
  const examples = [...page.matchAll(/```graphql\n([\s\S]*?)```/g)].map(([, source = '']) => source)
  assert.equal(examples.length, 6)
  for (const source of examples) assert.deepEqual(validate(schemaOf(blog), parse(source)), [])
})

test('every connection has the form that Relay’s compiler requires', () => {
  const schema = schemaOf(rich)
  const types = Object.values(schema.getTypeMap()).filter(isObjectType)
  const typesOf = (type: string) =>
    Object.fromEntries(Object.values(fieldsOf(schema, type)).map(({ name, type }) => [name, String(type)]))
  assert.deepEqual(typesOf('PageInfo'), {
    hasNextPage: 'Boolean!',
    hasPreviousPage: 'Boolean!',
    startCursor: 'String',
    endCursor: 'String',
  })
  const fields = types
    .flatMap(type => Object.values(type.getFields()))
    .filter(({ name }) => /Connection$/.test(name))
  assert.ok(fields.length > 10, `${fields.length} fields`)
  for (const field of fields) {
    const node = /^(\w+)Connection!$/.exec(String(field.type))?.[1] ?? ''
    const args = Object.fromEntries(field.args.map(({ name, type }) => [name, String(type)]))
    const { first, after, last, before } = args
    assert.deepEqual(
      { first, after, last, before },
      { first: 'Int', after: 'String', last: 'Int', before: 'String' },
    )
    const connection = typesOf(`${node}Connection`)
    assert.equal(connection.pageInfo, 'PageInfo!', field.name)
    assert.equal(connection.edges, `[${node}Edge!]!`, field.name)
    assert.deepEqual(typesOf(`${node}Edge`), { node: `${node}!`, cursor: 'String!' }, field.name)
  }
})

test('names of the model take precedence over names of the schema', () => {
  const schema = schemaOf(
    model({
      rate_limits: collection({ fields: { size: string() } }),
      string_filters: collection({ fields: { name: string() } }),
    }),
  )
  assert.deepEqual(validateSchema(schema), [])
  assert.equal(String(fieldsOf(schema, 'Query').rateLimit?.type), 'RateLimit')
  assert.deepEqual(Object.keys(fieldsOf(schema, 'RateLimit')), ['id', 'size', 'createdAt', 'nodeId'])
  assert.deepEqual(Object.keys(fieldsOf(schema, 'StringFilter')), ['id', 'name', 'createdAt', 'nodeId'])
})

test('every type is a node as Relay’s compiler requires, except one with a field called nodeId', () => {
  const schema = schemaOf(
    model({
      hosts: collection({ fields: { node_id: relation('users', { inverse: 'hosts' }) } }),
    }),
  )
  assert.deepEqual(validateSchema(schema), [])
  const interfaces = (name: string) => {
    const type = schema.getType(name)
    return isObjectType(type) ? type.getInterfaces().map(interfaceType => interfaceType.name) : undefined
  }
  assert.deepEqual(interfaces('User'), ['Node'])
  assert.deepEqual(interfaces('Host'), [])
  assert.equal(String(fieldsOf(schema, 'User').nodeId?.type), 'ID!')
  const { node } = fieldsOf(schemaOf(blog), 'Query')
  assert.equal(String(node?.type), 'Node')
  assert.deepEqual(
    node?.args.map(({ name, type }) => `${name}: ${type}`),
    ['nodeId: ID!'],
  )
  for (const type of Object.values(schemaOf(rich).getTypeMap())) {
    if (isObjectType(type) && 'id' in type.getFields())
      assert.equal(type.getInterfaces().length, 1, type.name)
  }
})

test('aggregates lead to those of related items, and a field keeps its name before a relation', () => {
  const access = { read: anyone }
  const schema = schemaOf(
    model({
      authors: collection({ fields: { name: string(), age: integer(), born: date() }, access }),
      books: collection({
        fields: {
          author_id: relation('authors', { inverse: 'books' }),
          by_id: relation('authors', { inverse: 'others' }),
          title: string(),
        },
        access,
      }),
      tags: collection({ fields: { book_id: relation('books', { inverse: 'tags' }) }, access }),
    }),
  )
  assert.deepEqual(validateSchema(schema), [])
  assert.equal(String(fieldsOf(schema, 'BookAggregateGroup').author?.type), 'AuthorAggregateGroup!')
  assert.equal(String(fieldsOf(schema, 'BookAggregateMax').author?.type), 'AuthorAggregateMax!')
  assert.equal(String(fieldsOf(schema, 'TagAggregateSum').book?.type), 'BookAggregateSum!')
  assert.equal(fieldsOf(schema, 'AuthorAggregateSum').books, undefined)
  assert.equal(fieldsOf(schema, 'AuthorAggregateGroup').id, undefined)
  const inputFields = (name: string) => {
    const type = schema.getType(name)
    assert.ok(isInputObjectType(type), name)
    return Object.values(type.getFields()).map(field => `${field.name}: ${field.type}`)
  }
  // The keys of a relation with the name `by` cannot be listed.
  assert.deepEqual(inputFields('BookAggregateKeys'), [
    'by: [BookAggregateGroupBy!]',
    'author: AuthorAggregateKeys',
  ])
  assert.deepEqual(inputFields('AuthorAggregateOrders'), ['by: [AuthorAggregateOrderBy!]'])
  const groupBy = schema.getType('BookAggregateGroupBy')
  assert.ok(isEnumType(groupBy))
  assert.equal(groupBy.getValue('AUTHOR_NAME'), undefined)
})

test('the schema grows with the number of relations, not with that of the fields to which each leads', () => {
  const count = 24
  const lengthOf = (fieldCount: number, relationCount: number): number => {
    const numbered = <T>(length: number, entry: (index: number) => readonly [string, T]) =>
      Object.fromEntries(Array.from({ length }, (_, index) => entry(index)))
    const collections = numbered(count, index => [
      `c${index}s`,
      collection({
        singular: `c${index}`,
        fields: {
          ...numbered(fieldCount, field => [`text_${field}`, string({ optional: true })] as const),
          ...numbered(
            relationCount,
            step =>
              [`rel_${step}_id`, relation(`c${(index + step + 1) % count}s`, { optional: true })] as const,
          ),
        },
        access: { read: anyone },
      }),
    ])
    return sdlOf(checkModel(model(collections))).length
  }
  const [few, more, wide, both] = [lengthOf(2, 1), lengthOf(2, 9), lengthOf(22, 1), lengthOf(22, 9)]
  // What 20 fields add with 8 relations more is what they add without these.
  assert.ok((both - more) / (wide - few) < 1.1, `${both - more} / ${wide - few}`)
})
