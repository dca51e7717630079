import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { directionOf, growthOf, rises, type Sample, verdict } from '../../bench/soak/soak.ts'
import { requireLanes } from '../../bench/soak/soak-load.ts'

const mebibyte = 1024 * 1024
const series = (make: (index: number) => number) => Array.from({ length: 60 }, (_, index) => make(index))
/** Deterministic noise without a trend. */
const noise = (index: number) => ((index * 7919) % 13) - 6

const samples = (heap: (index: number) => number, descriptors: (index: number) => number): Sample[] =>
  series(index => index).map(index => ({
    heap: heap(index),
    external: 5 * mebibyte,
    resident: 200 * mebibyte,
    descriptors: descriptors(index),
  }))

describe('the verdict of a soak', () => {
  it('accepts noise, sawtooth curves, a filling cache and a decline', () => {
    const flat = () => 100
    const heaps = [
      (index: number) => 50 * mebibyte + noise(index) * mebibyte,
      (index: number) => 50 * mebibyte + (index % 10) * mebibyte,
      (index: number) => 50 * mebibyte + Math.min(index, 15) * mebibyte,
      (index: number) => 80 * mebibyte - (index * mebibyte) / 4,
      (index: number) => 50 * mebibyte + (index === 59 ? 200 * mebibyte : 0),
    ]
    for (const heap of heaps) assert.deepEqual(verdict(samples(heap, flat)), [])
  })

  it('detects slow growth of memory in much noise', () => {
    const heap = (index: number) => 50 * mebibyte + noise(index) * 0.4 * mebibyte + (index * mebibyte) / 8
    assert.deepEqual(verdict(samples(heap, () => 100)), ['memory after collection grows'])
  })

  it('detects a leak of descriptors', () => {
    const descriptors = (index: number) => 100 + noise(index) + Math.floor(index / 2)
    assert.deepEqual(verdict(samples(() => 50 * mebibyte, descriptors)), ['open descriptors grow'])
  })

  it('is based on slopes and trends', () => {
    assert.equal(growthOf([1, 2, 3, 4]), 3)
    assert.equal(growthOf([4, 4, 100, 4, 4]), 0)
    assert.equal(directionOf([1, 2, 3]), 1)
    assert.equal(directionOf([3, 2, 1]), -1)
    assert.equal(rises([], { absolute: 0, relative: 0 }), false)
  })
})

describe('the lanes of a soak', () => {
  it('must be known before the soak begins', () => {
    requireLanes([])
    requireLanes(['reads', 'grants'])
    assert.throws(() => requireLanes(['reads', 'reeds']), /no lane reeds\. The lanes are reads, writes/)
  })
})
