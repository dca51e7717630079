/** A model whose collections reference one another in every way. */
import { anyone, collection, model, relation, string } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { Model } from '../../../../src/model/model.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

export const storage: Model = checkModel(
  model({
    boxes: collection({
      access,
      fields: {
        label: string({ optional: true }),
        within_id: relation('boxes', { optional: true, onDelete: 'cascade' }),
      },
    }),
    things: collection({
      access,
      updatedAt: true,
      fields: {
        name: string({ searchable: true }),
        box_id: relation('boxes', { onDelete: 'cascade' }),
        spare_box_id: relation('boxes', { optional: true, onDelete: 'clear' }),
      },
    }),
    links: collection({
      access,
      fields: { next_id: relation('links', { onDelete: 'cascade', unique: true }) },
    }),
    hens: collection({ access, fields: { egg_id: relation('eggs', { onDelete: 'cascade' }) } }),
    eggs: collection({ access, fields: { hen_id: relation('hens', { onDelete: 'cascade' }) } }),
    seals: collection({
      access,
      fields: {
        thing_id: relation('things'),
        box_id: relation('boxes', { optional: true, onDelete: 'cascade' }),
      },
    }),
  }),
)
