/** `portico delete`: the operator's way to a deletion that the service refuses as too large. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { portico as command } from '../../system/processes/command.ts'

const source = resolve(import.meta.dirname, '../../../src')
const model = `import { collection, model, relation, string } from '${source}/index.ts'
export default model({
  boxes: collection({ fields: { name: string() } }),
  things: collection({ fields: { box_id: relation('boxes', { onDelete: 'cascade' }) } }),
  seals: collection({ fields: { box_id: relation('boxes') } }),
})
`

const allowed = 1000
const dependents = allowed + 50

test('an item with more dependent items than one deletion may delete is deleted in slices', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-delete-'))
  const environment = {
    PORTICO_MODEL: 'model.ts',
    DATABASE_URL: 'data.db',
    PORTICO_QUOTAS: `cascade=${allowed}`,
  }
  const portico = (...words: string[]) => command(words, { folder, environment })
  try {
    writeFileSync(join(folder, 'model.ts'), model)
    assert.equal((await portico('migrate', '--apply')).code, 0)
    const database = new DatabaseSync(join(folder, 'data.db'))
    database.exec(`INSERT INTO boxes (id, name) VALUES (1, 'a'), (2, 'b');
      INSERT INTO things (box_id) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${dependents}) SELECT 1 FROM n;
      INSERT INTO things (box_id) VALUES (2); INSERT INTO seals (box_id) VALUES (2)`)
    const counts = () =>
      ['boxes', 'things', '_events'].map(
        name => database.prepare(`SELECT count(*) AS n FROM ${name}`).get()?.n,
      )
    const done = await portico('delete', 'boxes', '1')
    assert.equal(done.err, '')
    assert.equal(
      done.out,
      // What one deletion may delete then goes with the item.
      `Deleted item 1 of boxes, after ${(allowed + 1).toLocaleString('en')} other items in slices\n`,
    )
    assert.deepEqual(counts(), [1, 1, dependents + 1])
    const refused = await portico('delete', 'boxes', '2')
    assert.match(
      refused.err,
      /Item 2 of boxes was not deleted\. Items of seals still refer to item 2 of boxes/,
    )
    assert.match((await portico('delete', 'boxes', '1')).err, /There is no item 1 in boxes/)
    assert.match((await portico('delete', 'crates', '1')).err, /no collection `crates`.*boxes, things, seals/)
    assert.deepEqual(counts(), [1, 1, dependents + 1])
    database.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
