/** Objects whose members are created when they are first read: the client does not know the model's names. */

/** The grammar of a model's names. */
const nameForm = /^[a-z][a-z0-9_]*$/

/** Names that JavaScript itself reads: `then` would make the object a promise. No model can use them. */
const reserved: ReadonlySet<string> = new Set(['then', 'constructor', 'prototype'])

/** Returns the members of `own`; for any other name of a model, calls `make` once. */
export function named<T extends object>(own: T, make: (name: string) => unknown): T {
  const made = new Map<string, unknown>()
  const target = Object.freeze(Object.assign(Object.create(null), own))
  return new Proxy(target, {
    get(_, name) {
      if (typeof name !== 'string') return undefined
      if (name in target) return target[name]
      if (reserved.has(name) || !nameForm.test(name)) return undefined
      if (!made.has(name)) made.set(name, make(name))
      return made.get(name)
    },
  })
}
