import assert from 'node:assert/strict'
import { dirname, join } from 'node:path/posix'
import { describe, it } from 'node:test'
import { cyclesIn, importsOf, layerFaults, readSources } from '../../scripts/layers.ts'
import { floors, rooms, shared } from '../../src/layers.ts'

describe('the import scan', () => {
  const cases: readonly [string, string][] = [
    [`import { a } from './a.ts'`, './a.ts'],
    [`import type { A } from './a.ts'`, './a.ts'],
    [`import { type A, type B as C } from './a.ts'`, './a.ts'],
    [`import { type A, b } from './a.ts'`, './a.ts'],
    [`import a, { type B } from './a.ts'`, './a.ts'],
    [`import * as a from './a.ts'`, './a.ts'],
    [`import './a.ts'`, './a.ts'],
    [`export { a } from './a.ts'`, './a.ts'],
    [`export type { A } from './a.ts'`, './a.ts'],
    [`export * from './a.ts'`, './a.ts'],
    [`const a = await import('./a.ts')`, './a.ts'],
    [`import {\n  a,\n  b,\n} from "./a.ts"`, './a.ts'],
    [`import { DatabaseSync } from 'node:sqlite'`, 'node:sqlite'],
  ]
  for (const [text, specifier] of cases) {
    it(`reads ${JSON.stringify(text)}`, () => {
      assert.deepEqual(
        importsOf(text).map(match => match.specifier),
        [specifier],
      )
    })
  }

  it('finds each of several statements, with its line', () => {
    const imports = importsOf(
      `import { a } from './a.ts'\n\nimport type { B } from './b.ts'\nexport * from './c.ts'\n`,
    )
    assert.deepEqual(
      imports.map(({ specifier, line }) => [specifier, line]),
      [
        ['./a.ts', 1],
        ['./b.ts', 3],
        ['./c.ts', 4],
      ],
    )
  })

  it('ignores comments', () => {
    assert.deepEqual(importsOf(`// import { a } from './a.ts'\n/* import { b } from './b.ts' */\n`), [])
  })
})

