/** A model with every field type and every kind of JSON schema, for tests of the OpenAPI document. */
import {
  anyone,
  boolean,
  choice,
  collection,
  date,
  datetime,
  email,
  integer,
  json,
  model,
  number,
  randomUuid,
  relation,
  role,
  string,
  text,
  url,
  uuid,
} from '../../src/index.ts'

const admin = role('admin')

export default model({
  things: collection({
    description: 'One of each.',
    fields: {
      name: string({ unique: true, searchable: true }),
      body: text({ optional: true }),
      small: integer({ min: 0, max: 10, default: 1 }),
      large: integer({ optional: true }),
      ratio: number({ optional: true }),
      active: boolean({ default: true }),
      day: date({ optional: true }),
      at: datetime({ optional: true }),
      reference: uuid({ default: randomUuid }),
      mail: email({ optional: true }),
      link: url({ optional: true }),
      state: choice(['open', 'done', 'in-between'], { default: 'open' }),
      mood: choice(['good', 'bad'], { optional: true }),
      payload: json({ default: {} }),
      anything: json({ optional: true }),
      tags: json({ schema: { type: 'array', items: { type: 'string', maxLength: 20 } }, default: [] }),
      list: json({ optional: true, schema: { type: 'array' } }),
      shape: json({
        optional: true,
        schema: {
          type: 'object',
          required: ['width'],
          properties: { width: { type: 'integer' }, unit: { type: 'string', enum: ['mm', 'in'] } },
        },
      }),
      either: json({ optional: true, schema: { type: ['string', 'integer', 'object'] } }),
      level: json({ optional: true, schema: { enum: ['low', 'high'] } }),
      secret: string({ optional: true, writeOnly: true }),
      origin: string({ optional: true, immutable: true }),
      score: integer({ default: 0, readOnly: true }),
      owner_id: relation('users', { optional: true, inverse: 'things' }),
      parent_id: relation('things', { optional: true, inverse: 'children', onDelete: 'clear' }),
    },
    access: { read: anyone, create: admin, update: admin, delete: admin },
  }),
})
