/** A model before and after a migration that rebuilds its table. */
import { anyone, collection, model, string, text } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

export const before = checkModel(
  model({ notes: collection({ access, fields: { title: string(), body: text() } }) }),
)

export const after = checkModel(
  model({
    memos: collection({
      access,
      renamedFrom: 'notes',
      fields: { name: string({ renamedFrom: 'title', searchable: true }), state: string({ default: 'new' }) },
    }),
  }),
)
