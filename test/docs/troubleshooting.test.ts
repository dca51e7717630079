/** Every message quoted on the troubleshooting page is printed by the code. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { read, root } from './pages.ts'

/** The length of the `${…}` at the beginning of a text. */
function interpolationEnd(text: string): number {
  let depth = 0
  for (let index = 1; index < text.length; index++) {
    if (text[index] === '{') depth++
    if (text[index] === '}' && --depth === 0) return index + 1
  }
  return text.length
}

/** The texts that a source prints: multi-line ones joined, with `…` in place of every `${…}`. */
function printedTexts(source: string): string {
  let text = source
    .replace(/['`] \+\s*['`]/g, '')
    .replaceAll('\\n', '\n')
    .replaceAll('\\`', '`')
  for (let index = text.indexOf('${'); index >= 0; index = text.indexOf('${', index))
    text = `${text.slice(0, index)}…${text.slice(index + interpolationEnd(text.slice(index)))}`
  return text.replace(/…+/g, '…')
}

/** The sources of the commands, of `create`, and of the installation. */
const sources = ['src', 'create/src', 'scripts'].flatMap(folder =>
  readdirSync(join(root, folder), { recursive: true })
    .map(String)
    .filter(name => /\.(ts|mjs)$/.test(name))
    .map(name => printedTexts(readFileSync(join(root, folder, name), 'utf8'))),
)

/** The headings that quote messages; others are questions. */
const quoted = [...read('docs/troubleshooting.md').matchAll(/^### `(.*)`$/gm)].map(([, message = '']) =>
  message.replaceAll('\\`', '`'),
)
/** Messages that another module completes, e.g. with “Did you mean”. */
const isPrinted = (message: string) => sources.some(source => source.includes(message))

test('the messages are extracted from sources', () => {
  const source = ["fail('a ' +", '  `b $', '{name({ c: 1 })} d`)'].join('')
  assert.equal(printedTexts(source), "fail('a b … d`)")
})

test('the quoted messages are printed by the code', () => {
  assert.ok(quoted.length > 25)
  assert.deepEqual(
    quoted.filter(message => !isPrinted(message)),
    [],
  )
})
