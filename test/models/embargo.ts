/** Rules that depend on the time, on the caller's own fields, and on other rows. */
import {
  caller,
  collection,
  currentUser,
  datetime,
  email,
  field,
  model,
  now,
  owner,
  relation,
  role,
  signedIn,
  text,
  users,
} from '../../src/index.ts'

export default model({
  users: users({
    fields: {
      email: { access: { read: owner('id').or(role('admin')) }, description: 'Where mail is sent to.' },
      team: text({ optional: true }),
    },
    access: { update: owner('id').or(role('admin')) },
  }),
  notes: collection({
    fields: {
      title: text(),
      published_at: datetime(),
      closes_at: datetime({ optional: true }),
      author_id: relation('users', { inverse: 'notes', default: currentUser }),
    },
    access: {
      read: field('published_at').lte(now).or(role('admin')),
      create: signedIn,
      update: owner('author_id').and(field('closes_at').gt(now)),
      delete: role('admin'),
    },
  }),
  invitations: collection({
    fields: { email: email(), team: text() },
    access: {
      read: field('email')
        .eq(caller('email'))
        .or(field('team').eq(caller('team'))),
      create: role('admin'),
    },
  }),
  labels: collection({
    fields: { name: text(), author_id: relation('users', { inverse: 'labels' }) },
    access: { read: signedIn, create: role('admin') },
  }),
  labellings: collection({
    fields: {
      note_id: relation('notes', { inverse: 'labellings', onDelete: 'cascade' }),
      label_id: relation('labels', { inverse: 'labellings', onDelete: 'cascade' }),
    },
    access: { read: signedIn, create: field('note.author_id').eq(field('label.author_id')) },
  }),
})
