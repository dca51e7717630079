/** A model that says what belongs to a person. */
import {
  anyone,
  collection,
  currentUser,
  field,
  integer,
  model,
  nobody,
  owner,
  related,
  relation,
  role,
  signedIn,
  string,
} from '../../src/index.ts'

const ownOrder = related('order', owner('buyer_id'))

export default model({
  orders: collection({
    fields: {
      number: string(),
      margin: integer({ optional: true, access: { read: role('admin') } }),
      pin: string({ optional: true, writeOnly: true }),
      trace: string({ optional: true, internal: true }),
      buyer_id: relation('users', { personal: true }),
    },
    access: { read: owner('buyer_id').or(role('admin')), create: anyone, delete: nobody },
  }),
  lines: collection({
    personal: true,
    fields: { sku: string(), hidden: integer({ default: 0 }), order_id: relation('orders') },
    access: { read: ownOrder.and(field('hidden').eq(0)), create: anyone },
  }),
  reviews: collection({
    fields: {
      text: string(),
      author_id: relation('users', { personal: true, optional: true, onDelete: 'clear' }),
    },
    access: { read: anyone, create: anyone },
  }),
  invoices: collection({
    fields: { order_id: relation('orders', { personal: true, onDelete: 'restrict' }) },
    access: { read: ownOrder.or(role('admin')), create: anyone, delete: role('admin') },
  }),
  receipts: collection({
    fields: {
      order_id: relation('orders', { personal: false }),
      buyer_id: relation('users', { personal: true }),
    },
    access: { read: owner('buyer_id'), create: anyone },
  }),
  secrets: collection({
    fields: { about_id: relation('users', { personal: true }), note: string() },
    access: { read: role('admin'), create: anyone },
  }),
  drafts: collection({
    fields: { title: string(), by_id: relation('users', { default: currentUser, onDelete: 'cascade' }) },
    access: { read: owner('by_id'), create: signedIn },
  }),
  visits: collection({
    fields: {
      place: string(),
      by_id: relation('users', { default: currentUser, personal: false, optional: true, onDelete: 'clear' }),
    },
    access: { read: anyone, create: signedIn },
  }),
})
