/** The posts: read once, then kept current by events. The user's own changes are shown before the service has responded. */
import { ApiError } from 'portico/client'
import { startTransition, useEffect, useOptimistic, useReducer, useState } from 'react'
import { api, type Post, type User } from './api.ts'

type Change =
  | { readonly kind: 'loaded'; readonly posts: readonly Post[] }
  | { readonly kind: 'saved'; readonly post: Post }
  | { readonly kind: 'changed'; readonly id: number; readonly values: Partial<Post> }
  | { readonly kind: 'removed'; readonly id: number }

function reducePosts(posts: readonly Post[], change: Change): readonly Post[] {
  switch (change.kind) {
    case 'loaded':
      return change.posts
    case 'saved':
      return [change.post, ...posts.filter(post => post.id !== change.post.id)].sort((a, b) => b.id - a.id)
    case 'changed':
      return posts.map(post => (post.id === change.id ? { ...post, ...change.values } : post))
    case 'removed':
      return posts.filter(post => post.id !== change.id)
  }
}

/** Reads the list, then applies all events since the moment before it was read. Ends with the signal. */
async function follow(
  apply: (change: Change) => void,
  onConnection: (isConnected: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  const { meta } = await api.events.list({ collections: ['posts'], signal })
  const { data } = await api.posts.list({ include: ['author'], sort: ['-id'], perPage: 50, signal })
  apply({ kind: 'loaded', posts: data })
  for await (const event of api.posts.subscribe({ after: meta.next_after, signal, onConnection })) {
    if (event.type === 'post.deleted') {
      apply({ kind: 'removed', id: event.item_id })
    } else if (event.type === 'post.updated') {
      apply({ kind: 'changed', id: event.item_id, values: event.data })
    } else {
      const post = await api.posts.get(event.item_id, { include: ['author'], signal })
      if (post !== null) apply({ kind: 'saved', post })
    }
  }
}

/** The message of the service, of the first invalid field if there is one. */
function messageOf(error: unknown): string {
  if (!(error instanceof ApiError)) return 'The service cannot be reached.'
  return error.details?.[0]?.message ?? error.message
}

export function usePosts(me: User) {
  const [posts, apply] = useReducer(reducePosts, [])
  const [optimisticPosts, addOptimistic] = useOptimistic(posts, reducePosts)
  const [isConnected, setConnected] = useState(false)
  const [fault, setFault] = useState<string>()

  useEffect(() => {
    const unmounted = new AbortController()
    const start = (): Promise<void> =>
      follow(apply, setConnected, unmounted.signal).catch(error => {
        if (unmounted.signal.aborted) return undefined
        // After a very long absence the log may no longer contain the missed events.
        if (error instanceof ApiError && error.code === 'RESYNC_REQUIRED') return start()
        return setFault(messageOf(error))
      })
    void start()
    return () => unmounted.abort()
  }, [])

  /** Shows the expected change until `send` has ended, then the stored one. A refused change is reverted, and its message shown. */
  const attempt = (expected: Change, send: () => Promise<Change>) =>
    startTransition(async () => {
      addOptimistic(expected)
      try {
        const change = await send()
        startTransition(() => {
          apply(change)
          setFault(undefined)
        })
      } catch (error) {
        startTransition(() => setFault(messageOf(error)))
      }
    })

  return {
    posts: optimisticPosts,
    isConnected,
    fault,
    add(title: string) {
      const post = { title, body: null, author_id: me.id, author: me, created_at: '' }
      attempt({ kind: 'saved', post: { id: Number.MAX_SAFE_INTEGER, ...post } }, async () => ({
        kind: 'saved',
        post: await api.posts.create({ title }, { include: ['author'] }),
      }))
    },
    rename(id: number, title: string) {
      attempt({ kind: 'changed', id, values: { title } }, async () => ({
        kind: 'changed',
        id,
        values: await api.posts.update(id, { title }),
      }))
    },
    remove(id: number) {
      attempt({ kind: 'removed', id }, async () => {
        await api.posts.delete(id)
        return { kind: 'removed', id }
      })
    },
  }
}
