/**
 * Drafts on shelves: fields that a caller can write but not read, or read but not write, and JSON fields of every kind.
 */
import {
  choice,
  collection,
  currentUser,
  field,
  json,
  model,
  owner,
  relation,
  role,
  signedIn,
  string,
} from '../../src/index.ts'

const adminOnly = { write: role('admin') }

export default model({
  shelves: collection({
    fields: { name: string(), owner_id: relation('users', { default: currentUser }) },
    access: { read: owner('owner_id'), create: signedIn },
  }),
  drafts: collection({
    updatedAt: true,
    fields: {
      title: string(),
      owner_id: relation('users', { default: currentUser }),
      shelf_id: relation('shelves', { optional: true }),
      state: choice(['open', 'closed'], { default: 'open' }),
      /** Everyone can read it, only administrators can write it. */
      grade: string({ default: 'none', access: adminOnly }),
      /** Required, and only administrators can write it. */
      origin: string({ access: adminOnly }),
      /** Only its owner can read it, only administrators can write it. */
      review: string({ optional: true, access: { read: owner('owner_id'), write: role('admin') } }),
      /** Writable while the draft is open. */
      notes: string({ optional: true, access: { write: field('state').eq('open') } }),
      reason: string({ access: { write: field('state').eq('open') } }),
      pin: string({ optional: true, writeOnly: true, access: adminOnly }),
      settings: json({
        optional: true,
        schema: {
          type: 'object',
          properties: { theme: { type: 'string', maxLength: 5 }, size: { type: 'integer' }, more: {} },
          required: ['theme'],
          additionalProperties: false,
        },
      }),
      extra: json({ optional: true }),
      stamp: json({ optional: true, access: adminOnly }),
      restricted: json({ optional: true, access: { read: role('admin') } }),
    },
    access: { read: signedIn, create: signedIn, update: signedIn, delete: signedIn },
  }),
})
