/** A model, and a newer one with every kind of addition that a start applies automatically. */
import {
  boolean,
  choice,
  collection,
  date,
  datetime,
  email,
  index,
  integer,
  json,
  model,
  now,
  number,
  randomUuid,
  relation,
  string,
  text,
  unique,
  url,
  uuid,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { access } from './migration-cases.ts'

const fields = { title: string({ searchable: true }), stars: integer({ default: 1 }) }

export const older = checkModel(model({ notes: collection({ access, fields }) }))

/** The value, or its pattern, that each added field has in an item written without it. */
export const added: Readonly<Record<string, unknown>> = {
  rank: 3,
  below: -7,
  share: 1.5,
  flag: true,
  unset: false,
  mood: 'calm',
  words: "it's a 'word'",
  doc: { a: [1, null], b: "it's" },
  list: [],
  link: 'https://example.com/',
  mail: 'a@example.com',
  day: /^\d{4}-\d{2}-\d{2}$/,
  at: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  code: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  updated_at: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  remark: null,
  note_id: null,
}

/** `searchable`: whether an added field is searchable. */
const withAdded = (searchable: boolean) =>
  checkModel(
    model({
      notes: collection({
        access,
        updatedAt: true,
        fields: {
          ...fields,
          rank: integer({ default: 3 }),
          below: integer({ default: -7, optional: true }),
          share: number({ default: 1.5 }),
          flag: boolean({ default: true }),
          unset: boolean({ default: false }),
          mood: choice(['calm', 'wild'], { default: 'calm' }),
          words: text({ default: "it's a 'word'", searchable }),
          doc: json({ default: { a: [1, null], b: "it's" } }),
          list: json({ default: [] }),
          link: url({ default: 'https://example.com/' }),
          mail: email({ default: 'a@example.com' }),
          day: date({ default: now }),
          at: datetime({ default: now }),
          code: uuid({ default: randomUuid }),
          remark: string({ optional: true, unique: true }),
          note_id: relation('notes', { optional: true }),
        },
        indexes: [index('rank'), index('title', 'rank'), unique('code', 'rank')],
      }),
      others: collection({ access, fields: { name: string() } }),
    }),
  )

export const newer = withAdded(true)
export const newerUnsearched = withAdded(false)
