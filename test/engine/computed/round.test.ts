/** `round` gives the same whole numbers on every database. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymous } from '../../../src/base/principal.ts'
import {
  anyone,
  collection,
  dividedBy,
  field,
  integer,
  model as modelOf,
  number,
  relation,
  round,
  sum,
  times,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { databaseKinds, openStore, rowSecurityPostgres } from '../../api/contract/rest/databases.ts'
import { openHarness } from '../../api/contract/rest/harness.ts'
import { chosen } from '../../chosen.ts'

const model = checkModel(
  modelOf({
    amounts: collection({
      fields: { value: number({ optional: true }), cents: integer({ default: 1 }) },
      computed: { whole: round(field('value')), same: round(field('cents')) },
      access: { read: anyone },
    }),
    invoices: collection({
      fields: { vat_percent: integer() },
      computed: { vat: round(dividedBy(times(sum('lines', 'cents'), field('vat_percent')), 100)) },
      access: { read: anyone },
    }),
    lines: collection({
      fields: { cents: integer(), invoice_id: relation('invoices', { inverse: 'lines' }) },
      access: { read: anyone },
    }),
  }),
)

/** Values, and the nearest whole numbers. */
const rounded = [
  [0.5, 1],
  [-0.5, -1],
  [2.5, 3],
  [-2.5, -3],
  [1.4999999999999998, 1],
  // The sum with 0.5 would be 1.
  [0.49999999999999994, 0],
  [-0.2, 0],
  [299.25, 299],
  [4503599627370495.5, 4503599627370496],
  [9007199254740991, 9007199254740991],
  [-9007199254740992, null],
  [1e300, null],
  [1e-300, 0],
  [null, null],
] as const

for (const kind of chosen([...databaseKinds, rowSecurityPostgres])) {
  test(`halves are rounded away from zero (${kind.name})`, async () => {
    const harness = await openHarness(model, checked => openStore(kind, checked))
    const read = async (url: string) => {
      const { status, body } = await harness.send({ url: `/api/v1/${url}` }, anonymous('192.0.2.1'))
      assert.equal(status, 200, String(body))
      return JSON.parse(String(body)).data
    }
    try {
      for (const [value] of rounded) await harness.seed('amounts', { value })
      const amounts: readonly { readonly whole: number | null }[] = await read(
        'amounts?fields=whole,same&sort=id',
      )
      assert.deepEqual(
        amounts,
        rounded.map(([, whole]) => ({ whole, same: 1 })),
      )
      assert.ok(amounts.every(({ whole }) => !Object.is(whole, -0)))
      assert.deepEqual(await read('amounts?whole[lt]=0&sort=whole&fields=whole'), [
        { whole: -3 },
        { whole: -1 },
      ])
      const invoice_id = await harness.seed('invoices', { vat_percent: 19 })
      for (const cents of [100, 50]) await harness.seed('lines', { cents, invoice_id })
      assert.deepEqual(await read('invoices?fields=vat'), [{ vat: 29 }])
    } finally {
      await harness.close()
    }
  })
}
