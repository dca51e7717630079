/** The model of W13 and W14: posts that have a status and a full-text search. */
import { anyone, choice, collection, currentUser, index, model, relation, role, text } from 'portico'

export default model({
  posts: collection({
    description: 'Posts with a status, newest first within each.',
    fields: {
      title: text({ max: 200, searchable: true }),
      body: text({ optional: true, searchable: true }),
      status: choice(['published', 'draft', 'review', 'scheduled', 'archived']),
      author_id: relation('users', { inverse: 'posts', default: currentUser }),
    },
    indexes: [index('status', '-created_at')],
    access: { read: anyone, create: role('admin'), update: role('admin'), delete: role('admin') },
  }),
})
