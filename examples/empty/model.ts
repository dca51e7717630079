/**
 * The product's data and who may do what with it. Accounts (`users`), API keys and apps are built in; a collection of
 * its own is one entry, and nothing is open unless a rule opens it:
 *
 *   notes: collection({
 *     fields: {
 *       title: string({ max: 200 }),
 *       author_id: relation('users', { inverse: 'notes', default: currentUser }),
 *     },
 *     access: { read: anyone, create: owner('author_id'), update: owner('author_id'), delete: owner('author_id') },
 *   }),
 */
import { model } from 'portico'

export default model({})
