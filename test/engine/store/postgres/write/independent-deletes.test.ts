import assert from 'node:assert/strict'
import { test } from 'node:test'
import { independentDeletes } from '../../../../../src/engine/store/postgres/write/independent-deletes.ts'
import {
  anyone,
  atMost,
  checkModel,
  collection,
  manyToMany,
  model,
  relation,
  text,
} from '../../../../../src/index.ts'

const access = { read: anyone, create: anyone, delete: anyone }

test('deletes are independent where no field refers to the items and nothing limits them', () => {
  const checked = checkModel(
    model({
      boards: collection({ fields: { name: text() }, access }),
      notes: collection({ fields: { name: text(), board_id: relation('boards') }, access }),
      cards: collection({
        fields: { name: text(), board_id: relation('boards') },
        limits: [atMost(3, { per: 'board_id' })],
        access,
      }),
      labels: collection({ fields: { name: text() }, access }),
      taggings: collection({
        fields: { label_id: relation('labels'), note_id: relation('notes', { onDelete: 'cascade' }) },
        access,
      }),
      lists: collection({
        fields: { name: text() },
        relations: { labels: manyToMany('labels', { through: 'entries', from: 'list_id', to: 'label_id' }) },
        access,
      }),
      entries: collection({
        fields: { list_id: relation('lists'), label_id: relation('labels') },
        access,
      }),
    }),
  )
  const names = ['boards', 'notes', 'cards', 'labels', 'taggings', 'lists', 'entries', 'users', 'apps']
  const independent = independentDeletes(checked)
  assert.deepEqual(
    names.filter(name => independent.has(name)),
    ['taggings', 'entries'],
  )
})
