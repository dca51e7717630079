/** The small model declared as in a model file: with the builders, and checked. */
import { checkModel } from '../../../src/model/check/check.ts'
import { collection, manyToMany, model, users } from '../../../src/model/declaration.ts'
import { boolean } from '../../../src/model/fields/boolean.ts'
import { integer } from '../../../src/model/fields/integer.ts'
import { json } from '../../../src/model/fields/json.ts'
import { currentUser } from '../../../src/model/fields/marker.ts'
import { relation } from '../../../src/model/fields/relation.ts'
import { text } from '../../../src/model/fields/text.ts'
import type { Field, Model } from '../../../src/model/model.ts'
import { operations, rules, writable } from './declared-rules.ts'
import type { Choices } from './small-model.ts'

function options(choice: Partial<Field> | undefined) {
  const { readOnly = false, immutable = false } = choice ?? {}
  const searchable = choice?.searchable === true && { searchable: true }
  return { readOnly, immutable: immutable && !readOnly, ...rules(choice), ...searchable }
}

/** Throws a `ModelError` if the choices make an invalid model. */
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
          title: text(options(writable(fields['posts.title']))),
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
