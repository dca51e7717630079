import { anyone, collection, currentUser, model, owner, relation, role, text } from 'portico'

const authorOrAdmin = owner('author_id').or(role('admin'))

export default model({
  posts: collection({
    description: 'The posts of the blog.',
    fields: {
      title: text({ max: 200 }),
      body: text({ optional: true }),
      author_id: relation('users', { inverse: 'posts', default: currentUser }),
    },
    access: {
      read: anyone,
      create: authorOrAdmin,
      update: authorOrAdmin,
      delete: authorOrAdmin,
    },
  }),
})
