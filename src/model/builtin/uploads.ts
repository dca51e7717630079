/** The built-in collection of the objects of the file store. Models without a field for files do not have it. */
import { nobody } from '../access.ts'
import { collection, index, unique } from '../declaration.ts'
import type { CollectionDeclaration } from '../declared-model.ts'
import { choice } from '../fields/choice.ts'
import { datetime } from '../fields/datetime.ts'
import { maxNameBytes } from '../fields/file.ts'
import { integer } from '../fields/integer.ts'
import { string } from '../fields/string.ts'

const internal = { internal: true } as const
const optional = { optional: true, internal: true } as const

/** `pending`: of no item yet; `live`: the file of an item; `deleted`: kept for restored backups, then removed. */
export const uploadStates = ['pending', 'live', 'deleted'] as const

/**
 * A row is written before the bytes of its object, and deleted after them. Only Portico reads and writes them: no operation
 * exists for clients.
 */
export function uploads(): CollectionDeclaration {
  const declaration = collection({
    description: 'The objects of the file store.',
    fields: {
      // Of the object in the store, in addresses, and the id of an upload. No key is used twice.
      key: string({ ...internal, max: 40 }),
      state: choice(uploadStates, { ...internal, default: 'pending' }),
      name: string({ ...internal, max: maxNameBytes }),
      // Null until all bytes are stored.
      type: string({ ...optional, max: 200 }),
      size: integer({ ...optional, min: 0 }),
      sha256: string({ ...optional, max: 64 }),
      // Who has uploaded it. No reference: the object outlives its uploader.
      user_id: integer(optional),
      app_id: integer(optional),
      // The item whose file it is, or was.
      collection: string({ ...optional, max: 50 }),
      item_id: integer(optional),
      field: string({ ...optional, max: 50 }),
      ended_at: datetime(optional),
    },
    indexes: [
      unique('key'),
      index('collection', 'item_id'),
      index('state', 'created_at'),
      index('state', 'ended_at'),
    ],
    access: { read: nobody, create: nobody, update: nobody, delete: nobody },
  })
  return { ...declaration, unlogged: true }
}
