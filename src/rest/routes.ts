/** The routes under `/api/v1`. Paths are matched as they were sent, undecoded, so that every route has one spelling. */
import type { Collection, ManyToMany, Model, ToMany } from '../model/model.ts'
import { type ActionRoute, type NestedRoute, routeBelow } from './actions/routes.ts'
import { canFollow, exists } from './operations.ts'

export const prefix = '/api/v1'

export type Route =
  | { readonly kind: 'collection'; readonly collection: Collection }
  | { readonly kind: 'item'; readonly collection: Collection; readonly id: number }
  | {
      readonly kind: 'within'
      readonly collection: Collection
      readonly id: number
      readonly relation: ToMany | ManyToMany
    }
  | NestedRoute
  | ActionRoute
  | { readonly kind: 'me' }
  | { readonly kind: 'openapi' }
  | { readonly kind: 'events' }
  | { readonly kind: 'batch' }

const start = prefix.length + 1
const ZERO = 48
const NINE = 57
/** Of 2^53−1. */
const maxDigits = 16

/** The id that `text` spells between `from` and `to`, without sign or leading zero; 0 when it spells none up to 2^53−1. */
export function parseId(text: string, from: number, to: number): number {
  if (to <= from || to - from > maxDigits || text.charCodeAt(from) === ZERO) return 0
  let id = 0
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at)
    if (digit < ZERO || digit > NINE) return 0
    id = id * 10 + (digit - ZERO)
  }
  return id <= Number.MAX_SAFE_INTEGER ? id : 0
}

function readsUsers({ collections }: Model): boolean {
  const users = collections.get('users')
  return users !== undefined && exists(users, 'read')
}

function rootRoute(model: Model, name: string): Route | undefined {
  if (name === 'me') return readsUsers(model) ? { kind: 'me' } : undefined
  if (name === 'openapi.json') return { kind: 'openapi' }
  if (name === 'events') return { kind: 'events' }
  if (name === 'batch') return { kind: 'batch' }
  const collection = model.collections.get(name)
  return collection && { kind: 'collection', collection }
}

/** The route of a path; undefined when no route has exactly this spelling. */
export function findRoute(model: Model, path: string): Route | undefined {
  if (!path.startsWith(`${prefix}/`)) return undefined
  const nameEnd = path.indexOf('/', start)
  if (nameEnd === -1) return rootRoute(model, path.slice(start))
  const collection = model.collections.get(path.slice(start, nameEnd))
  if (!collection) return undefined
  const idEnd = path.indexOf('/', nameEnd + 1)
  const id = parseId(path, nameEnd + 1, idEnd === -1 ? path.length : idEnd)
  if (id === 0) return undefined
  if (idEnd === -1) return { kind: 'item', collection, id }
  const below = path.slice(idEnd + 1)
  const relation = collection.relations.get(below)
  if (!relation) return routeBelow(model, collection, id, below)
  if (relation.kind === 'one') return undefined
  if (!exists(collection, 'read') || !canFollow(model, collection, relation)) return undefined
  return { kind: 'within', collection, id, relation }
}