describe('the layer check', () => {
  const faults = (file: string, text: string) => layerFaults([{ file, text }], { floors, rooms, shared })

  it('refuses a room that must not be imported, with the place and a remedy', () => {
    const [fault] = faults(
      'api/rest/list.ts',
      `\nimport { openSqlite } from '../../engine/store/sqlite.ts'\n`,
    )
    assert.match(
      fault ?? '',
      /^src\/api\/rest\/list\.ts:2 api\/rest may not import engine\/store; it may import base, .*engine\/plan/,
    )
  })

  it('includes type imports', () => {
    const store = `import type { Store } from '../../engine/store/store.ts'`
    assert.equal(faults('api/rest/a.ts', store).length, 1)
    assert.equal(faults('model/a.ts', `import type { Plan } from '../engine/plan/plan.ts'`).length, 1)
  })

  it('accepts imports of the room itself, of permitted rooms and of shared ones', () => {
    const text = `import '../../engine/plan/plan.ts'\nimport '../../model/model.ts'\nimport './b.ts'\nimport '../../base/errors.ts'`
    assert.deepEqual(faults('api/rest/a.ts', text), [])
    const below = `import '../../engine/store/sqlite.ts'\nimport '../../api/rest/rest.ts'\nimport '../http/http.ts'`
    assert.deepEqual(faults('server/serve/serve.ts', below), [])
  })

  it('refuses a higher floor, even to a room that may import everything', () => {
    const [fault] = faults('server/serve/a.ts', `import '../../tools/cli/cli.ts'`)
    assert.match(fault ?? '', /may import its own floor and those below/)
    const upward = { ...rooms, 'engine/plan': { imports: ['api/rest'] } }
    assert.match(layerFaults([], { floors, rooms: upward, shared })[0] ?? '', /is on a higher floor/)
  })

  it('restricts packages to their rooms', () => {
    assert.match(
      faults('api/rest/a.ts', `import pino from 'pino'`)[0] ?? '',
      /only server\/observability may import pino/,
    )
    const sqlite = `import { DatabaseSync } from 'node:sqlite'`
    assert.match(faults('engine/plan/a.ts', sqlite)[0] ?? '', /only engine\/store/)
    assert.match(faults('api/rest/a.ts', `import _ from 'lodash/fp'`)[0] ?? '', /lodash belongs to no room/)
    assert.match(faults('api/rest/a.ts', `import fs from 'fs'`)[0] ?? '', /write node:fs/)
    assert.deepEqual(faults('api/rest/a.ts', `import fs from 'node:fs'`), [])
  })

  it('refuses undeclared rooms', () => {
    assert.match(
      faults('engine/utils/a.ts', '')[0] ?? '',
      /^src\/engine\/utils\/a\.ts:1 engine\/utils is no known room/,
    )
    assert.match(faults('utils.ts', '')[0] ?? '', /^src\/utils\.ts:1 utils is no known room/)
  })

  const cycle = [
    { file: 'engine/plan/a.ts', text: `import { b } from './b.ts'` },
    { file: 'engine/plan/b.ts', text: `import type { C } from './c.ts'` },
    { file: 'engine/plan/c.ts', text: `import { a } from './a.ts'\nimport './d.ts'` },
    { file: 'engine/plan/d.ts', text: '' },
  ]
  const files = ['engine/plan/a.ts', 'engine/plan/b.ts', 'engine/plan/c.ts']

  it('finds cycles, including type imports', () => {
    assert.deepEqual(cyclesIn(cycle), [files])
    assert.deepEqual(cyclesIn([{ file: 'engine/plan/a.ts', text: `import './a.ts'` }]), [
      ['engine/plan/a.ts'],
    ])
    assert.deepEqual(cyclesIn(cycle.slice(1)), [])
  })

  it('refuses cycles', () => {
    const [fault] = layerFaults(cycle)
    assert.match(
      fault ?? '',
      /^src\/engine\/plan\/a\.ts:1 and engine\/plan\/b\.ts, engine\/plan\/c\.ts import each other/,
    )
    assert.deepEqual(layerFaults(cycle.slice(1)), [])
  })

  it('accepts the sources', () => {
    const sources = readSources(new URL('../../src', import.meta.url).pathname)
    assert.ok(sources.length > 20)
    assert.deepEqual(layerFaults(sources), [])
  })

  it('names existing rooms only', () => {
    for (const [name, { imports }] of Object.entries(rooms)) {
      for (const other of imports === 'all' ? [] : imports)
        assert.ok(rooms[other], `${name} imports ${other}`)
    }
  })
})

/** The files that are loaded with the file; not those that it imports later, or only for their types. */
function loadedWith(
  file: string,
  texts: ReadonlyMap<string, string>,
  loaded = new Set<string>(),
): Set<string> {
  loaded.add(file)
  for (const [, from, bare] of (texts.get(file) ?? '').matchAll(
    /^(?:import|export)\b(?! type\b)[^'`;]*?\bfrom '([^']+)'|^import '([^']+)'/gm,
  )) {
    const specifier = from ?? bare ?? ''
    const path = specifier.startsWith('.') ? join(dirname(file), specifier) : specifier
    if (!loaded.has(path)) loadedWith(path, texts, loaded)
  }
  return loaded
}

describe('a command', () => {
  const texts = new Map(
    readSources(new URL('../../src', import.meta.url).pathname).map(({ file, text }) => [file, text]),
  )
  const commands = [...texts.keys()].filter(file => file.startsWith('tools/cli/commands/'))

  it('loads the store, but not oidc-provider, which takes longer than most commands do', () => {
    assert.ok(loadedWith('tools/cli/commands/users.ts', texts).has('engine/store/sqlite/sqlite.ts'))
    assert.ok(loadedWith('identity/server/provider/load.ts', texts).has('oidc-provider'))
    assert.deepEqual(
      commands.filter(file => loadedWith(file, texts).has('oidc-provider')),
      [],
    )
  })
})
