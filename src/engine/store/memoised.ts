/** Memoises `make` by key, such as a shape. A value is kept as long as its key. */
export function memoised<K extends object, V extends object>(make: (key: K) => V): (key: K) => V {
  const values = new WeakMap<K, V>()
  return key => {
    const cached = values.get(key)
    if (cached !== undefined) return cached
    const value = make(key)
    values.set(key, value)
    return value
  }
}
