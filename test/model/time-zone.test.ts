/** The changes of time zones equal those of a second implementation, Temporal. `PORTICO_MATRIX=whole`: of every zone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeZoneOf, zoneChanges } from '../../src/model/time-zone.ts'
import { isWhole, seed } from '../cases.ts'
import { Temporal } from '../temporal.ts'

const end = Date.UTC(2100, 0)
const always = ['Europe/Berlin', 'Pacific/Apia', 'Africa/Casablanca', 'Australia/Lord_Howe', 'America/Recife']

test('the changes of a zone are those of Temporal', () => {
  const names = Intl.supportedValuesOf('timeZone')
  const sample = names.filter((_, index) => index % 40 === seed % 40)
  for (const name of isWhole ? names : [...always, ...sample]) {
    let time = Temporal.Instant.from('1900-01-01T00:00Z').toZonedDateTimeISO(name)
    const [times, offsets] = [[] as number[], [time.offsetNanoseconds / 1e6]]
    for (let next = time.getTimeZoneTransition('next'); next; next = time.getTimeZoneTransition('next')) {
      if (next.epochMilliseconds >= end) break
      // Changes of the name or of daylight saving alone are not changes of the offset.
      if (next.offsetNanoseconds !== time.offsetNanoseconds) {
        times.push(next.epochMilliseconds)
        offsets.push(next.offsetNanoseconds / 1e6)
      }
      time = next
    }
    assert.deepEqual(zoneChanges(timeZoneOf(name)), { times, offsets }, name)
  }
})

test('zones without changes have one offset; unknown ones are refused with a suggestion', () => {
  assert.deepEqual(zoneChanges('UTC'), { times: [], offsets: [0] })
  assert.deepEqual(zoneChanges(timeZoneOf('-03:30')), { times: [], offsets: [-12_600_000] })
  assert.equal(timeZoneOf('europe/berlin'), 'Europe/Berlin')
  assert.throws(() => timeZoneOf('Europe/Berlyn'), /is not a time zone\. Did you mean `Europe\/Berlin`\?/)
  assert.throws(() => timeZoneOf(''), RangeError)
})
