/** A model whose fields use all parsers, patterns, search and schemas. */
import { anyone } from '../../../src/model/access.ts'
import { collection, model } from '../../../src/model/declaration.ts'
import { datetime } from '../../../src/model/fields/datetime.ts'
import { email } from '../../../src/model/fields/email.ts'
import { json } from '../../../src/model/fields/json.ts'
import { relation } from '../../../src/model/fields/relation.ts'
import { string } from '../../../src/model/fields/string.ts'
import { text } from '../../../src/model/fields/text.ts'
import { url } from '../../../src/model/fields/url.ts'

const texts = { type: 'array', items: { type: 'string' } } as const

export default model({
  things: collection({
    fields: {
      title: string({ searchable: true, default: 'a thing' }),
      body: text({ optional: true, searchable: true }),
      note: text({ optional: true }),
      code: text({ optional: true, pattern: '^(?:[a-z]+-?)+$', max: 20 }),
      at: datetime({ optional: true }),
      mail: email({ optional: true }),
      link: url({ optional: true, max: 1_000_000 }),
      document: json({ optional: true }),
      different: json({ optional: true, schema: { type: 'array', uniqueItems: true } }),
      links: json({ optional: true, schema: { ...texts, items: { type: 'string', format: 'url' } } }),
      owner_id: relation('users', { optional: true, inverse: 'things' }),
    },
    access: { read: anyone, create: anyone, update: anyone, delete: anyone },
  }),
})
