import assert from 'node:assert/strict'
import { dirname, join } from 'node:path/posix'
import { describe, it } from 'node:test'
import { cyclesIn, importsOf, layerFaults, readSources } from '../../scripts/layers.ts'
import { modules, shared } from '../../src/layers.ts'

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
  const faults = (file: string, text: string) => layerFaults([{ file, text }], { modules, shared })

  it('refuses a module that must not be imported, with the place and a remedy', () => {
    const [fault] = faults('rest/list.ts', `\nimport { openSqlite } from '../store/sqlite.ts'\n`)
    assert.match(fault ?? '', /^src\/rest\/list\.ts:2 rest may not import store; it may import .*plan, model/)
  })

  it('includes type imports', () => {
    assert.equal(faults('rest/a.ts', `import type { Store } from '../store/store.ts'`).length, 1)
    assert.equal(faults('model/a.ts', `import type { Plan } from '../plan/plan.ts'`).length, 1)
  })

  it('accepts imports of the module itself, of permitted modules and of shared ones', () => {
    const text = `import '../plan/plan.ts'\nimport '../model/model.ts'\nimport './b.ts'\nimport '../errors.ts'`
    assert.deepEqual(faults('rest/a.ts', text), [])
    assert.deepEqual(faults('serve.ts', `import './store/sqlite.ts'\nimport './rest/rest.ts'`), [])
  })

  it('treats a folder and the file of the same name as one module', () => {
    assert.deepEqual(faults('http/send.ts', `import type { X } from '../http.ts'`), [])
  })

  it('restricts packages to their modules', () => {
    assert.match(
      faults('rest/a.ts', `import pino from 'pino'`)[0] ?? '',
      /only observability may import pino/,
    )
    assert.match(faults('plan/a.ts', `import { DatabaseSync } from 'node:sqlite'`)[0] ?? '', /only store/)
    assert.match(faults('rest/a.ts', `import _ from 'lodash/fp'`)[0] ?? '', /lodash belongs to no module/)
    assert.match(faults('rest/a.ts', `import fs from 'fs'`)[0] ?? '', /write node:fs/)
    assert.deepEqual(faults('rest/a.ts', `import fs from 'node:fs'`), [])
  })

  it('refuses undeclared modules', () => {
    assert.match(faults('utils/a.ts', '')[0] ?? '', /^src\/utils\/a\.ts:1 utils is no known module/)
  })

  const cycle = [
    { file: 'plan/a.ts', text: `import { b } from './b.ts'` },
    { file: 'plan/b.ts', text: `import type { C } from './c.ts'` },
    { file: 'plan/c.ts', text: `import { a } from './a.ts'\nimport './d.ts'` },
    { file: 'plan/d.ts', text: '' },
  ]
  const files = ['plan/a.ts', 'plan/b.ts', 'plan/c.ts']

  it('finds cycles, including type imports', () => {
    assert.deepEqual(cyclesIn(cycle), [files])
    assert.deepEqual(cyclesIn([{ file: 'plan/a.ts', text: `import './a.ts'` }]), [['plan/a.ts']])
    assert.deepEqual(cyclesIn(cycle.slice(1)), [])
  })

  it('refuses cycles', () => {
    const [fault] = layerFaults(cycle)
    assert.match(fault ?? '', /^src\/plan\/a\.ts:1 and plan\/b\.ts, plan\/c\.ts import each other/)
    assert.deepEqual(layerFaults(cycle.slice(1)), [])
  })

  it('accepts the sources', () => {
    const sources = readSources(new URL('../../src', import.meta.url).pathname)
    assert.ok(sources.length > 20)
    assert.deepEqual(layerFaults(sources), [])
  })

  it('names existing modules only', () => {
    for (const [name, module] of Object.entries(modules)) {
      if (module.imports === 'all') continue
      for (const other of module.imports) assert.ok(modules[other], `${name} imports ${other}`)
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
  const commands = [...texts.keys()].filter(file => file.startsWith('cli/commands/'))

  it('loads the store, but not oidc-provider, which takes longer than most commands do', () => {
    assert.ok(loadedWith('cli/commands/users.ts', texts).has('store/sqlite.ts'))
    assert.ok(loadedWith('auth/server/provider/load.ts', texts).has('oidc-provider'))
    assert.deepEqual(
      commands.filter(file => loadedWith(file, texts).has('oidc-provider')),
      [],
    )
  })
})
