/**
 * The product's collections and their access rules. Accounts (`users`), API keys and apps are built in. Each entry adds a
 * collection; everything that no rule allows is forbidden:
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
