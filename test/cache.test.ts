/** The one bounded memory: what is found in it, what is forgotten, and how much it holds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Cache, CacheBound, cacheCounts } from '../src/cache.ts'

test('what was set is found under its stamp, and replaced by what is set later', () => {
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

test('what is asked for again outlives what is not; what takes most of the room does not drive it out for ever', () => {
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

test('caches of one bound hold no more than it together, whatever is set, replaced and grown', () => {
  const step = fc.record({ of: fc.nat({ max: 2 }), key: fc.nat({ max: 50 }), weight: fc.nat({ max: 30 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), fc.boolean(), (steps, grows) => {
      const bound = new CacheBound('of a test', 200)
      const caches = Array.from({ length: 3 }, () => new Cache<number, number>(bound))
      const weights = new Map<string, number>()
      for (const { of, key, weight } of steps) {
        caches[of]?.set(key, weight, weight)
        weights.set(`${of} ${key}`, weight)
        if (!grows) continue
        caches[of]?.grow(key, 5)
        weights.set(`${of} ${key}`, weight + 5)
      }
      let held = 0
      for (const [name, weight] of weights) {
        const [of, key] = name.split(' ').map(Number)
        if (caches[of ?? 0]?.peek(key ?? 0) !== undefined) held += weight
      }
      assert.ok(held <= 200 + 35, `${held} held`)
    }),
  )
})

test('a bound of 0 keeps next to nothing', () => {
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
