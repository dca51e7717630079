/** Random requests for as much as the limits allow: many items, relations and aliases of long fields. */
import fc from 'fast-check'
import { camelCase, typeName } from '../../../src/api/graphql/schema/names.ts'
import { maxBytesOf } from '../../../src/model/fields/max-bytes.ts'
import type { Collection, Model } from '../../../src/model/model.ts'

export interface WideRequest {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

/** The collections of the requests, each with the body that creates an item; undefined if clients create none. */
export type NewItems = Readonly<Record<string, object | undefined>>

type Pick = <T>(choices: readonly T[]) => T

/** The seed decides which. */
export function wideRequests(model: Model, newItems: NewItems, seed: number, count: number): WideRequest[] {
  const arbitrary = fc.gen().map(gen => {
    const pick: Pick = choices => {
      const choice = choices[gen(fc.nat, { max: choices.length - 1 })]
      if (choice === undefined) throw new RangeError('there is nothing to choose from')
      return choice
    }
    return new Wide(model, newItems, pick).request()
  })
  return fc.sample(arbitrary, { seed, numRuns: count })
}

class Wide {
  readonly #model: Model
  readonly #newItems: NewItems
  readonly #pick: Pick
  /** Of the document; 30 are allowed. */
  #aliases = 29

  constructor(model: Model, newItems: NewItems, pick: Pick) {
    this.#model = model
    this.#newItems = newItems
    this.#pick = pick
  }

  request(): WideRequest {
    const name = this.#pick([...Object.keys(this.#newItems), 'users'])
    const collection = this.#collection(name)
    return this.#pick([
      () => this.#read(collection),
      () => this.#read(collection),
      () => this.#query(collection),
      () => this.#query(collection),
      () => this.#write(collection),
      () => this.#mutation(collection),
      () => this.#batch(collection),
      () => this.#aggregate(collection),
      () => this.#events(collection),
    ])()
  }

  #read(collection: Collection): WideRequest {
    const { name } = collection
    const query = `include=${this.#include(collection)}`
    const perPage = this.#pick([1, 10, 16, 30, 100])
    const fields = this.#pick(['', '&fields=id'])
    const path = this.#pick([`/${name}/1?${query}`, `/${name}?per_page=${perPage}${fields}&${query}`])
    return { method: 'GET', path: `/api/v1${path}` }
  }

  #write(collection: Collection): WideRequest {
    const { name } = collection
    const query = `?fields=${this.#pick(['id', 'id', longest(collection)])}&include=${this.#include(collection)}`
    const newItem = this.#newItems[name]
    if (newItem === undefined || this.#pick([true, false])) {
      return { method: 'PATCH', path: `/api/v1/${name}/1${query}`, body: {} }
    }
    const body = Array.from({ length: this.#pick([1, 50, 1000]) }, () => newItem)
    return { method: 'POST', path: `/api/v1/${name}${query}`, body }
  }

  #batch(collection: Collection): WideRequest {
    const isWriting = this.#pick([true, false])
    const operations = Array.from({ length: this.#pick([2, 20, 100]) }, () => {
      const { method, path } = this.#read(collection)
      return isWriting && this.#pick([true, false])
        ? this.#operationOf(collection)
        : { method, path: path.slice('/api/v1'.length) }
    })
    return { method: 'POST', path: '/api/v1/batch', body: { operations } }
  }

  /** A write of one item, in a batch. */
  #operationOf(collection: Collection): WideRequest {
    const { name } = collection
    const newItem = this.#newItems[name]
    const query = `?include=${this.#include(collection)}`
    return newItem === undefined || this.#pick([true, false])
      ? { method: 'PATCH', path: `/${name}/1${query}`, body: {} }
      : { method: 'POST', path: `/${name}${query}`, body: newItem }
  }

  #aggregate(collection: Collection): WideRequest {
    const query = `group_by=${longest(collection)}&count`
    return { method: 'GET', path: `/api/v1/${collection.name}/aggregate?${query}` }
  }

  #events(collection: Collection): WideRequest {
    const limit = this.#pick([1, 100, 1000])
    return { method: 'GET', path: `/api/v1/events?after=0&collections=${collection.name}&limit=${limit}` }
  }

  #query(collection: Collection): WideRequest {
    const field = camelCase(collection.name)
    const limit = this.#pick([1, 10, 30, 100])
    const selection = this.#selection(collection, 2)
    return this.#graphql(
      this.#pick([
        `{ ${field}(limit: ${limit}) { ${selection} } }`,
        `{ ${field}Connection(first: ${limit}) { nodes { ${selection} } edges { node { ${longest(collection)} } } } }`,
        `{ ${camelCase(collection.singular)}(id: 1) { ${selection} } }`,
      ]),
    )
  }

  #mutation(collection: Collection): WideRequest {
    const count = this.#pick([1, 1, 3, 8])
    const writes = Array.from(
      { length: count },
      (_, index) => `w${index}: update${typeName(collection)}(id: 1) { ${this.#selection(collection, 2)} }`,
    )
    return this.#graphql(`mutation ${this.#pick(['', '@atomic'])} { ${writes.join(' ')} }`)
  }

  #graphql(query: string): WideRequest {
    return { method: 'POST', path: '/graphql', body: { query } }
  }

  #selection(collection: Collection, depth: number): string {
    const count = Math.min(this.#aliases, this.#pick([1, 3, 12, 29]))
    this.#aliases -= count
    const field = camelCase(longest(collection))
    const aliases = Array.from({ length: count }, (_, index) => `a${index}: ${field}`)
    const relations =
      depth === 0 ? [] : [...collection.relations.values()].filter(() => this.#pick([true, false]))
    const nested = relations.map(({ name, kind, target }) => {
      const list = kind === 'many' ? `(limit: ${this.#pick([1, 10, 40])})` : ''
      return `${camelCase(name)}${list} { ${this.#selection(this.#collection(target), depth - 1)} }`
    })
    return ['id', ...aliases, ...nested].join(' ')
  }

  /** Up to ten paths of three relations, one of them to-many. */
  #include(collection: Collection): string {
    const paths = new Set<string>()
    for (let count = this.#pick([1, 3, 10]); count > 0; count--) paths.add(this.#path(collection))
    return [...paths].join(',')
  }

  #path(collection: Collection): string {
    const names: string[] = []
    let current = collection
    let hasMany = false
    for (let level = this.#pick([1, 2, 3]); level > 0; level--) {
      const open = [...current.relations.values()].filter(({ kind }) => kind === 'one' || !hasMany)
      if (open.length === 0) break
      const { name, kind, target } = this.#pick(open)
      names.push(name)
      hasMany ||= kind === 'many'
      current = this.#collection(target)
    }
    return names.join('.')
  }

  #collection(name: string): Collection {
    const collection = this.#model.collections.get(name)
    if (collection === undefined) throw new TypeError(`there is no collection ${name}`)
    return collection
  }
}

/** The field whose values can be longest. */
export function longest({ fields }: Collection): string {
  const readable = [...fields.values()].filter(({ name }) => name !== 'password_hash')
  const sorted = readable.sort((one, other) => maxBytesOf(other.type) - maxBytesOf(one.type))
  return sorted[0]?.name ?? 'id'
}
