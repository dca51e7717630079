/** The client of the service, typed by its model. Only the model's type is imported, so the app contains no code of the model. */
import type { Item } from 'portico'
import { createClient, createSignIn } from 'portico/client'
import type blog from '../../blog/model.ts'

export type User = Item<typeof blog, 'users'>
export type Post = Item<typeof blog, 'posts'> & { readonly author: User | null }

const baseUrl = import.meta.env.VITE_SERVICE_URL ?? 'http://localhost:3000'

export const session = createSignIn({
  baseUrl,
  clientId: import.meta.env.VITE_CLIENT_ID ?? '',
  scopes: ['openid', 'offline_access', 'read:user', 'read:post', 'write:post'],
})

export const api = createClient<typeof blog>({ baseUrl, token: session.token })
