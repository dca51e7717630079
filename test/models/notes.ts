/** Notes that are public or private to their author, with a field that only the author can read. */
import {
  collection,
  currentUser,
  field,
  model,
  owner,
  relation,
  role,
  signedIn,
  text,
  users,
} from '../../src/index.ts'

const author = owner('author_id').or(role('admin'))

export default model({
  users: users({ access: { read: owner('id').or(role('admin')) } }),
  notes: collection({
    fields: {
      title: text(),
      state: text({ default: 'public' }),
      secret: text({ optional: true, access: { read: author } }),
      author_id: relation('users', { inverse: 'notes', default: currentUser }),
    },
    access: {
      read: field('state').eq('public').or(author),
      create: signedIn,
      update: author,
      delete: author,
    },
  }),
})
