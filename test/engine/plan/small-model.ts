/** A small model with users, posts, tags and a join collection, whose rules a test chooses. */
import { booleanEncoding } from '../../../src/model/fields/boolean.ts'
import { timeGroups } from '../../../src/model/fields/date-parts.ts'
import { datetimeEncoding } from '../../../src/model/fields/datetime.ts'
import type { FieldType } from '../../../src/model/fields/field-type.ts'
import { wholeEncoding } from '../../../src/model/fields/integer.ts'
import { documentEncoding } from '../../../src/model/fields/json.ts'
import { textEncoding } from '../../../src/model/fields/textual.ts'
import type { FilterOperator } from '../../../src/model/fields/type.ts'
import type { Collection, CollectionAccess, Field, Model, Relation, ToOne } from '../../../src/model/model.ts'
import type { Rule } from '../../../src/model/rule/rule.ts'

export const anyone: Rule = { kind: 'anyone' }
export const nobody: Rule = { kind: 'nobody' }
export const signedIn: Rule = { kind: 'signedIn' }
export const owner = (field: string): Rule => ({
  kind: 'compare',
  field,
  comparison: 'eq',
  operand: { kind: 'userId' },
})
export const admin: Rule = { kind: 'role', roles: ['admin'] }
export const either = (...rules: Rule[]): Rule => ({ kind: 'or', parts: rules })
export const both = (...rules: Rule[]): Rule => ({ kind: 'and', parts: rules })
export const opposite = (rule: Rule): Rule => ({ kind: 'not', part: rule })
export const equals = (field: string, value: string | number | boolean | null): Rule => ({
  kind: 'compare',
  field,
  comparison: 'eq',
  operand: { kind: 'literal', value },
})
export const relatedTo = (relation: string, rule: Rule): Rule => ({ kind: 'related', relation, rule })

function fieldType(
  name: string,
  encoding: FieldType['encoding'],
  operators: readonly FilterOperator[],
): FieldType {
  return {
    name,
    encoding,
    graphql: { type: 'String' },
    operators,
    sortable: encoding !== documentEncoding,
    ...(encoding === documentEncoding && { isDocument: true }),
    schema: {},
    filterSchema: {},
    canonical: value => value,
    fromText: text => text,
  }
}

const ordered: readonly FilterOperator[] = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'null']
export const types = {
  integer: { ...fieldType('integer', wholeEncoding, ordered), summable: true as const },
  text: fieldType('text', textEncoding, [...ordered, 'contains', 'icontains', 'starts_with']),
  boolean: fieldType('boolean', booleanEncoding, ['eq', 'ne', 'null']),
  json: fieldType('json', documentEncoding, ['null']),
  datetime: {
    ...fieldType('datetime', datetimeEncoding, ordered),
    dateGroups: timeGroups,
  },
}

export function field(name: string, type: FieldType, more: Partial<Field> = {}): Field {
  return {
    name,
    type,
    description: undefined,
    optional: true,
    default: undefined,
    unique: false,
    readOnly: false,
    writeOnly: false,
    immutable: false,
    internal: false,
    searchable: false,
    signUp: false,
    deprecated: undefined,
    renamedFrom: undefined,
    access: { read: anyone, write: anyone },
    reference: undefined,
    ...more,
  }
}

/** The field of a to-one relation, whose name ends with `_id`. */
export function reference(name: string, target: string, more: Partial<Field> = {}): Field {
  const relation: ToOne = {
    kind: 'one',
    name: name.replace(/_id$/, ''),
    target,
    field: name,
    onDelete: 'cascade',
  }
  return field(name, types.integer, { reference: relation, ...more })
}

export const open: CollectionAccess = { read: anyone, create: anyone, update: anyone, delete: anyone }

export function collection(
  name: string,
  singular: string,
  fields: readonly Field[],
  relations: readonly Relation[],
  access: Partial<CollectionAccess> = {},
): Collection {
  const all = [
    field('id', types.integer, { optional: false, readOnly: true }),
    ...fields,
    field('created_at', types.datetime, { optional: false, readOnly: true, default: { kind: 'now' } }),
  ]
  const references = all.flatMap(field => (field.reference ? [field.reference] : []))
  return {
    name,
    singular,
    description: undefined,
    fields: new Map(all.map(field => [field.name, field])),
    relations: new Map([...references, ...relations].map(relation => [relation.name, relation])),
    indexes: [],
    access: { ...open, ...access },
    searchable: all.filter(field => field.searchable),
    deprecated: undefined,
    renamedFrom: undefined,
    unlogged: false,
    computed: new Map(),
    prepare: undefined,
    check: undefined,
    limits: [],
  }
}

export function model(...collections: readonly Collection[]): Model {
  return {
    collections: new Map(collections.map(collection => [collection.name, collection])),
    scopes: new Map(),
    claims: [],
    logic: {
      actions: new Map(),
      queries: new Map(),
      checks: new Map(),
      reactions: new Map(),
      jobs: new Map(),
      routes: new Map(),
    },
  }
}

export interface Choices {
  readonly access?: Readonly<Record<string, Partial<CollectionAccess>>>
  /** By `collection.field`. */
  readonly fields?: Readonly<Record<string, Partial<Field>>>
}

/** Users with bosses, posts with authors, and tags of posts. */
export function smallModel({ access = {}, fields = {} }: Choices = {}): Model {
  const choiceOf = (where: string) => (fields[where] ?? {}) as Partial<Field>
  const users = collection(
    'users',
    'user',
    [
      field('name', types.text, { optional: false, ...choiceOf('users.name') }),
      field('level', types.integer, choiceOf('users.level')),
      reference('boss_id', 'users', choiceOf('users.boss_id')),
      field('password_hash', types.text, { internal: true }),
    ],
    [
      { kind: 'many', name: 'reports', target: 'users', field: 'boss_id' },
      { kind: 'many', name: 'posts', target: 'posts', field: 'author_id' },
    ],
    access.users,
  )
  const posts = collection(
    'posts',
    'post',
    [
      field('title', types.text, { optional: false, ...choiceOf('posts.title') }),
      field('note', types.text, choiceOf('posts.note')),
      field('rank', types.integer, choiceOf('posts.rank')),
      field('public', types.boolean, choiceOf('posts.public')),
      field('extra', types.json, choiceOf('posts.extra')),
      field('pin', types.text, { writeOnly: true, ...choiceOf('posts.pin') }),
      reference('author_id', 'users', choiceOf('posts.author_id')),
    ],
    [
      {
        kind: 'manyToMany',
        name: 'tags',
        target: 'tags',
        through: 'post_tags',
        from: 'post_id',
        to: 'tag_id',
      },
      { kind: 'many', name: 'post_tags', target: 'post_tags', field: 'post_id' },
    ],
    access.posts,
  )
  const tags = collection(
    'tags',
    'tag',
    [field('label', types.text, choiceOf('tags.label'))],
    [
      {
        kind: 'manyToMany',
        name: 'posts',
        target: 'posts',
        through: 'post_tags',
        from: 'tag_id',
        to: 'post_id',
      },
    ],
    access.tags,
  )
  const postTags = collection(
    'post_tags',
    'post_tag',
    [
      reference('post_id', 'posts', choiceOf('post_tags.post_id')),
      reference('tag_id', 'tags', choiceOf('post_tags.tag_id')),
    ],
    [],
    access.post_tags,
  )
  return model(users, posts, tags, postTags)
}
