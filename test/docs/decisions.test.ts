/** The index of the decisions. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const folder = new URL('../../decisions/', import.meta.url)
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')

test('every decision is in the index once, with its title', () => {
  const indexEntries = [...read('README.md').matchAll(/^- \[(.+)\]\((.+)\)$/gm)].map(([, title, name]) => [
    name,
    title,
  ])
  const written = readdirSync(folder)
    .filter(name => name !== 'README.md')
    .map(name => [name, /^# (.+)$/m.exec(read(name))?.[1]])
  assert.deepEqual(indexEntries.sort(), written.sort())
})
