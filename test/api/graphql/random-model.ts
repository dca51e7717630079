/** Random models, whose fields complete in every possible way, and rows for them. */
import fc from 'fast-check'
import { checkModel } from '../../../src/model/check/check.ts'
import { collection, manyToMany, model, users } from '../../../src/model/declaration.ts'
import { boolean } from '../../../src/model/fields/boolean.ts'
import { choice } from '../../../src/model/fields/choice.ts'
import { date } from '../../../src/model/fields/date.ts'
import { datetime } from '../../../src/model/fields/datetime.ts'
import { integer } from '../../../src/model/fields/integer.ts'
import { json } from '../../../src/model/fields/json.ts'
import { currentUser } from '../../../src/model/fields/marker.ts'
import { number } from '../../../src/model/fields/number.ts'
import { relation } from '../../../src/model/fields/relation.ts'
import { text } from '../../../src/model/fields/text.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Model } from '../../../src/model/model.ts'
import { operations, rules, writable } from '../../engine/plan/declared-rules.ts'
import { choices, datas } from '../../engine/plan/random.ts'
import type { Data, Row } from '../../engine/plan/reference.ts'
import type { Choices } from '../../engine/plan/small-model.ts'

/** The optional fields that are required instead. */
const requirable = [
  'users.level',
  'users.boss_id',
  'posts.author_id',
  'posts.score',
  'posts.state',
  'posts.extra',
  'tags.label',
  'post_tags.post_id',
  'post_tags.tag_id',
] as const

type RequiredFields = ReadonlySet<string>

export interface ModelAndData {
  readonly model: Model
  readonly data: Data
}

/** The fields whose `onDelete` is random. */
const references = ['users.boss_id', 'posts.author_id', 'post_tags.post_id', 'post_tags.tag_id'] as const
const deletionModes = ['restrict', 'cascade', 'clear'] as const
type OnDelete = Readonly<Record<string, (typeof deletionModes)[number]>>

function modelOf({ access = {}, fields = {} }: Choices, required: RequiredFields, deletion: OnDelete): Model {
  const fieldAt = (path: string) => {
    const optional = !required.has(path)
    return { optional, ...rules(optional ? fields[path] : writable(fields[path])) }
  }
  const searched = (path: string) => (fields[path]?.searchable ? { searchable: true } : {})
  const referring = (path: (typeof references)[number]) => {
    const mode = deletion[path] ?? 'restrict'
    return { ...fieldAt(path), onDelete: mode === 'clear' && required.has(path) ? 'cascade' : mode } as const
  }
  return checkModel(
    model({
      users: users({
        fields: {
          // The first administrator is created without them, so they need a default.
          level: integer({ ...fieldAt('users.level'), min: 0, max: 9, default: 1 }),
          boss_id: relation('users', { inverse: 'reports', ...referring('users.boss_id'), default: 1 }),
        },
        access: operations(access.users),
      }),
      posts: collection({
        fields: {
          title: text({ ...rules(writable(fields['posts.title'])), ...searched('posts.title') }),
          note: text({
            optional: true,
            ...rules(fields['posts.note']),
            ...searched('posts.note'),
            default: 'new',
          }),
          rank: integer({ optional: true, ...rules(fields['posts.rank']) }),
          public: boolean({ optional: true, ...rules(fields['posts.public']) }),
          extra: json(fieldAt('posts.extra')),
          score: number(fieldAt('posts.score')),
          state: choice(['draft', 'in-progress', 'done'], fieldAt('posts.state')),
          due_on: date({ optional: true }),
          sent_at: datetime({ optional: true }),
          pin: text({ optional: true, writeOnly: true }),
          author_id: relation('users', {
            inverse: 'posts',
            ...referring('posts.author_id'),
            default: currentUser,
          }),
        },
        relations: { tags: manyToMany('tags', { through: 'post_tags', from: 'post_id', to: 'tag_id' }) },
        access: operations(access.posts),
      }),
      tags: collection({
        fields: { label: text(fieldAt('tags.label')) },
        relations: { posts: manyToMany('posts', { through: 'post_tags', from: 'tag_id', to: 'post_id' }) },
        access: operations(access.tags),
      }),
      post_tags: collection({
        fields: {
          post_id: relation('posts', { inverse: 'post_tags', ...referring('post_tags.post_id') }),
          tag_id: relation('tags', referring('post_tags.tag_id')),
        },
        access: operations(access.post_tags),
      }),
    }),
  )
}

const scores = [0, 1.5, -2, 0.1 + 0.2, 1e21, 3]
const states = ['draft', 'in-progress', 'done']
const extras: JsonValue[] = [{ a: [1, null, { b: 'x' }] }, 'text', 7, false]

/** The rows of the plan tests with additional fields. */
function rowsOf(data: Data, required: RequiredFields, seed: number): Data {
  const fill = (of: string, row: Row, index: number): Row => {
    const missing = [...required].filter(
      path => path.startsWith(`${of}.`) && (row[path.slice(of.length + 1)] ?? null) === null,
    )
    const values = missing.map(path => {
      const name = path.slice(of.length + 1)
      return [name, name === 'label' ? 'x' : name === 'extra' ? (extras[index % 4] ?? null) : 1] as const
    })
    return { ...row, ...Object.fromEntries(values) }
  }
  const pick = <T>(from: readonly T[], index: number): T => from[(seed + index) % from.length] as T
  return {
    users: (data.users ?? []).map((row, i) =>
      fill('users', { ...row, email: `u${i + 1}@example.org`, role: 'user', disabled: false }, i),
    ),
    posts: (data.posts ?? []).map((row, i) =>
      fill(
        'posts',
        {
          ...row,
          score: pick([null, ...scores], i) ?? (required.has('posts.score') ? 2 : null),
          state: pick([null, ...states], i) ?? (required.has('posts.state') ? 'draft' : null),
          due_on: pick([null, '2026-01-31', '2025-12-01'], i),
          sent_at: pick(['2026-01-31T12:00:00.000Z', null], i),
        },
        i,
      ),
    ),
    tags: (data.tags ?? []).map((row, i) => fill('tags', row, i)),
    post_tags: (data.post_tags ?? []).map((row, i) => fill('post_tags', row, i)),
    api_keys: [],
  }
}

/** References that are non-null and readable for everyone: a hidden target is an error then. */
function withoutRules({ access, fields }: Choices): Choices {
  const open = references.map(path => [path, {}] as const)
  return { ...(access ? { access } : {}), fields: { ...fields, ...Object.fromEntries(open) } }
}

export const modelsWithData: fc.Arbitrary<ModelAndData> = fc
  .record({
    choices,
    data: datas,
    required: fc.subarray([...requirable]),
    seed: fc.nat(50),
    hasHoles: fc.boolean(),
    deletion: fc.record(
      Object.fromEntries(references.map(path => [path, fc.constantFrom(...deletionModes)])),
    ),
  })
  .map(({ choices: all, data, required: chosenPaths, seed, hasHoles, deletion }) => {
    const chosen = hasHoles ? withoutRules(all) : all
    const required = hasHoles ? [...chosenPaths, ...references] : chosenPaths
    const needed = new Set<string>(required)
    const modelAndData = { model: modelOf(chosen, needed, deletion), data: rowsOf(data, needed, seed) }
    const describe = () => JSON.stringify({ chosen, required, deletion, data: modelAndData.data })
    return Object.defineProperty(modelAndData, fc.toStringMethod, { value: describe, enumerable: false })
  })
