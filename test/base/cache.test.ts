/** The cache: lookups, eviction, and the weight limit that several caches share. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Cache, CacheBound, cacheCounts } from '../../src/base/cache.ts'

test('an entry is found under its stamp, and a later one replaces it', () => {
  const cache = new Cache<string, string>(new CacheBound('of a test', 100))
  cache.set('a', 'one', 1, 7)
  assert.equal(cache.get('a', 7), 'one')
  assert.equal(cache.get('a', 8), undefined)
  cache.set('a', 'two', 1, 8)
  assert.equal(cache.get('a', 8), 'two')
  assert.equal(cache.get('b'), undefined)
  cache.set('a', 'from before the change', 1, 7)
  assert.equal(cache.get('a', 8), 'two')
})

test('entries that are read again outlive others, and a large entry that is no longer read is evicted', () => {
  const cache = new Cache<string | number, string>(new CacheBound('of a test', 100))
  cache.set('often', 'kept')
  cache.set('large', 'kept', 40)
  for (let n = 0; n < 500; n++) {
    cache.set(n, 'x')
    if (n % 20 === 0) assert.equal(cache.get('often'), 'kept', `after ${n}`)
    if (n < 60) cache.get('large')
  }
  assert.equal(cache.get('large'), undefined)
  assert.equal(cache.get(0), undefined)
})

test('caches that share a limit stay within it, whatever is set, replaced and grown', () => {
  const step = fc.record({ cache: fc.nat({ max: 2 }), key: fc.nat({ max: 50 }), weight: fc.nat({ max: 30 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), fc.boolean(), (steps, grows) => {
      const bound = new CacheBound('of a test', 200)
      const caches = Array.from({ length: 3 }, () => new Cache<number, number>(bound))
      const weights = new Map<string, number>()
      for (const { cache, key, weight } of steps) {
        caches[cache]?.set(key, weight, weight)
        weights.set(`${cache} ${key}`, weight)
        if (!grows) continue
        caches[cache]?.grow(key, 5)
        weights.set(`${cache} ${key}`, weight + 5)
      }
      let heldWeight = 0
      for (const [name, weight] of weights) {
        const [index, key] = name.split(' ').map(Number)
        if (caches[index ?? 0]?.peek(key ?? 0) !== undefined) heldWeight += weight
      }
      assert.ok(heldWeight <= 200 + 35, `${heldWeight} held`)
    }),
  )
})

test('a limit of 0 keeps at most two entries', () => {
  const cache = new Cache<number, string>(new CacheBound('of a test', 0))
  for (let n = 0; n < 100; n++) cache.set(n, 'x')
  assert.ok(cache.size <= 2)
})

test('hits, misses, entries and weight are counted by name', () => {
  const caches = [1, 2].map(() => new Cache<string, number>(new CacheBound('counted', 100)))
  for (const cache of caches) {
    cache.set('a', 1, 10)
    cache.get('a')
    cache.get('b')
    cache.peek('b')
  }
  assert.deepEqual(cacheCounts().get('counted'), { hits: 2, misses: 2, entries: 2, weight: 20 })
})
