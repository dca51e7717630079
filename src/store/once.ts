/** Makes something of each key, such as a shape, the first time it is asked for; it lives as long as its key. */
export function once<K extends object, V extends object>(make: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, V>()
  return key => {
    const found = known.get(key)
    if (found !== undefined) return found
    const made = make(key)
    known.set(key, made)
    return made
  }
}
