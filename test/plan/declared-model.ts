/** The small model as a model file would declare it: through the builders and every check. */
import type { AccessRule } from '../../src/model/access.ts'
import { checkModel } from '../../src/model/check.ts'
import { collection, manyToMany, model, users } from '../../src/model/declaration.ts'
import { boolean } from '../../src/model/fields/boolean.ts'
import { integer } from '../../src/model/fields/integer.ts'
import { json } from '../../src/model/fields/json.ts'
import { currentUser } from '../../src/model/fields/marker.ts'
import { relation } from '../../src/model/fields/relation.ts'
import { text } from '../../src/model/fields/text.ts'
import type { CollectionAccess, Field, Model } from '../../src/model/model.ts'
import type { Rule } from '../../src/model/rule.ts'
import type { Choices } from './small-model.ts'

const wrapped = (rule: Rule) => ({ rule }) as AccessRule

function operations(access: Partial<CollectionAccess> | undefined) {
  const open: Rule = { kind: 'anyone' }
  return {
    read: wrapped(access?.read ?? open),
    create: wrapped(access?.create ?? open),
    update: wrapped(access?.update ?? open),
    delete: wrapped(access?.delete ?? open),
  }
}

function options(choice: Partial<Field> | undefined) {
  const { access, readOnly = false, immutable = false } = choice ?? {}
  const searchable = choice?.searchable === true && { searchable: true }
  const rules = access && { access: { read: wrapped(access.read), write: wrapped(access.write) } }
  return { readOnly, immutable: immutable && !readOnly, ...rules, ...searchable }
}

/** A required field may not be written by nobody, but by everybody whom a rule leaves out. */
function required(choice: Partial<Field> | undefined) {
  if (choice?.access?.write.kind !== 'nobody') return options(choice)
  const write: Rule = { kind: 'not', rule: { kind: 'anyone' } }
  return options({ ...choice, access: { ...choice.access, write } })
}

/** Throws a `ModelError` when the choices make no right model. */
export function declaredModel({ access = {}, fields = {} }: Choices): Model {
  const optional = (where: string) => ({ optional: true, ...options(fields[where]) }) as const
  return checkModel(
    model({
      users: users({
        fields: {
          level: integer(optional('users.level')),
          boss_id: relation('users', { inverse: 'reports', ...optional('users.boss_id') }),
        },
        access: operations(access.users),
      }),
      posts: collection({
        fields: {
          title: text(required(fields['posts.title'])),
          note: text({ ...optional('posts.note'), default: 'new' }),
          rank: integer(optional('posts.rank')),
          public: boolean(optional('posts.public')),
          extra: json(optional('posts.extra')),
          pin: text({ optional: true, writeOnly: true }),
          author_id: relation('users', {
            inverse: 'posts',
            ...optional('posts.author_id'),
            default: currentUser,
          }),
        },
        relations: { tags: manyToMany('tags', { through: 'post_tags', from: 'post_id', to: 'tag_id' }) },
        access: operations(access.posts),
      }),
      tags: collection({
        fields: { label: text(optional('tags.label')) },
        relations: { posts: manyToMany('posts', { through: 'post_tags', from: 'tag_id', to: 'post_id' }) },
        access: operations(access.tags),
      }),
      post_tags: collection({
        fields: {
          post_id: relation('posts', { inverse: 'post_tags', ...optional('post_tags.post_id') }),
          tag_id: relation('tags', optional('post_tags.tag_id')),
        },
        access: operations(access.post_tags),
      }),
    }),
  )
}
