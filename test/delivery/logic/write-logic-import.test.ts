/** `portico import` applies `prepare`, both sorts of `check`, and limits, as other writes do. */
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { kinds, type Project, withProject } from '../../tools/cli/transfer/fixture.ts'

const source = resolve(import.meta.dirname, '../../../src/index.ts')
const modelText = `import { anyone, atMost, check, collection, integer, model, noOverlap, signedIn, string } from '${source}'
export default model({
  things: collection({
    fields: { name: string(), slug: string({ readOnly: true }), kind: string(), from: integer({ optional: true }), to: integer({ optional: true }) },
    prepare({ next }) {
      if (next.name === 'fails') throw new Error('it cannot be')
      return { slug: next.name.toLowerCase() }
    },
    check: ({ next }) => (next.slug === 'wrong' ? [{ field: 'name', message: 'A wrong name.' }] : []),
    limits: [atMost(2, { per: 'kind', message: 'Two of a kind are enough.' }), noOverlap('from', 'to', { per: 'slug' })],
    access: { read: anyone, create: signedIn },
  }),
}, {
  checks: {
    things: check(async ({ next, data }) =>
      next.kind === 'rare' && (await data.things.count({ kind: 'rare' })) > 1 ? [{ field: 'kind', message: 'It is rare.' }] : []),
  },
})
`

async function importRows(project: Project, ...rows: readonly object[]) {
  project.write('things.ndjson', rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  return project.portico('import', 'things', 'things.ndjson')
}

for (const kind of kinds) {
  test(`an import applies prepare, check and limits of its collection (${kind})`, () =>
    withProject(kind, async project => {
      project.write('model.ts', modelText)
      const fine = await importRows(project, { name: 'ONE', kind: 'a' }, { name: 'Two', kind: 'a' })
      assert.equal(fine.code, 0, fine.err)
      const slugs = await project.rows('SELECT "slug" FROM "things" ORDER BY "id"')
      assert.deepEqual(
        slugs.map(({ slug }) => slug),
        ['one', 'two'],
      )
      const wrong = await importRows(project, { name: 'three', kind: 'b' }, { name: 'WRONG', kind: 'b' })
      assert.match(wrong.out + wrong.err, /A wrong name\./)
      const full = await importRows(project, { name: 'four', kind: 'a' })
      assert.match(full.out + full.err, /Two of a kind are enough\./)
      const rare = await importRows(project, { name: 'r', kind: 'rare' })
      assert.equal(rare.code, 0, rare.err)
      const second = await importRows(project, { name: 's', kind: 'rare' })
      assert.match(second.out + second.err, /It is rare\./)
      const times = (from: number, to: number) => ({ name: 't', kind: `${from}`, from, to })
      const apart = await importRows(project, times(1, 2), times(2, 3))
      assert.equal(apart.code, 0, apart.err)
      const overlapping = await importRows(project, times(4, 9), times(5, 6))
      assert.match(overlapping.out + overlapping.err, /from: It overlaps with item \d+\./)
      const failed = await importRows(project, { name: 'fails', kind: 'c' })
      assert.equal(failed.code, 1)
      assert.match(failed.err, /things\.prepare has failed\.\s+it cannot be/)
    }))
}
