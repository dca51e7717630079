/** Objects whose members are created when they are first read: the client does not know the model's names. */

/** The grammar of a model's names. */
const nameForm = /^[a-z][a-z0-9_]*$/

/** Names that JavaScript itself reads: `then` would make the object a promise. No model can use them. */
const reserved: ReadonlySet<string> = new Set(['then', 'constructor', 'prototype'])

/** Returns an object with the members of `members`. Any other name of a model calls `create` once. */
export function lazyMembers<T extends object>(members: T, create: (name: string) => unknown): T {
  const created = new Map<string, unknown>()
  const target = Object.freeze(Object.assign(Object.create(null), members))
  return new Proxy(target, {
    get(_, name) {
      if (typeof name !== 'string') return undefined
      if (name in target) return target[name]
      if (reserved.has(name) || !nameForm.test(name)) return undefined
      if (!created.has(name)) created.set(name, create(name))
      return created.get(name)
    },
  })
}
